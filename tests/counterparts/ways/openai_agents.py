"""The OpenAI Agents SDK, by chat completions."""

import json
import os

import desk
from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.tool_context import ToolContext
from openai import AsyncOpenAI

set_tracing_disabled(True)
TOOLS = {tool.name: tool for tool in map(function_tool, desk.TOOLS)}


async def acall(name, arguments):
    given = json.dumps(arguments)
    context = ToolContext(context=None, tool_name=name, tool_call_id=f"own-{name}", tool_arguments=given)
    return await TOOLS[name].on_invoke_tool(context, given)


def answer(prompt, conversation):
    client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
    agent = Agent(name="desk", tools=[*TOOLS.values()], model=OpenAIChatCompletionsModel("scripted", client))
    session = conversation.state.setdefault("session", SQLiteSession(conversation.id))
    return desk.drive(prompt, lambda text: Runner.run_sync(agent, text, session=session).final_output, acall)
