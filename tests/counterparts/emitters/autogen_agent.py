"""AutoGen with OpenInference's instrumentation; its runtime makes spans of its own."""

import asyncio

import model_server
import script
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor

made = script.provider()
AutogenAgentChatInstrumentor().instrument(tracer_provider=made)

model = OpenAIChatCompletionClient(
    model="scripted",
    base_url=model_server.serve(),
    api_key="none",
    model_info={
        "vision": False,
        "function_calling": True,
        "json_output": False,
        "family": "unknown",
        "structured_output": False,
    },
)
agent = AssistantAgent(
    "orders",
    model_client=model,
    tools=[script.lookup_order, script.cancel_order, script.list_orders],
    reflect_on_tool_use=True,
)


def turn(prompt):
    async def run():
        result = await agent.run(task=prompt)
        await asyncio.sleep(0.05)  # a loop that goes on, as that of a service does, closes the stream of the turn
        return result.messages[-1].content

    return loop.run_until_complete(run())


loop = asyncio.new_event_loop()
script.serve(turn, made)
