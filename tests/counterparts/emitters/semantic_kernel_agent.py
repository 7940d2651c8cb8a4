"""Semantic Kernel with its own spans, alone or with those of the client of its model."""

import asyncio
import os
import sys

os.environ["SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE"] = "true"

import model_server
import script
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function

made = script.provider()
if sys.argv[1] == "openai":
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=made)


class Desk:
    """A plugin: its name comes before the names of its functions."""

    @kernel_function
    def lookup_order(self, order: str) -> dict:
        """Look an order up."""
        return script.lookup_order(order)

    @kernel_function
    def cancel_order(self, order: str, reason: str) -> dict:
        """Cancel an order."""
        return script.cancel_order(order, reason)

    @kernel_function
    def list_orders(self) -> list:
        """List all orders."""
        return script.list_orders()


def calls(name, told, request):
    return (told, []) if name is None else (None, [(f"Desk-{name}", told)])


client = AsyncOpenAI(base_url=model_server.serve(calls), api_key="none")
service = OpenAIChatCompletion(ai_model_id="scripted", async_client=client)
agent = ChatCompletionAgent(service=service, name="orders", plugins=[Desk()])
thread = None


def turn(prompt):
    global thread
    answer = loop.run_until_complete(agent.get_response(prompt, thread=thread))
    thread = answer.thread
    return str(answer.message)


loop = asyncio.new_event_loop()
script.serve(turn, made)
