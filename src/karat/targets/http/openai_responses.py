"""OpenAI's responses: what is sent, and what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.model.trace import Tokens
from karat.suites.diagnostics import Json
from karat.targets.base import TargetError
from karat.targets.http.call_book import CallSoFar, arguments_text
from karat.targets.http.event_values import DONE, EventKinds, event_json, misfit
from karat.targets.http.jsonpath import count, objects
from karat.targets.http.openai_chat import raise_error
from karat.targets.http.streams import WireEvent
from karat.targets.http.talk import Heard

if TYPE_CHECKING:
    from karat.targets.http.openai_tools import OfferedTool

ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponsesReader:
    """One response, as events or whole."""

    def __init__(self, heard: Heard, step: str) -> None:
        self.calls: list[CallSoFar] = []
        self.said = ""
        self._heard = heard
        self._step = step
        self._ended = False
        self._kinds = EventKinds("of a response")

    def take(self, event: WireEvent) -> bool:
        if event.data.strip() == DONE:
            return True
        told = event_json(event, "response")
        if not isinstance(told, dict):
            raise misfit("an event is no response")
        kind = str(told.get("type") or event.name or next(iter(told), ""))
        self._kinds.saw(kind, fits=kind.startswith("response."))
        if kind == "error":
            raise_error(told.get("error") or told)
        elif kind == "response.output_text.delta":
            self._say(str(told.get("delta") or ""))
        elif kind in ENDS:
            self._end(told.get("response"), spoken=bool(self.said))
        return self._ended

    def whole(self, value: Json) -> None:
        self._end(value, spoken=False)

    def ended(self) -> None:
        if not self._ended:
            raise self._kinds.unended("the response has no end")

    def _end(self, response: Json, *, spoken: bool) -> None:
        if not isinstance(response, dict):
            raise misfit("the answer is no response")
        raise_error(response.get("error"))
        if "output" not in response:
            raise misfit(f"the answer is no response: it has {', '.join(map(repr, response))[:200]}")
        if response.get("status") in ("failed", "cancelled"):
            raise TargetError("agent", f"the response ended as {response['status']!r}")
        if response.get("status") == "incomplete":
            self._heard.metadata["incomplete_details"] = response.get("incomplete_details")
        for item in objects(response["output"]):
            if item.get("type") == "function_call":
                self._call(item)
            for part in () if spoken else objects(item.get("content")):
                if part.get("type") == "output_text":
                    self._say(str(part.get("text") or ""))
        usage = response.get("usage")
        if isinstance(usage, dict):
            self._heard.spend(Tokens(count(usage.get("input_tokens")), count(usage.get("output_tokens"))))
        self._ended = True

    def _say(self, part: str) -> None:
        self._heard.say(part, self._step)
        self.said += part

    def _call(self, item: dict[str, Json]) -> None:
        call = self._heard.book.begin(str(item.get("name")), str(item.get("call_id")), ran=False)
        call.told = [str(item.get("arguments") or "")]
        self.calls.append(call)


def responses_body(model: str, system: str, memory: list[object], tools: list[OfferedTool]) -> dict[str, object]:
    offered = [
        {"type": "function", "name": t.name, "description": t.description, "parameters": t.parameters} for t in tools
    ]
    body: dict[str, object] = {"model": model, "input": memory}
    return body | ({"instructions": system} if system else {}) | ({"tools": offered} if offered else {})


def responses_call(said: str, calls: list[CallSoFar]) -> list[object]:
    """What the model said, as it is told again."""
    spoken: list[object] = []
    if said:
        content = [{"type": "output_text", "text": said, "annotations": []}]
        spoken.append({"type": "message", "role": "assistant", "status": "completed", "content": content})
    asked = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_text(call)}
        for call in calls
    ]
    return [*spoken, *asked]


def responses_result(call: CallSoFar, told: str) -> object:
    return {"type": "function_call_output", "call_id": call.id, "output": told}
