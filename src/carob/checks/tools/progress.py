"""Whether an agent got on: calls that bring nothing new are a loop."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, Struct

from carob.checks.base import ToolCheck, out_of_reach, own_field, read_with
from carob.checks.sample_traces import UNSEEN_TOOLS, performs
from carob.checks.tools.names import describe_calls, why_unseen
from carob.matchers.values import normalize_value
from carob.model.check import Example
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.text.tool_names import plain_name
from carob.text.tool_results import parse_result


def poll_until(*results: object) -> Trace:
    return performs(*(ToolCall("status", {"job": 1}, success=True, result=result) for result in results))


def look_up(*arguments: object) -> Trace:
    return performs(*(ToolCall("find", {"order": each}, success=True, result="none") for each in arguments))


class NoProgress(ToolCheck, Struct, frozen=True):
    """No call was made so many times with the same result, and not so many calls in a row brought no new result."""

    name: ClassVar = "no_progress"
    description_format: ClassVar = "fewer than {self.limit} calls without progress"
    failure: ClassVar = ("fewer than ", "made at least ")
    prohibits: ClassVar = True
    field: ClassVar = own_field(
        Annotated[int, Meta(ge=2)],
        "Fails where the same call gave the same result this many times, or this many calls in a row brought no result "
        "that was not there before.",
        in_defaults="smaller",
    )
    examples: ClassVar = (
        Example({"limit": 3}, poll_until("pending", "pending", "done"), Status.PASSED),
        Example({"limit": 3}, poll_until("pending", "pending", "pending"), Status.FAILED),
        Example({"limit": 3}, poll_until({"n": 1}, {"n": 2}, {"n": 1.0}, {"n": 1}), Status.FAILED),
        Example({"limit": 3}, look_up(1, 2, 3), Status.PASSED),
        Example({"limit": 3}, look_up(1, 2, 3, 4), Status.FAILED),
        Example({"limit": 3}, poll_until("pending", None, "pending"), Status.UNKNOWN),
        Example({"limit": 3}, poll_until("pending"), Status.PASSED),
        Example({"limit": 3}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    limit: int

    read = read_with("limit")

    @property
    def why_always_passes(self) -> str:
        return out_of_reach(self.limit, 1000, "a thousand calls without progress")

    def judge(self, trace: Trace) -> CheckResult:
        sure, possible = _Tally(), _Tally()
        doubt = ""
        for index, call in enumerate(trace.tool_calls):
            if not call.called or call.kind != "tool":
                continue
            request = _key(plain_name(call.name), parse_result(call.arguments)) if call.arguments is not None else b""
            is_seen = call.result is not None or call.error is not None
            result = _key(parse_result(call.result), call.error) if is_seen else b""
            if request and result and (wrong := sure.add(request, result, self.limit)):
                return self.failed(f"{call.name}: {wrong}", EvidenceLocation("tool_calls", index=index))
            if not (request and result):
                sure.skip(result)
            if wrong := possible.add_possible(request, result, self.limit):
                doubt = doubt or f"{call.name}: {wrong}, if what was not seen of the calls is the same"
        return self.passed_unless(doubt or why_unseen(trace), describe_calls(trace))


class _Tally:
    """How often each request gave each result, and how many calls in a row brought none that was new."""

    def __init__(self) -> None:
        self.repeats: dict[tuple[bytes, bytes], int] = {}
        self.most: dict[bytes, int] = {}
        """The most repeats of one result, by the request."""
        self.unseen: dict[bytes, int] = {}
        """Calls whose result was not seen, by the request; under the empty one those without that either."""
        self.results: set[bytes] = set()
        self.stale = 0

    def add(self, request: bytes, result: bytes, limit: int) -> str:
        """Count a call that was seen; what is wrong once the limit is reached."""
        count = self.repeats[request, result] = self.repeats.get((request, result), 0) + 1
        self.most[request] = max(count, self.most.get(request, 0))
        self.stale = self.stale + 1 if result in self.results else 0
        self.results.add(result)
        return self._why(count, limit)

    def skip(self, result: bytes) -> None:
        """A call that may have brought something new."""
        self.stale = 0
        self.results |= {result} if result else set()

    def add_possible(self, request: bytes, result: bytes, limit: int) -> str:
        """Count a call as if what was not seen, of it and of those before it, were the same."""
        may_be_old = bool(self.results or self.unseen)
        stale = self.stale + 1 if may_be_old and (self.unseen or not result or result in self.results) else 0
        if request and result:
            self.add(request, result, limit)
        else:
            self.unseen[request] = self.unseen.get(request, 0) + 1
            self.results |= {result} if result else set()
        self.stale = stale
        of_any = self.unseen.get(b"", 0)
        others = self.most.get(request, 0) if request else max(self.most.values(), default=0)
        return self._why(others + of_any + (self.unseen.get(request, 0) if request else 0), limit)

    def _why(self, count: int, limit: int) -> str:
        if count >= limit:
            return f"{count} equal calls gave the same result"
        return f"{self.stale} calls in a row brought no new result" if self.stale >= limit else ""


def _key(*parts: object) -> bytes:
    return msgspec.json.encode([*map(normalize_value, parts)], order="deterministic", enc_hook=str)
