"""`inspect:module:scorer`: a scorer of Inspect, or a function that makes one.

Its target is `target` or `expected_output` of the metadata of the conversation, and the recorded answer without one.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from carob.features.graders.adapters.base import Judge, Loader, read_mapping
from carob.features.graders.forms import GraderInput, messages_of


def build(name: str, loader: Loader) -> Judge:
    from inspect_ai.model import (  # type: ignore[import-not-found,unused-ignore]
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        ModelName,
        ModelOutput,
    )
    from inspect_ai.scorer import Target, value_to_float  # type: ignore[import-not-found,unused-ignore]
    from inspect_ai.solver import TaskState  # type: ignore[import-not-found,unused-ignore]
    from inspect_ai.tool import ToolCall  # type: ignore[import-not-found,unused-ignore]

    scorer = loader.load_or_find(name, "inspect_ai.scorer")
    is_scorer = inspect.iscoroutinefunction(scorer) or inspect.iscoroutinefunction(type(scorer).__call__)
    scorer = scorer if is_scorer else scorer()
    to_float = value_to_float()
    kinds = {"user": ChatMessageUser, "system": ChatMessageSystem, "developer": ChatMessageSystem}

    def convert(message: dict[str, Any], arguments: dict[str, Any]) -> Any:
        if message["role"] == "tool":
            return ChatMessageTool(
                content=message["content"], tool_call_id=message["tool_call_id"], function=message["name"]
            )
        if message["role"] in kinds:
            return kinds[message["role"]](content=message["content"])
        calls = [
            ToolCall(id=call["id"], function=call["function"]["name"], arguments=arguments.get(call["id"]) or {})
            for call in message.get("tool_calls", ())
        ]
        return ChatMessageAssistant(content=message["content"], tool_calls=calls or None)

    def judge(given: GraderInput) -> object:
        trace = given.read
        messages = messages_of(trace)
        arguments = _arguments(messages)
        state = TaskState(
            model=ModelName("carob/recorded"),
            sample_id=trace.case_id,
            epoch=1,
            input=trace.input,
            messages=[convert(message, arguments) for message in messages],
            output=ModelOutput.from_content("carob/recorded", trace.final_message),
            metadata=given.trace.metadata,
        )
        target = given.expect("target", "expected_output") or given.expected.final_message
        score = asyncio.run(scorer(state, Target(target if isinstance(target, str | list) else str(target))))
        if score is None:
            return None
        value = score.value
        return (
            read_mapping({key: to_float(each) for key, each in value.items()})
            if isinstance(value, dict)
            else (value if isinstance(value, bool) else to_float(value))
        )

    return judge


def _arguments(messages: list[dict[str, Any]]) -> dict[str, Any]:
    import json

    return {
        call["id"]: parsed
        for message in messages
        for call in message.get("tool_calls", ())
        if isinstance(parsed := json.loads(call["function"]["arguments"]), dict)
    }
