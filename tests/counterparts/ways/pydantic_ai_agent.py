"""pydantic-ai, with words or with a typed answer."""

import asyncio
import functools
import os

import desk
from pydantic import BaseModel
from pydantic_ai import Agent, FunctionToolset, ModelRetry, RunContext
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RunUsage


def retried(made):
    """The tool, whose errors go to the model."""

    @functools.wraps(made)
    def call(*args, **kwargs):
        try:
            return made(*args, **kwargs)
        except (ValueError, ConnectionError) as error:
            raise ModelRetry(str(error)) from error

    return made if asyncio.iscoroutinefunction(made) else call


TOOLSET = FunctionToolset([*map(retried, desk.TOOLS)])


class Reply(BaseModel):
    text: str


async def acall(name, arguments):
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    tools = await TOOLSET.get_tools(context)
    return await TOOLSET.call_tool(name, arguments, context, tools[name])


def build(output):
    provider = OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
    return Agent(OpenAIChatModel("scripted", provider=provider), toolsets=[TOOLSET], output_type=output, retries=2)


def ask(prompt, conversation, output):
    result = build(output).run_sync(prompt, message_history=conversation.state.get("history"))
    conversation.state["history"] = result.all_messages()
    return result.output


def answer(prompt, conversation):
    return desk.drive(prompt, lambda text: ask(text, conversation, str), acall)


def typed(prompt, conversation):
    return desk.drive(prompt, lambda text: ask(text, conversation, Reply).text, acall)
