"""OpenAI's chat completions: what is sent, and what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.model.trace import Tokens
from karat.suites.diagnostics import Json
from karat.targets.base import TargetError
from karat.targets.http.call_book import CallSoFar, arguments_text
from karat.targets.http.event_values import DONE, event_json, misfit
from karat.targets.http.jsonpath import count, objects
from karat.targets.http.streams import WireEvent
from karat.targets.http.talk import Heard
from karat.text.wording import shorten, visible

if TYPE_CHECKING:
    from karat.targets.http.openai_tools import OfferedTool


class ChatReader:
    """One completion, as chunks or whole."""

    def __init__(self, heard: Heard, step: str) -> None:
        self.calls: list[CallSoFar] = []
        self.said = ""
        self._heard = heard
        self._step = step
        self._places: dict[int, CallSoFar] = {}
        self._finish = ""

    def take(self, event: WireEvent) -> bool:
        if event.data.strip() == DONE:
            return True
        value = event_json(event, "chat completion")
        self._read(value, "delta")
        return False

    def whole(self, value: Json) -> None:
        self._read(value, "message")

    def ended(self) -> None:
        if not self._finish:
            raise TargetError("bad-answer", "the completion has no `finish_reason`: it is torn")
        if self._finish != "stop":
            self._heard.metadata["finish_reason"] = self._finish

    def _read(self, value: Json, key: str) -> None:
        if not isinstance(value, dict):
            raise misfit("the answer is no chat completion")
        raise_error(value.get("error"))
        if "choices" not in value:
            raise misfit(f"the answer is no chat completion: it has {', '.join(map(repr, value))[:200]}")
        usage = value.get("usage")
        if isinstance(usage, dict):
            self._heard.spend(Tokens(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))))
        for choice in objects(value.get("choices")):
            message = choice.get(key)
            if isinstance(message, dict):
                self._message(message)
            self._finish = str(choice.get("finish_reason") or self._finish)

    def _message(self, message: dict[str, Json]) -> None:
        content = message.get("content")
        if isinstance(content, str):
            self._heard.say(content, self._step)
            self.said += content
        for place, told in enumerate(objects(message.get("tool_calls"))):
            function, index = told.get("function"), count(told.get("index"))
            if isinstance(function, dict):
                self._call(place if index is None else index, told.get("id"), function)

    def _call(self, place: int, id: Json, function: dict[str, Json]) -> None:
        call = self._places.get(place)
        if call is None:
            name = str(function.get("name") or "")
            call = self._heard.book.begin(name, str(id or f"{self._step}.{place}"), ran=False)
            call.told = []
            self._places[place] = call
            self.calls.append(call)
        if call.told is not None:
            call.told.append(str(function.get("arguments") or ""))


def raise_error(error: Json) -> None:
    """An error that stands where an answer should."""
    if error:
        message = error.get("message", error) if isinstance(error, dict) else error
        raise TargetError("agent", f"the endpoint gave an error: {visible(shorten(str(message), 300))}")


def chat_body(model: str, system: str, memory: list[object], tools: list[OfferedTool]) -> dict[str, object]:
    messages = [*([{"role": "system", "content": system}] if system else []), *memory]
    offered = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]
    return {"model": model, "messages": messages, **({"tools": offered} if offered else {})}


def chat_call(said: str, calls: list[CallSoFar]) -> list[object]:
    """What the model said, as it is told again."""
    asked = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}
        for call in calls
    ]
    return [{"role": "assistant", "content": said, **({"tool_calls": asked} if asked else {})}]


def chat_result(call: CallSoFar, told: str) -> object:
    return {"role": "tool", "tool_call_id": call.id, "content": told}
