"""Microsoft's agent framework."""

import asyncio
import os

import desk
from agent_framework import Agent, FunctionTool
from agent_framework.openai import OpenAIChatCompletionClient

TOOLS = {made.__name__: FunctionTool(name=made.__name__, description=made.__doc__, func=made) for made in desk.TOOLS}


async def acall(name, arguments):
    return await TOOLS[name].invoke(arguments=arguments)


def answer(prompt, conversation):
    async def run(text):
        client = OpenAIChatCompletionClient(model="scripted", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
        agent = Agent(client=client, name="desk", tools=[*TOOLS.values()])
        session = conversation.state.setdefault("session", agent.create_session())
        return (await agent.run(text, session=session)).text

    return desk.drive(prompt, lambda text: asyncio.run(run(text)), acall)
