"""Tool calls as LangChain's callbacks tell of them: when they began and ended, also in subgraphs and when cut short."""

from __future__ import annotations

import json
from dataclasses import dataclass
from time import time
from typing import Any

from karat.model.trace import ToolCall
from karat.targets.clean import jsonable
from karat.targets.recorder import Recorder


@dataclass(slots=True)
class Seen:
    """One run of one tool."""

    name: str
    call_id: str | None
    arguments: Any
    started_at: float
    ended_at: float | None = None
    result: Any = None
    broke: bool = False
    error: str | None = None
    told: bool = False

    def as_call(self) -> ToolCall:
        success, missing, result = success_and_missing(self.result, self.broke)
        return ToolCall(
            name=self.name,
            arguments=jsonable(self.arguments),
            id=self.call_id,
            result=jsonable(result),
            error=self.error,
            success=False if self.error else success,
            missing_fields=missing,
            started_at=self.started_at,
            ended_at=self.ended_at,
        )


class CallBook:
    """Keeps the calls in the order of their starts, and shows them to the recorder as they happen."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._recorder.tool_calls = []
        self._seen: dict[Any, Seen] = {}

    def handler(self) -> Any:
        """The callback handler; its class is made here because its base is an extra."""
        from langchain_core.callbacks import AsyncCallbackHandler

        book = self

        class Handler(AsyncCallbackHandler):
            async def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, **rest: Any) -> None:
                name = rest.get("name") or (serialized or {}).get("name") or "tool"
                arguments = rest.get("inputs") if rest.get("inputs") is not None else input_str
                book.started(run_id, Seen(name, rest.get("tool_call_id"), arguments, time()))

            async def on_tool_end(self, output: Any, *, run_id: Any, **rest: Any) -> None:
                book.ended(run_id, output)

            async def on_tool_error(self, error: BaseException, *, run_id: Any, **rest: Any) -> None:
                book.failed(run_id, error)

        return Handler()

    def started(self, run_id: Any, seen: Seen) -> None:
        self._seen[run_id] = seen
        self._show()

    def ended(self, run_id: Any, output: Any) -> None:
        seen = self._seen[run_id]
        seen.ended_at = time()
        seen.result = getattr(output, "content", output)
        seen.broke = getattr(output, "status", "") == "error"
        seen.call_id = seen.call_id or getattr(output, "tool_call_id", None)
        self._show()

    def failed(self, run_id: Any, error: BaseException) -> None:
        seen = self._seen[run_id]
        seen.ended_at = time()
        seen.error = f"{type(error).__name__}: {error}"
        self._show()

    def take(self, call_id: str | None, name: str) -> Seen | None:
        """The last run of a call that a message tells of: a call that was tried again counts once."""
        runs = [s for s in self._seen.values() if not s.told and s.name == name]
        mine = [s for s in runs if s.call_id == call_id] or [s for s in runs if s.call_id is None][:1]
        for seen in mine:
            seen.told = True
        return mine[-1] if mine else None

    def untold(self) -> list[ToolCall]:
        """The calls that no message tells of: those of subgraphs, and of tools that nodes call themselves."""
        return [seen.as_call() for seen in self._seen.values() if not seen.told]

    def _show(self) -> None:
        self._recorder.tool_calls = [seen.as_call() for seen in self._seen.values()]


def success_and_missing(result: Any, broke: bool) -> tuple[bool | None, tuple[str, ...], Any]:
    """Whether a result says success, which fields it lacks, and the result as data.

    A result that says nothing of success counts by the status that LangGraph gave it.
    """
    if result is None:
        return (False if broke else None), (), None
    data = _decoded(result)
    said = data.get("success") if isinstance(data, dict) else None
    success = said if isinstance(said, bool) else True
    lacking = (data.get("missing_fields") or data.get("missingFields") or ()) if isinstance(data, dict) else ()
    missing = tuple(field for field in lacking if isinstance(field, str)) if isinstance(lacking, list) else ()
    return success and not broke, missing, data


def _decoded(result: Any) -> Any:
    if isinstance(result, str) and result[:1] in "{[":
        try:
            return json.loads(result)
        except ValueError:
            return result
    return result
