"""pydantic-ai with its own instrumentation."""

import script
from pydantic_ai import Agent, InstrumentationSettings, ModelRetry
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

made = script.provider()


def said(messages, info):
    parts = messages[-1].parts
    done = next((part for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)), None)
    if done is not None:
        return ModelResponse([TextPart(script.answer(done.tool_name, done.content))])
    wanted = script.asked(next(part.content for part in parts if isinstance(part, UserPromptPart)))
    if wanted is None:
        return ModelResponse([TextPart(script.answer(None, None))])
    return ModelResponse([ToolCallPart(*wanted)])


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
)
history = []


def turn(prompt):
    result = agent.run_sync(prompt, message_history=history)
    history[:] = result.all_messages()
    return result.output


script.serve(turn, made)
