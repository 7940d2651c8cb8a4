"""One guarded conversation: it hears what happens, and decides about each call before it is made.

Deciding about a call and counting it as possibly made is one step. Whatever goes wrong on the way refuses the call, if
a rule that can stop calls speaks of its tool.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar, overload

import msgspec

from carob.features.guard.decision import Decision, decide, refuse
from carob.features.guard.policy import GuardPolicy
from carob.model.trace import SERVER_MARK
from carob.plugins.features import load
from carob.rules.events import ConversationEvent, EventKind, Facts, read_full_name
from carob.rules.monitor import Monitor
from carob.text.clean import jsonable, to_json
from carob.text.tool_results import call_success
from carob.text.wording import error_text

T = TypeVar("T")
Ask = Callable[[Decision], bool]
"""Asks a person to approve a call."""

MOST_EVENTS: Final = 20_000
"""A longer conversation is no longer followed: its calls are refused."""
LARGEST_ARGUMENTS: Final = 1 << 20
LARGEST_RESULT: Final = 1 << 18
"""A larger result is read for signs of failure, and not kept."""
LARGEST_READ: Final = 1 << 24
"""Of a larger one it is not known whether the call succeeded."""
LONGEST_WORDS: Final = 1 << 16
MOST_APPROVALS: Final = 64
APPROVAL_SECONDS: Final = 3_600
NAMELESS: Final = "a tool without a name"
MARK: Final = "#"
"""Between the id that a call came with and the number that makes it its own."""
UNSEEN: Final = "the beginning of the conversation was not seen"
ENDED: Final = "the conversation is over"
TOO_LARGE: Final = "it is larger than what is kept of a result"


class EventLog(Protocol):
    """Where the events of a conversation are kept for several processes."""

    @contextmanager
    def writing(self, conversation: str, after: int) -> Iterator[list[ConversationEvent]]:
        """What others added after this event, while no one else may add any."""
        ...

    def append(self, conversation: str, event: ConversationEvent) -> None: ...


class DecisionLog(Protocol):
    """Where what was decided is written down."""

    def write(
        self, conversation: str, event: ConversationEvent | None = None, decision: Decision | None = None
    ) -> None: ...


class _Approval(NamedTuple):
    """What a person may approve: one call, for the rules that ask about it."""

    digest: str
    rules: frozenset[str]
    at: float


class GuardedConversation:
    """What happens in one conversation, and what may happen next. It may be used by several threads."""

    def __init__(
        self,
        policy: GuardPolicy,
        name: str,
        *,
        facts: Facts | None = None,
        log: EventLog | None = None,
        journal: DecisionLog | None = None,
        ask: Ask | None = None,
        is_new: bool = True,
        unseen: str = UNSEEN,
        asks_host: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`asks_host`: where a rule asks for a person, the host asks, and makes the call without asking again.

        `unseen`: why the beginning of a conversation that is not new is not known.
        """
        self.id = name
        self.policy = policy
        self.touched = time.monotonic()
        self._facts = facts
        self._log = log
        self._journal = journal
        self._ask = ask
        self._asks_host = asks_host
        self._clock = clock
        self._unseen = unseen
        self._lock = threading.RLock()
        self._depth = 0
        self._latest = 0.0
        self._approvals: dict[str, _Approval] = {}
        self._offered: dict[str, float] = {}
        """The calls that a person was asked about, by their digests, and when; also by another process."""
        self._broken = ""
        self._ended = ""
        self._monitor = Monitor(policy.contract, facts)
        if not is_new:
            with self._changing(is_new=False):
                pass

    def user(self, text: str) -> None:
        """The user said this. Only what the host itself knows to come from the user belongs here."""
        self._hear_words("user", text)

    def says(self, text: str) -> None:
        """The agent said this."""
        self._hear_words("says", text)

    def handoff(self, agent: str) -> None:
        """The conversation was handed over to another agent."""
        self._hear("handoff", tool=agent)

    def allow(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        call: str = "",
        message: str = "",
        parallel: bool | None = None,
        beside_words: bool | None = None,
        approval: str = "",
    ) -> Decision:
        """Decide about a call, and count it as one that may succeed if it is allowed. Report its result afterwards.

        `message` says which message of the model requested it: calls of one message are never evidence for each other.
        `approval` is what an earlier decision `ask` gave, and a person approved.
        """
        tool = _read_text(tool)
        if not tool.strip():
            return self._write_refusal(refuse(NAMELESS, None, "the call does not say the name of its tool", call))
        known: dict[str, Any] = {"message": message, "parallel": parallel, "beside_words": beside_words}
        try:
            frozen = freeze_arguments(arguments)
        except Exception as error:  # noqa: BLE001 - what cannot be read cannot be judged
            if self._is_named(tool):
                return self._refuse_undecided(tool, None, call, error_text(error))
            frozen = None  # rules may look back at the call all the same
        try:
            with self._changing():
                decision, event = self._decide(tool, frozen, call, known, approval)
                self._note(decision, event)
            return decision
        except Exception as error:  # noqa: BLE001 - whatever goes wrong must not open the door
            decision = self._refuse_undecided(tool, frozen, call, f"the guard failed: {error_text(error)}")
            if self._log is None or (decision and self.policy.concerns(tool)):
                self._broken = self._broken or f"an earlier call could not be kept: {error_text(error)}"
            return decision

    def ask(self, tool: str, arguments: Mapping[str, Any] | None = None, **about: Any) -> Decision:
        """The same, with the approval of a person where a rule asks for one and the guard knows whom to ask."""
        decision = self.allow(tool, arguments, **about)
        if decision.verdict != "ask" or self._ask is None:
            return decision
        try:
            is_approved = self._ask(decision) is True
        except Exception as error:  # noqa: BLE001 - it is the host's code
            return self._refuse_undecided(
                tool, decision.arguments, decision.call, f"asking failed: {error_text(error)}"
            )
        if not is_approved:
            self._hear("denied", tool=tool, arguments=decision.arguments)
            return decision
        return self.allow(tool, decision.arguments, **{**about, "approval": decision.approval})

    def report(
        self,
        decision: Decision | str,
        result: object = None,
        *,
        success: bool | None = None,
        call: tuple[str, Any] | None = None,
    ) -> None:
        """The call gave this result. Without `success`, its signs of failure decide, as everywhere in Carob.

        `call` is its tool and arguments, where a host says them once more: one that was never asked about counts too.
        """
        encoded = _encode(result)
        is_readable = len(encoded) <= LARGEST_READ
        value = msgspec.json.decode(encoded) if is_readable else None
        succeeded = call_success(value, claimed=success) if is_readable or success is False else None
        if len(encoded) > LARGEST_RESULT:
            self._hear("result", of=decision, ran=call, success=succeeded, doubt=TOO_LARGE)
        else:
            self._hear("result", of=decision, ran=call, result=value, success=succeeded)

    def report_error(self, decision: Decision | str, error: object, *, call: tuple[str, Any] | None = None) -> None:
        """The call failed with this error."""
        words = error_text(error) if isinstance(error, BaseException) else _cut(str(jsonable(error)))
        self._hear("result", of=decision, ran=call, success=False, error=words)

    def report_cancelled(self, decision: Decision | str) -> None:
        """The call was not made after all."""
        self._hear("cancelled", of=decision, started=False)

    @overload
    def tool(self, function: T, *, name: str = "", strict: bool = False) -> T: ...

    @overload
    def tool(self, *, name: str = "", strict: bool = False) -> Callable[[T], T]: ...

    def tool(self, function: Any = None, *, name: str = "", strict: bool = False) -> Any:
        """The function as a tool of this conversation: it runs if its call is allowed, else CallRefusedError."""
        if function is None:
            return partial(self.tool, name=name, strict=strict)
        guard_tool = load("carob.features.guard.frameworks:guard_tool")  # few need it, and it needs conversations
        return guard_tool(function, name, lambda: self, self.policy, strict=strict)

    @property
    def trouble(self) -> str:
        """Why its calls are refused whatever they are, such as an event that could not be kept."""
        return self._why_undecided()

    def end(self, why: str = ENDED) -> None:
        """Nothing more is decided about here."""
        self._ended = why

    def deny(self, tool: str, arguments: Mapping[str, Any] | None = None) -> None:
        """A person denied this call."""
        self._hear("denied", tool=tool, arguments=jsonable(arguments))

    def was_offered(self, tool: str, arguments: Mapping[str, Any] | None) -> bool:
        """Whether a person was shown this very call, to approve it, and no answer to that came yet."""
        try:
            digest = _digest(tool, freeze_arguments(arguments))
            with self._changing():  # another process may have asked
                offered = self._offered.get(digest)
        except Exception:  # noqa: BLE001 - what cannot be looked up was not offered
            return False
        return offered is not None and 0 <= self._clock() - offered <= APPROVAL_SECONDS

    def needs_approval(self, tool: str, arguments: Mapping[str, Any] | None, call: str = "") -> bool:
        """Whether a person is to be asked about this call, which is not decided about yet."""
        try:
            frozen = freeze_arguments(arguments)
            with self._changing():
                decision, event = self._decide(tool, frozen, call, {}, "")
                if decision.verdict != "ask":
                    return False
                self._note(decision, event)
                return True
        except Exception:  # noqa: BLE001 - the call is refused when it is decided about
            return False

    def refuse(self, tool: str, arguments: Any, why: str, call: str = "") -> Decision:
        """Refuse a call for a reason of the one who asks."""
        decision = refuse(tool, arguments, why, call)
        self._hear("denied", tool=tool, arguments=arguments)
        return decision

    def _hear_words(self, kind: Literal["user", "says"], text: str) -> None:
        """Take words; what may be in words that are too long to be kept is not known."""
        if type(text) is not str:
            text = _read_text(text)
            self._broken = self._broken or ("" if text else f"what a {kind} event says is not text")
        if len(text) > LONGEST_WORDS:
            self._hear("gap", hides=kind, text=f"a message has more than {LONGEST_WORDS:,} characters")
        else:
            self._hear(kind, text=text)

    def _hear(
        self, kind: EventKind, of: Decision | str | None = None, ran: tuple[str, Any] | None = None, **about: Any
    ) -> None:
        """Take an event. What cannot be kept makes all later calls that a rule names be refused."""
        try:
            with self._changing():
                if of is not None:
                    about["call"] = self._find_open(of)
                if ran is not None and about["call"] not in self._monitor.open_calls:
                    arguments = freeze_arguments(ran[1])
                    self._append(self._event("call", tool=ran[0], arguments=arguments, call=about["call"]))
                self._append(self._event(kind, **about))
                if self._log is None:
                    self._monitor.keep_ready()
        except Exception as error:  # noqa: BLE001 - the agent goes on, and its next call is refused
            self._broken = self._broken or f"an earlier event could not be kept: {error_text(error)}"

    @contextmanager
    def _changing(self, *, is_new: bool = True) -> Iterator[None]:
        """One step, in which the monitor knows all that happened."""
        with self._lock:
            self.touched = time.monotonic()
            if self._log is None or self._depth:
                if not is_new:
                    self._append(self._event("gap", text=self._unseen))
                yield
                return
            self._depth += 1
            try:
                with self._log.writing(self.id, self._monitor.last_index) as events:
                    for event in events:
                        self._feed(event)
                    if self._monitor.last_index < 0 and not is_new:
                        self._append(self._event("gap", text=self._unseen))
                    yield
            except BaseException:
                # What was not kept did not happen: the next step reads everything again.
                self._monitor = Monitor(self.policy.contract, self._facts)
                raise
            finally:
                self._depth -= 1

    def _find_open(self, decision: Decision | str) -> str:
        """The id of a call under way, by its decision or by the id that it came with."""
        if isinstance(decision, Decision):
            return decision.call
        calls = reversed(self._monitor.open_calls)
        return next((call for call in calls if call.rpartition(MARK)[0] == decision), decision)

    def _decide(
        self, tool: str, arguments: Any, call: str, known: Mapping[str, Any], approval: str
    ) -> tuple[Decision, ConversationEvent | None]:
        """The decision, and the call as it is counted if it is allowed; None where nothing can be decided."""
        if (why := self._why_undecided()) and self.policy.names(tool):
            return refuse(tool, arguments, why, call), None
        approved = self._approved_rules(tool, arguments, approval)
        # An id that the model made up may come twice, and each call counts.
        call = f"{call}{MARK}{self._monitor.last_index + 1}"
        event = self._event("call", tool=tool, call=call, arguments=arguments, **known)
        decision = decide(self._monitor.preview(event), event, approved)
        if decision.verdict == "ask":
            decision = msgspec.structs.replace(decision, approval=self._offer_approval(decision))
        elif not (decision.reasons or self.policy.concerns(tool)):
            decision = msgspec.structs.replace(decision, is_unnamed=True)
        return decision, event

    def _why_undecided(self) -> str:
        """Why nothing can be decided here; empty: it can."""
        if self._monitor.last_index >= MOST_EVENTS:
            return f"the conversation has more than {MOST_EVENTS:,} events. Begin another one"
        return self._ended or self._broken

    def _refuse_undecided(self, tool: str, arguments: Any, call: str, why: str) -> Decision:
        """What becomes of a call that nothing could be decided about, and that is not written down."""
        if not self._is_named(tool):
            return Decision(verdict="allow", tool=read_full_name(tool)["tool"], call=call, is_unnamed=True)
        return self._write_refusal(refuse(tool, arguments, why, call))

    def _write_refusal(self, decision: Decision) -> Decision:
        with suppress(Exception):  # it is refused already, whether that can be written or not
            self._write(None, decision)
        return decision

    def _is_named(self, tool: str) -> bool:
        try:
            return self.policy.names(tool)
        except Exception:  # noqa: BLE001 - rules that cannot be asked name every tool
            return True

    def _events_of(self, decision: Decision, call: ConversationEvent | None) -> list[ConversationEvent]:
        """What a decision makes happen: the call is under way, or a guard denied it, or somebody is to be asked."""
        if call is None or self._why_undecided():
            return []
        if decision:
            return [call]
        kind: EventKind = "asks_approval" if decision.verdict == "ask" else "denied"
        first = ConversationEvent(
            kind=kind, index=call.index, tool=call.tool, server=call.server, arguments=call.arguments, call=call.call,
            time=call.time,
        )  # fmt: skip
        if kind != "asks_approval" or not self._asks_host:
            return [first]
        return [first, msgspec.structs.replace(call, index=call.index + 1, started=False)]

    def _offer_approval(self, decision: Decision) -> str:
        ticket = os.urandom(18).hex()
        if len(self._approvals) >= MOST_APPROVALS:
            del self._approvals[next(iter(self._approvals))]
        rules = frozenset(reason.rule for reason in decision.reasons)
        self._approvals[ticket] = _Approval(_digest(decision.tool, decision.arguments), rules, time.monotonic())
        return ticket

    def _approved_rules(self, tool: str, arguments: Any, approval: str) -> frozenset[str]:
        """The rules that a person approved this very call for. An approval counts once, and for these arguments."""
        offered = self._approvals.pop(approval, None) if approval else None
        if offered is None or offered.digest != _digest(tool, arguments):
            return frozenset()
        if time.monotonic() - offered.at > APPROVAL_SECONDS:
            return frozenset()
        self._append(self._event("approved", tool=tool, arguments=arguments))
        return offered.rules

    def _event(self, kind: EventKind, **about: Any) -> ConversationEvent:
        """The next event. Where the clock went back, its time is not known."""
        now: float | None = self._clock()
        if now is not None and now < self._latest:
            now = None
        self._latest = max(self._latest, now or 0.0)
        if SERVER_MARK in about.get("tool", ""):
            about |= read_full_name(about["tool"])
        return ConversationEvent(kind=kind, index=self._monitor.last_index + 1, time=now, **about)

    def _note(self, decision: Decision, call: ConversationEvent | None) -> None:
        """Count what a decision makes happen, and write the decision down."""
        events = self._events_of(decision, call)
        if not events:
            self._write(None, decision)
        for number, event in enumerate(events):
            self._append(event, None if number else decision)

    def _append(self, event: ConversationEvent, decision: Decision | None = None) -> None:
        if self._monitor.last_index >= MOST_EVENTS:
            return
        if self._log is not None:
            self._log.append(self.id, event)
        self._feed(event)
        self._write(event, decision)

    def _feed(self, event: ConversationEvent) -> None:
        self._latest = max(self._latest, event.time or 0.0)
        self._monitor.feed(event)
        if event.kind == "asks_approval" and event.time is not None:
            if len(self._offered) >= MOST_APPROVALS:
                del self._offered[next(iter(self._offered))]
            self._offered[_digest(event.tool, event.arguments)] = event.time
        elif self._offered and event.kind in ("call", "denied"):
            self._offered.pop(_digest(event.tool, event.arguments), None)

    def _write(self, event: ConversationEvent | None, decision: Decision | None) -> None:
        if self._journal is not None:
            self._journal.write(self.id, event, decision)


def _read_text(value: Any) -> str:
    """A text as it is, whatever its class makes of itself; empty: it is none."""
    return str.__str__(value) if issubclass(type(value), str) else ""


def freeze_arguments(arguments: Mapping[str, Any] | None) -> Any:
    """The arguments as data of their own, which nothing changes later. Raises ValueError if there is too much."""
    encoded = _encode(arguments or {}, to_json)
    if len(encoded) > LARGEST_ARGUMENTS:
        raise ValueError(f"the arguments have more than {LARGEST_ARGUMENTS:,} bytes")
    return msgspec.json.decode(encoded)


def _encode(value: object, clean: Callable[[Any], Any] = jsonable) -> bytes:
    try:
        return msgspec.json.encode(value)
    except Exception:  # noqa: BLE001 - its methods are other people's code
        return msgspec.json.encode(clean(value))


def _digest(tool: str, arguments: object) -> str:
    named = [read_full_name(tool)["tool"], arguments]
    return hashlib.sha256(msgspec.json.encode(named, order="deterministic")).hexdigest()


def _cut(text: str) -> str:
    return text[:LONGEST_WORDS]
