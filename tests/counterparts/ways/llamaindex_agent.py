"""LlamaIndex: the agent that calls functions, and the one that reasons in words."""

import asyncio
import os

import desk
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context
from llama_index.llms.openai_like import OpenAILike

TOOLS = {
    made.__name__: FunctionTool.from_defaults(
        **({"async_fn": made} if asyncio.iscoroutinefunction(made) else {"fn": made}), name=made.__name__
    )
    for made in desk.TOOLS
}


async def acall(name, arguments):
    return await TOOLS[name].acall(**arguments)


def converse(prompt, conversation, kind, structured):
    async def run(text):
        llm = OpenAILike(
            model="scripted",
            api_base=os.environ["OPENAI_BASE_URL"],
            api_key="none",
            is_chat_model=True,
            is_function_calling_model=structured,
        )
        agent = kind(tools=[*TOOLS.values()], llm=llm)
        context = Context.from_dict(agent, conversation.state["context"]) if "context" in conversation.state else None
        context = context or Context(agent)
        said = str(await agent.run(text, ctx=context))
        conversation.state["context"] = context.to_dict()
        return said

    return desk.drive(prompt, lambda text: asyncio.run(run(text)), acall)


def answer(prompt, conversation):
    return converse(prompt, conversation, FunctionAgent, True)


def react(prompt, conversation):
    return converse(prompt, conversation, ReActAgent, False)
