"""The tool calls of an answer or a stream, as the paths of a configuration find them."""

from __future__ import annotations

from carob.suites.diagnostics import Json
from carob.targets.http.conversation import TurnBuffer
from carob.targets.http.jsonpath import JsonPath, words
from carob.targets.http.tool_call_log import CallSoFar
from carob.text.tool_results import shows_failure
from carob.text.wording import shorten, visible

CallPaths = dict[str, JsonPath | None]
"""Where a call has what: `name`, `arguments`, `result`, `error` and `id`."""
NOT_YET = (None, "")
"""What a stream has in the place of what comes later."""
UNSAID = "the service reports that the call failed, but not why"


class CallReader:
    """Reads what each place says of a call into the log of the turn."""

    def __init__(self, buffer: TurnBuffer, streaming: bool) -> None:
        self._call_log = buffer.call_log
        self._buffer = buffer
        self._streaming = streaming
        self.unclear = ""
        """Why the calls that were read are not all that were made; empty: nothing says so."""

    def read(self, item: Json, paths: CallPaths) -> None:
        """A call: its name alone, or an object that says of it what is known by now."""
        if isinstance(item, str):
            self._call_log.begin(item)
            return
        if item is None:
            return
        fields = {name: path.first(item) if path else None for name, path in paths.items()}
        earlier = self._call_log.find(_id(fields["id"]))
        name = fields["name"] or (earlier.name if earlier is not None else "")
        if not isinstance(name, str) or not name:
            self.unclear = f"a tool call has no name in it: {_excerpt(item)}"
            return
        call = self._find_started_call(name, fields)
        if self._is_over(item, fields, paths):
            self._close(call, fields["result"], fields["error"], item)

    def start(self, item: Json, ids: list[str], paths: CallPaths, event: Json) -> None:
        """A call that begins with this event, and ends with it where it has a result."""
        fields = {name: path.first(item) if path else None for name, path in paths.items()}
        if not isinstance(fields["name"], str) or not fields["name"]:
            self.unclear = f"a tool call has no name in it: {_excerpt(item)}"
            return
        call = self._call_log.find(ids[0] if ids else None)
        if call is None or call.ended or call.name != fields["name"]:
            call = self._call_log.begin(fields["name"], None, fields["arguments"])
            call.id = ids[0] if ids else None
        elif fields["arguments"] not in NOT_YET:
            call.arguments = fields["arguments"]
        self._call_log.rename(call, ids)
        if fields["result"] not in NOT_YET or has_error(fields["error"]):
            self._close(call, fields["result"], fields["error"], item, event)

    def add_arguments(self, item: Json, ids: list[str], paths: CallPaths, event: Json) -> None:
        """A piece of the arguments of a call, or all of them."""
        path = paths["arguments"]
        values = path.all(item) if path is not None else []
        waiting = self._call_log.open_calls
        call = self._call_log.find(ids[0]) if ids else waiting[-1] if waiting else None
        if not values:
            return
        if call is None:
            self.unclear = f"there are arguments for a call that was not seen: {_excerpt(item)}"
        elif isinstance(values[0], str):
            call.add_piece(values[0])
        else:
            call.arguments = values[0]

    def end(self, item: Json, ids: list[str], paths: CallPaths, event: Json, *, failed: bool = False) -> None:
        """The end of a call, which is found by its id, by its name, or as the only one that has not ended."""
        call = self._find_ended_call(item, ids, paths)
        if call is None:
            return
        error = paths["error"].first(item) if paths["error"] else None
        results = paths["result"].all(item) if paths["result"] else []
        if results or has_error(error):
            self._close(call, results[0] if results else None, error, item, event, failed=failed)
        elif failed or _says_failed(item) or _says_failed(event):
            self._close(call, None, UNSAID)
        else:
            self._call_log.end_unread(call)
            self._buffer.no_results = (
                f"an event that ends a call has neither `result` nor `error` at the configured paths: {_excerpt(item)}"
            )

    def _close(self, call: CallSoFar, result: Json, error: Json, *around: Json, failed: bool = False) -> None:
        """End a call. What is next to its result may say that it failed: `success`, `isError`, a status."""
        self._call_log.end(call, result, _error(error))
        if failed or any(map(_says_failed, around)):
            call.success = False

    def _find_ended_call(self, item: Json, ids: list[str], paths: CallPaths) -> CallSoFar | None:
        name = paths["name"].first(item) if paths["name"] else None
        earlier = self._call_log.find(ids[0]) if ids else None
        if earlier is not None:
            return earlier
        if isinstance(name, str) and name:
            waiting = self._call_log.waiting(name)
            return waiting if waiting is not None else self._call_log.begin(name, ids[0] if ids else None)
        waiting_calls = self._call_log.open_calls
        if not ids and len(waiting_calls) == 1:
            return waiting_calls[0]
        self.unclear = f"a result belongs to no call that was seen: {_excerpt(item)}"
        return None

    def _is_over(self, item: Json, fields: dict[str, Json], paths: CallPaths) -> bool:
        """Whether an item reports the end of its call: in a stream, a result of null may still come."""
        if fields["result"] is not None or has_error(fields["error"]):
            return True
        result = paths["result"]
        return not self._streaming and result is not None and bool(result.all(item))

    def _find_started_call(self, name: str, fields: dict[str, Json]) -> CallSoFar:
        """The call that an item reports: one that began before, where its id or its result says so."""
        id = _id(fields["id"])
        if id is None and self._streaming and fields["result"] is not None:
            waiting = self._call_log.waiting(name)
            if waiting is not None:
                waiting.arguments = waiting.arguments if fields["arguments"] is None else fields["arguments"]
                return waiting
        return self._call_log.begin(name, id, fields["arguments"])


def _id(value: Json) -> str | None:
    return None if value is None else words([value])


def _error(value: Json) -> str | None:
    return words([value]) if has_error(value) else None


def has_error(value: Json) -> bool:
    """Whether what an error path finds is one: services also write null, false, `none` or an empty list there."""
    return value is not None and shows_failure({"error": value})


def _says_failed(item: Json) -> bool:
    """Whether an object has a sign of failure of its own; what it holds in turn is read as a result, if it is one."""
    plain = (
        {key: value for key, value in item.items() if not isinstance(value, dict | list)}
        if isinstance(item, dict)
        else {}
    )
    return shows_failure(plain)


def _excerpt(item: Json) -> str:
    return visible(shorten(words([item]), 200))
