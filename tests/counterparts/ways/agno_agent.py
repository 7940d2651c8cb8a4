"""Agno."""

import os

import desk
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike
from agno.tools.function import Function, FunctionCall

TOOLS = {made.__name__: Function.from_callable(made) for made in desk.TOOLS}


async def acall(name, arguments):
    entered = FunctionCall(function=TOOLS[name], arguments=arguments, call_id=f"own-{name}")
    return await entered.aexecute()


def call(name, arguments):
    return FunctionCall(function=TOOLS[name], arguments=arguments, call_id=f"own-{name}").execute()


def answer(prompt, conversation):
    model = OpenAILike(id="scripted", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
    db = conversation.state.setdefault("db", InMemoryDb())
    agent = Agent(name="desk", model=model, tools=desk.TOOLS[:3], db=db, add_history_to_context=True, telemetry=False)
    return desk.drive(prompt, lambda text: agent.run(text, session_id=conversation.id).content, acall, call)
