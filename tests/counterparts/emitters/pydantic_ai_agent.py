"""pydantic-ai with its own instrumentation; if asked to, with an answer of a type of its own."""

import sys

import script
from pydantic import BaseModel
from pydantic_ai import Agent, InstrumentationSettings, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

made = script.provider()


typed = sys.argv[1:] == ["typed"]


class Reply(BaseModel):
    """An answer as a program takes it."""

    text: str


def said(messages, info):
    name, arguments = script.next_step()
    if name is not None:
        return ModelResponse([ToolCallPart(name, arguments)])
    return ModelResponse(
        [ToolCallPart(info.output_tools[0].name, {"text": arguments}) if typed else TextPart(arguments)]
    )


def cancel_order(order: str, reason: str) -> dict:
    """Cancel an order."""
    try:
        return script.cancel_order(order, reason)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


Agent.instrument_all(InstrumentationSettings(tracer_provider=made))
agent = Agent(
    FunctionModel(said),
    name="orders",
    tools=[script.lookup_order, cancel_order, script.list_orders],
    output_type=Reply if typed else str,
)
history = []


def turn(prompt):
    result = agent.run_sync(prompt, message_history=history)
    history[:] = result.all_messages()
    return result.output.text if typed else result.output


script.serve(turn, made)
