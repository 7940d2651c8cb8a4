"""Microsoft's agent framework with its own spans."""

import asyncio

import model_server
import script
from agent_framework import Agent
from agent_framework.observability import enable_instrumentation
from agent_framework.openai import OpenAIChatCompletionClient

made = script.provider()
enable_instrumentation(enable_sensitive_data=True)

client = OpenAIChatCompletionClient(model="scripted", base_url=model_server.serve(), api_key="none")
agent = Agent(client=client, name="orders", tools=[script.lookup_order, script.cancel_order, script.list_orders])
thread = agent.create_session()


def turn(prompt):
    return loop.run_until_complete(agent.run(prompt, session=thread)).text


loop = asyncio.new_event_loop()
script.serve(turn, made)
