"""Haystack."""

import os

import desk
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret

TOOLS = {made.__name__: create_tool_from_function(made) for made in desk.TOOLS[:3]}


async def acall(name, arguments):
    return await TOOLS[name].invoke_async(**arguments)


def call(name, arguments):
    return TOOLS[name].invoke(**arguments)


def answer(prompt, conversation):
    model = OpenAIChatGenerator(
        model="scripted", api_key=Secret.from_token("none"), api_base_url=os.environ["OPENAI_BASE_URL"], max_retries=0
    )
    agent = Agent(chat_generator=model, tools=[*TOOLS.values()])

    def ask(text):
        history = [*conversation.state.get("history", ()), ChatMessage.from_user(text)]
        conversation.state["history"] = agent.run(messages=history)["messages"]
        return conversation.state["history"][-1].text

    return desk.drive(prompt, ask, call=call)
