"""Reading what an OpenAI-compatible endpoint streams back."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from canvas_app.brain.base import BrainError

MAX_CALLS = 16
MAX_ARGUMENT_CHARS = 20_000


@dataclass(slots=True)
class RequestedCall:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Reply:
    text: str = ""
    calls: list[RequestedCall] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Add one chunk; the text that came with it is returned."""
        self._take_usage(chunk.get("usage"))
        choices = chunk.get("choices") or [{}]
        delta = choices[0].get("delta") or choices[0].get("message") or {}
        for number, part in enumerate(delta.get("tool_calls") or []):
            self._take_call(part.get("index", number), part)
        text = delta.get("content") or ""
        self.text += text
        return str(text)

    def _take_call(self, index: int, part: Mapping[str, Any]) -> None:
        if not 0 <= index < MAX_CALLS:
            raise BrainError(f"The model asked for more than {MAX_CALLS} tools at once.")
        while len(self.calls) <= index:
            self.calls.append(RequestedCall())
        call, function = self.calls[index], part.get("function") or {}
        call.id = part.get("id") or call.id
        call.name += function.get("name") or ""
        call.arguments += function.get("arguments") or ""
        if len(call.arguments) > MAX_ARGUMENT_CHARS:
            raise BrainError("The model sent a tool call that is too long.")

    def _take_usage(self, usage: Mapping[str, Any] | None) -> None:
        if usage:
            self.usage = {
                "input": int(usage.get("prompt_tokens") or 0),
                "output": int(usage.get("completion_tokens") or 0),
            }


async def chunks_in(lines: AsyncIterator[str]) -> AsyncIterator[Mapping[str, Any]]:
    """The JSON objects of an event stream, up to its `[DONE]`."""
    async for line in lines:
        payload = line.removeprefix("data:").strip()
        if not line.startswith("data:") or not payload:
            continue
        if payload == "[DONE]":
            return
        try:
            chunk = json.loads(payload)
        except ValueError:
            raise BrainError("The model's endpoint sent something that is no JSON.") from None
        if not isinstance(chunk, dict):
            raise BrainError("The model's endpoint sent something that is no JSON object.")
        if "error" in chunk:
            raise BrainError("The model's endpoint reported an error in mid-answer.")
        yield chunk


def arguments_of(call: RequestedCall) -> dict[str, object] | None:
    """The call's arguments, or nothing where the model did not write a JSON object."""
    try:
        parsed = json.loads(call.arguments or "{}")
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
