"""Haystack with its own tracer, or with OpenInference's instrumentation."""

import os
import sys

os.environ["HAYSTACK_CONTENT_TRACING_ENABLED"] = "true"

import model_server
import script
from haystack import tracing
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret

made = script.provider()
if sys.argv[1] == "openinference":
    from openinference.instrumentation.haystack import HaystackInstrumentor

    HaystackInstrumentor().instrument(tracer_provider=made)
else:
    from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer

    tracing.enable_tracing(OpenTelemetryTracer(made.get_tracer("orders")))

model = OpenAIChatGenerator(
    model="scripted", api_key=Secret.from_token("none"), api_base_url=model_server.serve(), max_retries=0
)
tools = [create_tool_from_function(one) for one in (script.lookup_order, script.cancel_order, script.list_orders)]
agent = Agent(chat_generator=model, tools=tools)
agent.warm_up()
history = []


def turn(prompt):
    history[:] = agent.run(messages=[*history, ChatMessage.from_user(prompt)])["messages"]
    return history[-1].text


script.serve(turn, made)
