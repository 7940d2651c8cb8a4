"""The tool calls of a turn as a protocol reports them, bit by bit."""

from __future__ import annotations

from collections.abc import Iterable
from time import time

import msgspec
from msgspec import Struct

from carob.model.trace import ToolCall
from carob.targets.http.streams import loads
from carob.text.clean import jsonable
from carob.text.tool_results import call_success, missing_fields, parse_result

MOST = 10_000
"""So many calls of one turn are kept."""


class CallSoFar(Struct):
    """One call: what has been received of it until now."""

    name: str
    id: str | None = None
    arguments: object = None
    pieces: list[str] | None = None
    """Its arguments as JSON, in the pieces that came."""
    result: object = None
    error: str | None = None
    ran: bool = True
    """False: it was asked for, and not run."""
    ended: bool = False
    success: bool | None = None
    parent: str | None = None
    started_at: float | None = None
    ended_at: float | None = None

    def add_piece(self, piece: str) -> None:
        """A further piece of the arguments as JSON; the first may have come with the call."""
        if self.pieces is None:
            self.pieces = [self.arguments] if isinstance(self.arguments, str) else []
        self.pieces.append(piece)


class ToolCallLog:
    """Calls in the order in which they began, found again by their ids."""

    def __init__(self) -> None:
        self._calls: list[CallSoFar] = []
        self._by_id: dict[str, CallSoFar] = {}

    def begin(self, name: str, id: str | None = None, arguments: object = None, *, ran: bool = True) -> CallSoFar:
        """A call, or what else came of one that was started already."""
        earlier = self._by_id.get(id) if id is not None else None
        if earlier is not None:
            earlier.arguments = arguments if arguments is not None else earlier.arguments
            earlier.name = earlier.name or name
            return earlier
        call = CallSoFar(name, id, arguments, ran=ran, started_at=time())
        if len(self._calls) < MOST:
            self._calls.append(call)
        if id is not None:
            self._by_id[id] = call
        return call

    def more(self, id: str, piece: str) -> None:
        """A further piece of the arguments."""
        call = self._by_id.get(id)
        if call is not None:
            call.add_piece(piece)

    def find(self, id: str | None) -> CallSoFar | None:
        return self._by_id.get(id) if id is not None else None

    def rename(self, call: CallSoFar, ids: Iterable[str]) -> None:
        """These ids are of this call from now on."""
        self._by_id |= dict.fromkeys(ids, call)

    @property
    def open_calls(self) -> list[CallSoFar]:
        """The calls that have not ended."""
        return [call for call in self._calls if not call.ended]

    def waiting(self, name: str) -> CallSoFar | None:
        """The earliest call of that name that has not ended."""
        return next((call for call in self._calls if call.name == name and not call.ended), None)

    def end(self, call: CallSoFar, result: object = None, error: str | None = None) -> None:
        """How it came out."""
        call.result, call.error = result, error
        call.ran = call.ended = True
        call.ended_at = time()
        call.success = call_success(jsonable(result), raised=error is not None)

    def end_unread(self, call: CallSoFar) -> None:
        """It ended, and how was not seen."""
        call.ended, call.ended_at = True, time()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(map(_build_call, self._calls))


def _build_call(call: CallSoFar) -> ToolCall:
    result = jsonable(call.result)
    return ToolCall(
        call.name,
        jsonable(arguments_of(call)),
        id=call.id,
        started=call.ran,
        result=result,
        error=call.error,
        success=call.success,
        missing_fields=missing_fields(parse_result(result)),
        started_at=call.started_at,
        ended_at=call.ended_at if call.ran else None,
        unfinished=not call.ran,
        parent=call.parent,
    )


def arguments_of(call: CallSoFar) -> object:
    """Arguments that came as text are what the text says, where it says anything."""
    text = "".join(call.pieces) if call.pieces is not None else call.arguments
    if not isinstance(text, str):
        return text
    if not text.strip():
        return {} if call.pieces is not None else None
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return loads(text)
    except ValueError:
        return text


def arguments_text(call: CallSoFar) -> str:
    """Its arguments as JSON, as they came where they came so."""
    if call.pieces is not None:
        return "".join(call.pieces) or "{}"
    return msgspec.json.encode(jsonable(call.arguments)).decode()
