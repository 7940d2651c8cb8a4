"""google-adk, with a model of its own kind that asks the scripted one."""

import asyncio
import json
import os
from types import SimpleNamespace

import desk
import openai
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types

TOOLS = {made.__name__: FunctionTool(made) for made in desk.TOOLS}


async def acall(name, arguments):
    context = SimpleNamespace(
        function_call_id=f"own-{name}", state={}, actions=SimpleNamespace(), tool_confirmation=None
    )
    return await TOOLS[name].run_async(args=arguments, tool_context=context)


def messages_of(contents):
    for content in contents:
        for part in content.parts or ():
            if part.function_call:
                function = {
                    "name": part.function_call.name,
                    "arguments": json.dumps(part.function_call.args),
                }
                yield {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": part.function_call.id, "type": "function", "function": function}],
                }
            elif part.function_response:
                said = json.dumps(part.function_response.response)
                yield {"role": "tool", "tool_call_id": part.function_response.id, "content": said}
            elif part.text:
                yield {"role": "user" if content.role == "user" else "assistant", "content": part.text}


def merged(messages):
    """Parallel calls are one message of the model."""
    whole = []
    for message in messages:
        if whole and message.get("tool_calls") and whole[-1].get("tool_calls"):
            whole[-1]["tool_calls"] += message["tool_calls"]
        else:
            whole.append(message)
    return whole


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        client = openai.AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
        tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in TOOLS]
        reply = await client.chat.completions.create(
            model="scripted", messages=merged(messages_of(llm_request.contents)), tools=tools
        )
        message = reply.choices[0].message
        parts = [types.Part(text=message.content)] if message.content else []
        for call in message.tool_calls or ():
            given = json.loads(call.function.arguments)
            parts.append(types.Part(function_call=types.FunctionCall(id=call.id, name=call.function.name, args=given)))
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def answer(prompt, conversation):
    async def run(text):
        agent = LlmAgent(
            name="desk", model=Scripted(model="scripted"), tools=[*TOOLS.values()], on_tool_error_callback=failed
        )
        runner = conversation.state.setdefault("runner", InMemoryRunner(agent, app_name="desk"))
        sessions = runner.session_service
        session = await sessions.get_session(app_name="desk", user_id="u", session_id=conversation.id)
        session = session or await sessions.create_session(app_name="desk", user_id="u", session_id=conversation.id)
        said = ""
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            for part in (event.content.parts if event.content else None) or ():
                said = part.text or said
        return said

    return desk.drive(prompt, lambda text: asyncio.run(run(text)), acall)


def failed(tool, args, tool_context, error):
    return {"words": str(error)}
