"""The data stream of the AI SDK before version 5: lines of a code and JSON, `0:"Hel"`."""

from __future__ import annotations

from typing import cast

from carob.model.trace import Tokens
from carob.providers.base import read_ending
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.http.conversation import TurnBuffer
from carob.targets.http.streams import EventKinds, as_table, event_json, protocol_error
from carob.text.wording import shorten, visible

TEXT, ERROR, CALL, RESULT, CALL_BEGINS, CALL_PIECE, FINISH, STEP_ENDS = "0", "3", "9", "a", "b", "c", "d", "e"
CODES = frozenset("0123456789abcdefghijk")


class DataStreamReader:
    """The lines of one message; the text of the last step that has any is the answer."""

    def __init__(self, buffer: TurnBuffer) -> None:
        self._buffer = buffer
        self._step = 0
        self._finished = False
        self._error = ""
        self._kinds = EventKinds("of the AI SDK's data stream")

    def read_whole(self, value: Json) -> None:
        raise protocol_error("the answer is not a data stream of the AI SDK")

    def take(self, event: ServerEvent) -> bool:
        code = event.name or ""
        self._kinds.note(code or event.data, fits=code in CODES)
        if code not in CODES:
            raise self._kinds.protocol_error or TargetError("bad-answer", f"no line of the data stream: {code!r}")
        value = event_json(event, "line of the data stream")
        if code == TEXT:
            self._buffer.say(str(value), str(self._step))
        elif code == ERROR:
            self._error = str(value)
        else:
            self._take_table(code, as_table(value))
        return False

    def end(self) -> None:
        if self._error:
            raise TargetError("agent", f"the stream has an error: {visible(shorten(self._error, 300))}")
        if not self._finished:
            raise self._kinds.end_error("the stream ended without its last line, `d:`")
        self._buffer.check("the message")

    def _take_table(self, code: str, value: dict[str, Json]) -> None:
        log, id = self._buffer.call_log, str(value.get("toolCallId"))
        if code in (CALL, CALL_BEGINS):
            log.begin(str(value.get("toolName")), id, value.get("args"))
        elif code == CALL_PIECE:
            log.more(id, str(value.get("argsTextDelta", "")))
        elif code == RESULT and (call := log.find(id)) is not None:
            log.end(call, value.get("result"))
        elif code == STEP_ENDS:
            self._step += 1
        elif code == FINISH:
            self._finish(value)

    def _finish(self, value: dict[str, Json]) -> None:
        self._finished = True
        reason, usage = str(value.get("finishReason") or ""), as_table(value.get("usage"))
        self._buffer.ended_by = read_ending(reason)
        if reason == "error":
            self._error = self._error or "it finished with the reason `error`"
        counts = [usage.get(name) for name in ("promptTokens", "completionTokens")]
        if all(isinstance(count, int) for count in counts):
            self._buffer.spend(Tokens(*cast("list[int]", counts)))
