"""Agents with one tool on the client libraries that people use: a case from stdin, the answer as one line of JSON."""

import asyncio
import json
import os
import socket
import sys

TOOL = "get_balance"
WHAT = "The balance of an account."
SCHEMA = {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]}
CALLS: list[dict[str, object]] = []


def get_balance(account: str) -> str:
    """The balance of an account."""
    CALLS.append({"name": TOOL, "arguments": {"account": account}, "result": {"balance": "12.50"}, "success": True})
    return '{"balance": "12.50"}'


def openai_chat(prompt: str, stream: bool) -> str:
    from openai import OpenAI

    client, messages = OpenAI(), [{"role": "user", "content": prompt}]
    tools = [{"type": "function", "function": {"name": TOOL, "description": WHAT, "parameters": SCHEMA}}]
    while True:
        if stream:
            with client.chat.completions.stream(model="m", messages=messages, tools=tools) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        for call in message.tool_calls:
            result = get_balance(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def openai_async(prompt: str, stream: bool) -> str:
    from openai import AsyncOpenAI

    async def ask() -> str:
        tools = [{"type": "function", "function": {"name": TOOL, "description": WHAT, "parameters": SCHEMA}}]
        messages: list[object] = [{"role": "user", "content": prompt}]
        async with AsyncOpenAI() as client:
            while True:
                if stream:
                    async with client.chat.completions.stream(model="m", messages=messages, tools=tools) as events:
                        message = (await events.get_final_completion()).choices[0].message
                else:
                    answer = await client.chat.completions.create(model="m", messages=messages, tools=tools)
                    message = answer.choices[0].message
                if not message.tool_calls:
                    return message.content
                messages.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
                for call in message.tool_calls:
                    result = get_balance(**json.loads(call.function.arguments))
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    return asyncio.run(ask())


def openai_responses(prompt: str, stream: bool) -> str:
    from openai import OpenAI

    client, messages = OpenAI(), [{"role": "user", "content": prompt}]
    tools = [{"type": "function", "name": TOOL, "description": WHAT, "parameters": SCHEMA}]
    while True:
        if stream:
            with client.responses.stream(model="m", input=messages, tools=tools) as events:
                answer = events.get_final_response()
        else:
            answer = client.responses.create(model="m", input=messages, tools=tools)
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answer.output_text
        for call in calls:
            result = get_balance(**json.loads(call.arguments))
            asked = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            messages += [asked, {"type": "function_call_output", "call_id": call.call_id, "output": result}]


def anthropic(prompt: str, stream: bool) -> str:
    from anthropic import Anthropic

    client, messages = Anthropic(), [{"role": "user", "content": prompt}]
    how = {"model": "m", "max_tokens": 100, "tools": [{"name": TOOL, "description": WHAT, "input_schema": SCHEMA}]}
    while True:
        if stream:
            with client.messages.stream(messages=messages, **how) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(messages=messages, **how)
        used = [block for block in answer.content if block.type == "tool_use"]
        if not used:
            return "".join(block.text for block in answer.content)
        asked = [{"type": "tool_use", "id": one.id, "name": one.name, "input": one.input} for one in used]
        results = [{"type": "tool_result", "tool_use_id": one.id, "content": get_balance(**one.input)} for one in used]
        messages += [{"role": "assistant", "content": asked}, {"role": "user", "content": results}]


def google(prompt: str, stream: bool) -> str:
    from google import genai
    from google.genai import types

    client = genai.Client()
    config = types.GenerateContentConfig(tools=[get_balance])
    if not stream:
        return client.models.generate_content(model="m", contents=prompt, config=config).text
    pieces = client.models.generate_content_stream(model="m", contents=prompt, config=config)
    return "".join(piece.text or "" for piece in pieces)


def litellm(prompt: str, stream: bool) -> str:
    import litellm

    tools = [{"type": "function", "function": {"name": TOOL, "description": WHAT, "parameters": SCHEMA}}]
    messages = [{"role": "user", "content": prompt}]
    model = "anthropic/m" if "A2" in prompt else "openai/m"
    while True:
        answer = litellm.completion(model=model, messages=messages, tools=tools, stream=stream, max_tokens=100)
        if stream:
            answer = litellm.stream_chunk_builder(list(answer), messages=messages)
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content
        calls = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.function.name, "arguments": one.function.arguments},
            }
            for one in message.tool_calls
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for call in calls:
            result = get_balance(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def langchain(prompt: str, stream: bool) -> str:
    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_openai import ChatOpenAI

    kind = ChatAnthropic if "A2" in prompt else ChatOpenAI
    model = kind(model="m", streaming=stream).bind_tools([get_balance])
    messages: list[object] = [HumanMessage(prompt)]
    while True:
        answer = model.invoke(messages)
        if not answer.tool_calls:
            return answer.text if isinstance(answer.text, str) else answer.text()
        messages.append(answer)
        messages += [ToolMessage(get_balance(**call["args"]), tool_call_id=call["id"]) for call in answer.tool_calls]


def pydantic_ai(prompt: str, stream: bool) -> str:
    from pydantic_ai import Agent

    agent = Agent("openai-chat:m", tools=[get_balance])

    async def streamed() -> str:
        async with agent.run_stream(prompt) as run:
            return await run.get_output()

    return asyncio.run(streamed()) if stream else agent.run_sync(prompt).output


def mcp_http(prompt: str, stream: bool) -> str:
    return asyncio.run(asked_by_mcp(os.environ["SHOP_MCP_URL"], prompt))


def mcp_stdio(prompt: str, stream: bool) -> str:
    from mcp import StdioServerParameters

    command, *arguments = os.environ["SHOP_MCP_COMMAND"].split()
    return asyncio.run(
        asked_by_mcp(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)), prompt)
    )


async def asked_by_mcp(server: object, prompt: str) -> str:
    from mcp import Client

    # A client that finds out what the server speaks does so by a deadline: what it sends would depend on the clock.
    async with Client(server, mode="legacy") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        account = prompt.rstrip("?").split()[-1]
        CALLS.append({"name": names[0], "arguments": {"account": account}, "success": True})
        result = await client.call_tool(names[0], {"account": account})
        return f"Your balance is {json.loads(result.content[0].text)['balance']} dollars."


def refuse_other_machines() -> None:
    """From here on, a connection to anything but this machine raises."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> object:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"blocked: {address}")
        return connect(self, address)

    socket.socket.connect = guarded


if __name__ == "__main__":
    refuse_other_machines()
    kind, mode = sys.argv[1:3]
    given = json.loads(sys.stdin.read())
    answer = globals()[kind](given["prompt"], mode == "stream")
    reported = {} if sys.argv[3:] == ["words"] else {"tool_calls": CALLS}
    print(json.dumps({"final_message": answer, **reported}))
