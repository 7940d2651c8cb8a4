"""Loops without a framework: functions that are handed to Carob, tools of an MCP server, and nothing but a model."""

import asyncio
import json
import os

import desk
import openai

SCHEMAS = [
    {"type": "function", "function": {"name": made.__name__, "parameters": {"type": "object"}}} for made in desk.TOOLS
]


def converse(prompt, conversation, acall):
    async def run(text):
        client = openai.AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
        messages = conversation.state.setdefault("messages", [])
        messages.append({"role": "user", "content": text})
        while True:
            reply = await client.chat.completions.create(model="scripted", messages=messages, tools=SCHEMAS)
            said = reply.choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            results = await asyncio.gather(*(one(call) for call in said.tool_calls))
            messages += results

    async def one(call):
        try:
            result = json.dumps(await acall(call.function.name, json.loads(call.function.arguments)))
        except Exception as error:  # noqa: BLE001  its bare words go to the model
            result = str(error)
        return {"role": "tool", "tool_call_id": call.id, "content": result}

    return desk.drive(prompt, lambda text: asyncio.run(run(text)), acall)


def handed(prompt, conversation):
    tools = {made.__name__: conversation.tool(made) for made in desk.TOOLS}

    async def acall(name, arguments):
        made = tools[name]
        if asyncio.iscoroutinefunction(made):
            return await made(**arguments)
        return await asyncio.to_thread(made, **arguments)

    return converse(prompt, conversation, acall)


def bare(prompt, conversation):
    tools = {made.__name__: made for made in desk.TOOLS}

    async def acall(name, arguments):
        made = tools[name]
        return await made(**arguments) if asyncio.iscoroutinefunction(made) else made(**arguments)

    return converse(prompt, conversation, acall)


def mcp(prompt, conversation):
    from mcp.client.session import ClientSession
    from mcp.server.mcpserver import MCPServer
    from mcp.shared.memory import create_client_server_memory_streams

    server = MCPServer("desk")
    for made in desk.TOOLS:
        server.tool()(made)

    async def acall(name, arguments):
        async with create_client_server_memory_streams() as (client, served):
            task = asyncio.ensure_future(
                server._lowlevel_server.run(*served, server._lowlevel_server.create_initialization_options())
            )
            try:
                async with ClientSession(*client) as session:
                    await session.initialize()
                    result = await session.call_tool(name, arguments)
                    texts = [block.text for block in result.content]
                    return json.loads(texts[0]) if len(texts) == 1 and texts[0][:1] == "{" else " ".join(texts)
            finally:
                task.cancel()

    return converse(prompt, conversation, acall)
