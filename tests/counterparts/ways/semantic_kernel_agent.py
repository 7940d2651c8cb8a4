"""Semantic Kernel."""

import asyncio
import os

import desk
from openai import AsyncOpenAI
from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import KernelArguments, kernel_function


class Desk:
    lookup_order = staticmethod(kernel_function(desk.lookup_order))
    issue_refund = staticmethod(kernel_function(desk.issue_refund))
    ask_expert = staticmethod(kernel_function(desk.ask_expert))
    slow_refund = staticmethod(kernel_function(desk.slow_refund))


KERNEL = Kernel()
PLUGIN = KERNEL.add_plugin(Desk(), "Desk")


async def acall(name, arguments):
    return await PLUGIN[name].invoke(KERNEL, KernelArguments(**arguments))


def answer(prompt, conversation):
    async def run(text):
        client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
        service = OpenAIChatCompletion(ai_model_id="scripted", async_client=client)
        agent = ChatCompletionAgent(service=service, name="desk", plugins=[Desk()])
        reply = await agent.get_response(text, thread=conversation.state.get("thread"))
        conversation.state["thread"] = reply.thread
        return str(reply.message)

    return desk.drive(prompt, lambda text: asyncio.run(run(text)), acall)
