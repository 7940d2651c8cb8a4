"""What a tape does with a request: answer it from a recording, or have it answered and record that."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
from msgspec import Struct, field, structs

from karat.journal.redaction import Redactor
from karat.options import TapeMode
from karat.providers.base import read_events
from karat.providers.catalog import find_api
from karat.proxy.tape.file import Answer, EntryOffset, Exchange, Recording, StreamEvent, Tape
from karat.proxy.tape.requests import IgnoreRules, RequestDifference, ServiceRequest, first_difference
from karat.text.wording import pluralize

VARIES = "If it differs in every run, add it to `ignore` in [tape]."
_NUMBERED = re.compile(r"\w*\d\w*")
"""What dates, times and ids are made of."""


class Miss(Struct, frozen=True):
    """A request that no recording answers."""

    request: ServiceRequest
    number: int
    """Of the requests of the case, from 1."""
    cause: str
    """What is the same for all cases that miss for this reason."""
    detail: str = ""


class CaseOnTape(Struct, kw_only=True):
    """One run of a case: what is recorded of it, what of that is still unused, and what was requested."""

    case: str
    repeat: int
    recorded: tuple[Exchange, ...] | None
    """None: the case is not on the tape."""
    unused: list[tuple[str, Exchange]] = field(default_factory=list)
    """What can still be used, by its key."""
    entries: list[EntryOffset] = field(default_factory=list)
    """What the case is to have on the tape, in order."""
    requests: int = 0
    misses: list[Miss] = field(default_factory=list)


class TapePlayer:
    """Plays and records one tape. Requests of one case come one after the other or side by side, from any thread."""

    def __init__(
        self, tape: Tape, mode: TapeMode, ignore_rules: IgnoreRules, redactor: Redactor, *, keep_failures: bool = False
    ) -> None:
        self.tape = tape
        self.mode = mode
        self._ignore_rules = ignore_rules
        self._redactor = redactor
        self._keep_failures = keep_failures
        self._lock = threading.Lock()
        self._recording: Recording | None = None

    def open(self) -> None:
        """Start to record, where that is wanted. Raises ConfigError if the tape cannot be written."""
        if self.records:
            self._recording = Recording(self.tape)
        if self.mode == "record":
            self.tape.runs.clear()  # nothing is answered from it, and the recording has it

    @property
    def records(self) -> bool:
        return self.mode in ("record", "extend")

    def begin(self, case: str, repeat: int) -> CaseOnTape:
        """A run of a case starts: every recording of it can be used once."""
        recorded = self.tape.runs.get((case, repeat))
        usable = () if self.mode == "record" else recorded or ()
        unused = [(exchange.request.key(self._ignore_rules), exchange) for exchange in usable]
        return CaseOnTape(
            case=case, repeat=repeat, recorded=None if recorded is None else tuple(recorded), unused=unused
        )

    def end(self, case: CaseOnTape) -> None:
        """A run of a case is over: keep what was recorded of it."""
        if self._recording is not None:
            with self._lock:
                self._recording.end(case.case, case.repeat, case.entries)

    def close(self) -> None:
        if self._recording is not None:
            with self._lock:
                self._recording.close()

    def read(self, service: str, method: str, address: str, content_type: str, body: bytes) -> ServiceRequest:
        """A request without its secrets."""
        request = ServiceRequest.of(service, method, address, content_type, body)
        redactor = self._redactor
        if not redactor.finds(msgspec.json.encode([request.path, request.json, request.text])):
            return request
        return structs.replace(
            request,
            path=redactor.text(request.path),
            json=redactor.redact(request.json),
            text=redactor.text(request.text),
        )

    def answer(self, request: ServiceRequest, case: CaseOnTape) -> Answer | None:
        """The recorded answer; None: it is missing, which counts as a miss unless it is recorded now."""
        with self._lock:
            case.requests += 1
            match = self._find(request, case)
            if match is None:
                if not self.records:
                    case.misses.append(_miss(request, case, self._ignore_rules))
                return None
            case.unused.remove(match)
            if self._recording is not None:
                case.entries.append(self._recording.add(match[1]))
            return match[1].answer

    def record(self, request: ServiceRequest, answer: Answer, case: CaseOnTape) -> None:
        """Keep an exchange; a failure only on request, since the next attempt may succeed with the same request."""
        if self._recording is None:
            return
        if answer.status >= 400 and not self._keep_failures:
            return
        answer = self._without_secrets(answer, request.path)
        day = datetime.now(UTC).date().isoformat()
        exchange = Exchange(case=case.case, repeat=case.repeat, request=request, answer=answer, recorded=day)
        with self._lock:
            case.entries.append(self._recording.add(exchange))

    def _without_secrets(self, answer: Answer, path: str) -> Answer:
        redactor, api = self._redactor, find_api(path)
        if answer.events and api is not None:
            message = api.join(read_events([event.data for event in answer.events]))
            cleaned = redactor.redact(message) if redactor.finds(msgspec.json.encode(message)) else message
            if isinstance(cleaned, dict) and cleaned != message:  # in pieces, a secret is in none of the events
                events = tuple(StreamEvent(0, event) for event in api.write_stream(cleaned))
                answer = structs.replace(answer, events=events)
        if not redactor.finds(msgspec.json.encode([answer.json, answer.text, answer.events])):
            return answer
        return structs.replace(
            answer,
            json=redactor.redact(answer.json),
            text=redactor.text(answer.text),
            events=tuple(structs.replace(event, data=redactor.text(event.data)) for event in answer.events),
        )

    def _find(self, request: ServiceRequest, case: CaseOnTape) -> tuple[str, Exchange] | None:
        if self.mode == "follow":
            return next((entry for entry in case.unused if entry[1].request.service == request.service), None)
        key = request.key(self._ignore_rules) if case.unused else ""
        return next((entry for entry in case.unused if entry[0] == key), None)


def _miss(request: ServiceRequest, case: CaseOnTape, ignore_rules: IgnoreRules) -> Miss:
    number = case.requests
    if case.recorded is None:
        return Miss(request, number, "the case is not on the tape")
    if not case.recorded:
        return Miss(request, number, "the case sent no requests when it was recorded")
    key = request.key(ignore_rules)
    if count := sum(exchange.request.key(ignore_rules) == key for exchange in case.recorded):
        times = pluralize(count, "time")
        return Miss(request, number, f"the request was sent more often than it was recorded ({times})")
    nearest = _find_nearest(request, [exchange for _, exchange in case.unused] or case.recorded)
    if nearest is None:
        return Miss(request, number, f"no request of {request.title} was recorded")
    difference = first_difference(nearest.request.compared_part(ignore_rules), request.compared_part(ignore_rules))
    if difference is None:
        difference = RequestDifference("the address", nearest.request.title, request.title)
    detail = f"recorded: {difference.recorded}\nasked:    {difference.actual}"
    varies = _NUMBERED.sub("", difference.recorded) == _NUMBERED.sub("", difference.actual)
    return Miss(request, number, _cause(difference, request), f"{detail}\n{VARIES}" if varies else detail)


def _cause(difference: RequestDifference, request: ServiceRequest) -> str:
    role = ""
    with suppress(ValueError, IndexError, KeyError, TypeError, AttributeError):  # a body of another shape
        index = difference.path.partition("[")[2].partition("]")[0]
        role = str(request.messages[int(index)].get("role", ""))  # type: ignore[attr-defined]  # checked by the line above
    return f"{difference.path} changed" + (f" (the {role} message)" if role else "")


def _find_nearest(request: ServiceRequest, recorded: Iterable[Exchange]) -> Exchange | None:
    """The recording with the most messages in common, of those with the same address."""

    def common(exchange: Exchange) -> int:
        messages = exchange.request.messages
        matching = sum(a == b for a, b in zip(messages, request.messages, strict=False))
        return 2 * matching - abs(len(messages) - len(request.messages))

    alike = [exchange for exchange in recorded if exchange.request.service == request.service]
    address = (request.method, request.path)
    same_path = [exchange for exchange in alike if (exchange.request.method, exchange.request.path) == address]
    return max(same_path or alike, key=common, default=None)
