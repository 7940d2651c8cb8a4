"""LlamaIndex with OpenInference's instrumentation: the agent that calls functions, or the one that reasons in words."""

import asyncio
import json
import sys

import model_server
import script
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai_like import OpenAILike
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

made = script.provider()
LlamaIndexInstrumentor().instrument(tracer_provider=made)
in_words = sys.argv[1] == "react"


def react(name, told, request):
    if name is None:
        return f"Thought: I can answer without using any more tools.\nAnswer: {told}", []
    return f"Thought: I need to use a tool.\nAction: {name}\nAction Input: {json.dumps(told)}", []


llm = OpenAILike(
    model="scripted",
    api_base=model_server.serve(react if in_words else model_server.call_or_answer),
    api_key="none",
    is_chat_model=True,
    is_function_calling_model=not in_words,
)
tools = [script.lookup_order, script.cancel_order, script.list_orders]
agent = (ReActAgent if in_words else FunctionAgent)(tools=tools, llm=llm)
context = Context(agent)


def turn(prompt):
    async def run():
        return str(await agent.run(prompt, ctx=context))

    return loop.run_until_complete(run())


loop = asyncio.new_event_loop()
script.serve(turn, made)
