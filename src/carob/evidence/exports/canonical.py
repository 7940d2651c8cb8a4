"""A row of an export → a span as OpenTelemetry's conventions spell it, for formats without a spelling of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carob.evidence.spans.otlp import NOT_RECORDED


def tool_attributes(name: object, arguments: object, result: object) -> dict[str, object]:
    """The attributes of a call; a value that is NOT_RECORDED is left out."""
    return keep_recorded(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.arguments": arguments,
            "gen_ai.tool.call.result": result,
        }
    )


def model_attributes(
    given: object, answered: object, *, model: object, usage: Mapping[str, Any], tools: object, finish: object
) -> dict[str, object]:
    """The attributes of a call of a model; `usage` has the tokens by any of their usual names."""
    return keep_recorded(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": given,
            "gen_ai.output.messages": answered,
            "gen_ai.response.model": model or NOT_RECORDED,
            "gen_ai.usage.input_tokens": _tokens(usage, "input_tokens", "prompt_tokens"),
            "gen_ai.usage.output_tokens": _tokens(usage, "output_tokens", "completion_tokens"),
            "gen_ai.tool.definitions": tools or NOT_RECORDED,
            "gen_ai.response.finish_reason": finish or NOT_RECORDED,
        }
    )


def agent_attributes(name: object, given: object, answer: object) -> dict[str, object]:
    """The attributes of an agent, or of what runs one."""
    return keep_recorded(
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.input.messages": given,
            "final_result": answer,
        }
    )


def keep_recorded(attributes: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in attributes.items() if value is not NOT_RECORDED}


def _tokens(usage: Mapping[str, Any], *names: str) -> object:
    return next((usage[name] for name in names if isinstance(usage.get(name), int)), NOT_RECORDED)
