"""What a tape does with a request: answer it from a recording, or have it answered and record that."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
from msgspec import Struct, field, structs

from karat.evidence.models.apis import find_api
from karat.evidence.models.streams import read_events
from karat.journal.redaction import Redactor
from karat.options import TapeMode
from karat.proxy.model_replies import split
from karat.proxy.recording import EntryOffset, Recording
from karat.proxy.tape.file import Answer, Exchange, StreamEvent, Tape
from karat.proxy.tape.requests import IgnoreRules, RequestDifference, ServiceRequest, first_difference
from karat.text.wording import pluralize

VARIES = "If it differs in every run, add it to `ignore` in [tape]."
_NUMBERED = re.compile(r"\w*\d\w*")
"""What dates, times and ids are made of."""


class Miss(Struct, frozen=True):
    """A request that no recording answers."""

    request: ServiceRequest
    number: int
    """Of the requests of the case."""
    cause: str
    """What is the same for all cases that miss for this reason."""
    detail: str = ""


class CaseOnTape(Struct, kw_only=True):
    """One run of a case: what is recorded of it, what is left of that, and what came."""

    case: str
    repeat: int
    recorded: tuple[Exchange, ...] | None
    """None: the case is not on the tape."""
    left: list[tuple[str, Exchange]] = field(default_factory=list)
    """What can still be used, by its key."""
    made: list[EntryOffset] = field(default_factory=list)
    """What the case is to have on the tape, in order."""
    asked: int = 0
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
        """Begin to record, where that is wanted. Raises ConfigError if the tape cannot be written."""
        if self.records:
            self._recording = Recording(self.tape)
        if self.mode == "record":
            self.tape.runs.clear()  # nothing is answered from it, and the recording has it

    @property
    def records(self) -> bool:
        return self.mode in ("record", "extend")

    def begin(self, case: str, repeat: int) -> CaseOnTape:
        """A run of a case begins: every recording of it can be used once."""
        found = self.tape.runs.get((case, repeat))
        left = [] if self.mode == "record" else [(one.request.key(self._ignore_rules), one) for one in found or ()]
        return CaseOnTape(case=case, repeat=repeat, recorded=None if found is None else tuple(found), left=left)

    def end(self, case: CaseOnTape) -> None:
        """A run of a case is over: keep what was recorded of it."""
        if self._recording is not None:
            with self._lock:
                self._recording.end(case.case, case.repeat, case.made)

    def close(self) -> None:
        if self._recording is not None:
            with self._lock:
                self._recording.close()

    def read(self, service: str, method: str, address: str, content_type: str, body: bytes) -> ServiceRequest:
        """A request without its secrets."""
        asked = ServiceRequest.of(service, method, address, content_type, body)
        redactor = self._redactor
        if not redactor.finds(msgspec.json.encode([asked.path, asked.json, asked.text])):
            return asked
        return structs.replace(
            asked, path=redactor.text(asked.path), json=redactor.json(asked.json), text=redactor.text(asked.text)
        )

    def answer(self, request: ServiceRequest, case: CaseOnTape) -> Answer | None:
        """The recorded answer; None: it is missing, which counts as a miss unless it is recorded now."""
        with self._lock:
            case.asked += 1
            found = self._find(request, case)
            if found is None:
                if not self.records:
                    case.misses.append(_miss(request, case, self._ignore_rules))
                return None
            case.left.remove(found)
            if self._recording is not None:
                case.made.append(self._recording.add(found[1]))
            return found[1].answer

    def record(self, request: ServiceRequest, answer: Answer, case: CaseOnTape) -> None:
        """Keep an exchange; a failure only on request, since the next attempt may succeed with the same request."""
        if self._recording is None:
            return
        if answer.status >= 400 and not self._keep_failures:
            return
        kept = self._without_secrets(answer, request.path)
        day = datetime.now(UTC).date().isoformat()
        one = Exchange(case=case.case, repeat=case.repeat, request=request, answer=kept, recorded=day)
        with self._lock:
            case.made.append(self._recording.add(one))

    def _without_secrets(self, answer: Answer, path: str) -> Answer:
        redactor, api = self._redactor, find_api(path)
        if answer.events and api is not None:
            whole = api.join(read_events([one.data for one in answer.events]))
            cleaned = redactor.json(whole) if redactor.finds(msgspec.json.encode(whole)) else whole
            if isinstance(cleaned, dict) and cleaned != whole:  # in pieces, a secret is in none of the events
                events = tuple(StreamEvent(0, event) for event in split(api.name, cleaned))
                answer = structs.replace(answer, events=events)
        if not redactor.finds(msgspec.json.encode([answer.json, answer.text, answer.events])):
            return answer
        return structs.replace(
            answer,
            json=redactor.json(answer.json),
            text=redactor.text(answer.text),
            events=tuple(structs.replace(one, data=redactor.text(one.data)) for one in answer.events),
        )

    def _find(self, request: ServiceRequest, case: CaseOnTape) -> tuple[str, Exchange] | None:
        if self.mode == "follow":
            return next((one for one in case.left if one[1].request.service == request.service), None)
        key = request.key(self._ignore_rules) if case.left else ""
        return next((one for one in case.left if one[0] == key), None)


def _miss(request: ServiceRequest, case: CaseOnTape, ignore_rules: IgnoreRules) -> Miss:
    number = case.asked
    if case.recorded is None:
        return Miss(request, number, "the case is not on the tape")
    if not case.recorded:
        return Miss(request, number, "the case sent no requests when it was recorded")
    if same := sum(one.request.key(ignore_rules) == request.key(ignore_rules) for one in case.recorded):
        return Miss(
            request, number, f"the request was sent more often than it was recorded ({pluralize(same, 'time')})"
        )
    near = _find_nearest(request, [one for _, one in case.left] or case.recorded)
    if near is None:
        return Miss(request, number, f"no request of {request.title} was recorded")
    found = first_difference(near.request.compared_part(ignore_rules), request.compared_part(ignore_rules))
    if found is None:
        found = RequestDifference("the address", near.request.title, request.title)
    detail = f"recorded: {found.recorded}\nasked:    {found.asked}"
    varies = _NUMBERED.sub("", found.recorded) == _NUMBERED.sub("", found.asked)
    return Miss(request, number, _cause(found, request), f"{detail}\n{VARIES}" if varies else detail)


def _cause(found: RequestDifference, request: ServiceRequest) -> str:
    role = ""
    with suppress(ValueError, IndexError, KeyError, TypeError, AttributeError):  # a body of another shape
        place = found.path.partition("[")[2].partition("]")[0]
        role = str(request.messages[int(place)].get("role", ""))  # type: ignore[attr-defined]  # checked by the line above
    return f"{found.path} changed" + (f" (the {role} message)" if role else "")


def _find_nearest(request: ServiceRequest, recorded: Iterable[Exchange]) -> Exchange | None:
    """The recording with the most messages in common, of those with the same address."""

    def common(one: Exchange) -> int:
        pairs = zip(one.request.messages, request.messages, strict=False)
        same = sum(a == b for a, b in pairs)
        return 2 * same - abs(len(one.request.messages) - len(request.messages))

    alike = [one for one in recorded if one.request.service == request.service]
    same_path = [one for one in alike if (one.request.method, one.request.path) == (request.method, request.path)]
    return max(same_path or alike, key=common, default=None)
