"""smolagents: the agent that writes code, and the one that calls tools."""

import os

import desk
from smolagents import CodeAgent, LogLevel, OpenAIServerModel, ToolCallingAgent, tool

TOOLS = {made.__name__: tool(made) for made in desk.TOOLS[:3]}


def call(name, arguments):
    return TOOLS[name](**arguments)


def converse(prompt, conversation, kind):
    model = OpenAIServerModel("scripted", api_base=os.environ["OPENAI_BASE_URL"], api_key="none")
    agent = conversation.state.setdefault(
        "agent", kind(tools=[*TOOLS.values()], model=model, verbosity_level=LogLevel.OFF)
    )
    return desk.drive(prompt, lambda text: str(agent.run(text, reset=False)), call=call)


def code(prompt, conversation):
    return converse(prompt, conversation, CodeAgent)


def answer(prompt, conversation):
    return converse(prompt, conversation, ToolCallingAgent)
