"""AutoGen."""

import asyncio
import os

import desk
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient

TOOLS = {made.__name__: FunctionTool(made, description=made.__doc__) for made in desk.TOOLS}
INFO = dict.fromkeys(("vision", "json_output", "structured_output"), False)


async def acall(name, arguments):
    return await TOOLS[name].run_json(arguments, CancellationToken())


def answer(prompt, conversation):
    async def run(text):
        client = OpenAIChatCompletionClient(
            model="scripted",
            base_url=os.environ["OPENAI_BASE_URL"],
            api_key="none",
            model_info={**INFO, "function_calling": True, "family": "unknown"},
        )
        agent = AssistantAgent(
            "desk", model_client=client, tools=[*TOOLS.values()], reflect_on_tool_use=True, max_tool_iterations=4
        )
        if "state" in conversation.state:
            await agent.load_state(conversation.state["state"])
        said = (await agent.run(task=text)).messages[-1].content
        conversation.state["state"] = await agent.save_state()
        return said

    return desk.drive(prompt, lambda text: asyncio.run(run(text)), acall)
