"""What a tape does with a request: answer it from a recording, or have it answered and record that."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from msgspec import Struct, field

from carob.options import TapeMode
from carob.providers.messages import SYSTEM
from carob.proxy.tape.file import Answer, EntryOffset, Exchange, Recording, Tape, UnsavedTapeError
from carob.proxy.tape.requests import IgnoreRules, RequestDifference, ServiceRequest, first_difference
from carob.proxy.tape.secrets import SecretKeeper
from carob.proxy.tape.settings import MODELS
from carob.text.wording import pluralize

VARIES = "If it differs in every run, add it to `ignore` in [tape]."
_MAY_PASS = frozenset({408, 425, 429})
"""Statuses, besides those of 500 and above, that say nothing of the request: the same one may succeed later."""
_NO_ENTRY = frozenset({401, 403})
"""Those by which a model refuses whoever asks; of another service they may be what a case is about."""
SHARED = (
    "The agent continues a conversation of another case: let it begin one for each conversation id that it is sent, "
    "and send it (`{conversation.id}`)"
)
_MESSAGE = re.compile(r"\$\.(?:messages|input|contents)\[(\d+)\]")
_SYSTEM = re.compile(r"\$\.(?:system_?[iI]nstruction|system|instructions)\b")
_COUNTED = re.compile(r"\d+ items")
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
    advice: str = "Record it with `--tape extend`, or follow the old answers with `--tape follow`"
    """What fixes it."""


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
    failures: dict[str, str] = field(default_factory=dict)
    """Requests that have no answer to be kept, by their key, and why: none of equal ones was answered since."""


class TapePlayer:
    """Plays and records one tape. Requests of one case come one after the other or side by side, from any thread."""

    def __init__(
        self,
        tape: Tape,
        mode: TapeMode,
        ignore_rules: IgnoreRules,
        secrets: SecretKeeper,
        *,
        keep_failures: bool = False,
    ) -> None:
        self.tape = tape
        self.mode = mode
        self.secrets = secrets
        self._ignore_rules = ignore_rules
        self._keep_failures = keep_failures
        self._lock = threading.Lock()
        self._recording: Recording | None = None
        self._held: set[tuple[str, int]] = set()
        """What of the tape has recordings, where they are not kept in memory."""

    def open(self) -> None:
        """Start to record, where that is wanted. Raises ConfigError if the tape cannot be written."""
        if self.records:
            self._recording = Recording(self.tape, self.secrets)
        self._held = {run for run, exchanges in self.tape.runs.items() if exchanges}
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

    def was_recorded(self, case: CaseOnTape) -> bool:
        """Whether the tape has something of this run of a case."""
        return (case.case, case.repeat) in self._held

    def end(self, case: CaseOnTape) -> str:
        """A run of a case is over: keep what was recorded of it. Why not, if a request of it has no answer."""
        if self._recording is None:
            return ""
        with self._lock:
            if case.failures:
                return next(iter(case.failures.values()))
            self._recording.end(case.case, case.repeat, case.entries)
        return ""

    def close(self) -> None:
        if self._recording is not None:
            with self._lock:
                self._recording.close()

    def read(self, service: str, method: str, address: str, headers: Mapping[str, str], body: bytes) -> ServiceRequest:
        """A request without its secrets, of which it may bring new ones."""
        request = ServiceRequest.of(service, method, address, headers.get("content-type", ""), body)
        self.secrets.learn(headers, address, request)
        return self.secrets.clean_request(request)

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
            self._keep(match[1], case)
            return match[1].answer

    def record(self, request: ServiceRequest, answer: Answer, case: CaseOnTape, *, was_closed: bool = False) -> None:
        """Keep an exchange; a failure only on request, since the next attempt may succeed with the same request.

        `was_closed`: the agent itself ended a stream that is cut.
        """
        if self._recording is None:
            return
        if not self._keep_failures and (failure := _failure(request, answer, was_closed=was_closed)):
            self.fail(request, failure, case)
            return
        day = datetime.now(UTC).date().isoformat()
        exchange = Exchange(case=case.case, repeat=case.repeat, request=request, answer=answer, recorded=day)
        with self._lock:
            case.failures.pop(request.key(self._ignore_rules), None)
            self._keep(exchange, case)

    def fail(self, request: ServiceRequest, why: str, case: CaseOnTape) -> None:
        """A request was not answered: unless an equal one is, what was recorded of the case is not complete."""
        with self._lock:
            case.failures[request.key(self._ignore_rules)] = f"{request.title}: {why}"

    def _keep(self, exchange: Exchange, case: CaseOnTape) -> None:
        if self._recording is None:
            return
        try:
            case.entries.append(self._recording.add(exchange))
        except UnsavedTapeError as error:
            case.failures[""] = error.message

    def _find(self, request: ServiceRequest, case: CaseOnTape) -> tuple[str, Exchange] | None:
        if self.mode == "follow":
            return next((entry for entry in case.unused if entry[1].request.service == request.service), None)
        key = request.key(self._ignore_rules) if case.unused else ""
        return next((entry for entry in case.unused if entry[0] == key), None)


def _failure(request: ServiceRequest, answer: Answer, *, was_closed: bool) -> str:
    """Why an answer is not one to be played; the empty string if it is."""
    status = answer.status
    if status in _MAY_PASS or status >= 500 or (status in _NO_ENTRY and request.service in MODELS):
        return f"the answer was {status}"
    return "the answer broke off" if answer.cut and not was_closed else ""


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
    if older := _count_older(nearest.request, request):
        cause = f"the request has {pluralize(older, 'message')} more before those that were recorded"
        return Miss(request, number, cause, advice=SHARED)
    difference = first_difference(nearest.request.compared_part(ignore_rules), request.compared_part(ignore_rules))
    if difference is None:
        difference = RequestDifference("the address", nearest.request.title, request.title)
    detail = f"recorded: {difference.recorded}\nasked:    {difference.actual}"
    is_text = not _COUNTED.fullmatch(difference.recorded)
    varies = is_text and _NUMBERED.sub("", difference.recorded) == _NUMBERED.sub("", difference.actual)
    return Miss(request, number, _cause(difference, request), f"{detail}\n{VARIES}" if varies else detail)


def _count_older(recorded: ServiceRequest, request: ServiceRequest) -> int:
    """How many messages a request has before the recorded ones, which are all there: those of another conversation."""
    asked, before = ([each for each in of.messages if not _is_system(each)] for of in (request, recorded))
    older = len(asked) - len(before)
    return older if before and older > 0 and asked[older:] == before else 0


def _is_system(message: object) -> bool:
    return isinstance(message, Mapping) and message.get("role") in SYSTEM


def _cause(difference: RequestDifference, request: ServiceRequest) -> str:
    place = _MESSAGE.match(difference.path)
    if place is None:
        return f"{difference.path} changed{' (the system message)' if _SYSTEM.match(difference.path) else ''}"
    message = request.messages[int(place[1])] if int(place[1]) < len(request.messages) else None
    role = message.get("role") if isinstance(message, Mapping) else None
    return f"{difference.path} changed" + (f" (the {role} message)" if isinstance(role, str) else "")


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
