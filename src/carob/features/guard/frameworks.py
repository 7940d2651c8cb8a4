"""The tools of this process, functions and those of agent frameworks, guarded where stubs and faults stop calls too."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, Final, Protocol, TypeVar

from carob.errors import UsageError
from carob.evidence.recorder import RanCall, Recorder
from carob.features.guard.approvals import ask_framework, has_answer, take_answer
from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.decision import CallRefusedError, Decision
from carob.features.guard.policy import GuardPolicy
from carob.proxy.faults.world import CaseWorld, FaultError, Opaque, ToolPlan
from carob.targets.in_process.cases import CASES, RunningCase, open_call
from carob.targets.in_process.functions import Door, find_tool, wrap_tool
from carob.targets.in_process.result_forms import PlainForm
from carob.targets.in_process.wrapping import WRAPPING
from carob.text.wording import quoted

T = TypeVar("T")
Find = Callable[[], GuardedConversation]


class GuardedCallError(FaultError):
    """A call that a guard did not let through; its text is for the agent."""

    is_refused = True
    decision: Decision | None = None


class _FunctionForm(PlainForm):
    """A function: a refusal is raised with its decision."""

    def fail(self, error: FaultError) -> Any:
        if isinstance(error, GuardedCallError) and error.decision is not None:
            raise CallRefusedError(error.decision) from None
        raise error


class _NoRecorder(Recorder):
    """Outside of a run no one reads what was called, and a service would keep it for ever."""

    def note_ran(self, call: RanCall) -> None:
        """Keep nothing."""


class _GuardedPlan:
    """A call that the guard allowed, and hears the end of."""

    def __init__(
        self, conversation: GuardedConversation, decision: Decision, call: RanCall | None, inner: ToolPlan | None
    ) -> None:
        self._conversation = conversation
        self._decision = decision
        self._call = call
        self._inner = inner
        self.delay = 0.0 if inner is None else inner.delay
        self.runs = inner is None or inner.runs
        self.is_due = inner is not None and inner.is_due

    def settle(self, result: object = None) -> Any:
        try:
            result = result if self._inner is None else self._inner.settle(result)
        except FaultError as error:
            self._conversation.report_error(self._decision, error)
            raise
        failed = self._call is not None and self._call.shows_failure
        content = None if isinstance(result, Opaque) else result
        self._conversation.report(self._decision, content, success=False if failed else None)
        return result

    def fail(self, error: BaseException) -> None:
        if self._inner is not None:
            self._inner.fail(error)
        if isinstance(error, Exception):  # what is cancelled may have been done, so nothing is reported of it
            self._conversation.report_error(self._decision, error)


class GuardedWorld(CaseWorld):
    """What becomes of a call: the guard is asked, then it goes the way of the case, if there is one, or is made."""

    hits_tools = True  # a property where it depends on the case

    def __init__(self, find: Find, inner: CaseWorld | None = None) -> None:
        super().__init__(() if inner is None else inner.stubs, () if inner is None else inner.faults)
        self._find = find
        self._inner = inner
        if inner is not None:
            self.names = inner.names

    def asks(self, conversation: GuardedConversation) -> bool:
        """Whether a call is decided about in this conversation."""
        inner = self._inner
        return self._find() is conversation or (isinstance(inner, GuardedWorld) and inner.asks(conversation))

    def open_call(self, name: str, arguments: object) -> ToolPlan:
        """Ask the guard. Raises GuardedCallError for a call that is not allowed."""
        call = open_call.get()
        conversation = self._find()
        guarded = self.names.get(name, name)
        decision = take_answer(conversation, guarded, None if call is None else call.arguments)
        if decision is None:
            named: Any = arguments if isinstance(arguments, dict) else {"": arguments}
            call_id = (call.call_id if call is not None else "") or ""
            decision = ask_framework(conversation, guarded, named, call_id, call.approval if call is not None else None)
        if not decision:
            refused = GuardedCallError(decision.message)
            refused.decision = decision
            raise refused
        try:
            inner = None if self._inner is None else self._inner.open_call(name, arguments)
        except FaultError:  # another guard refused
            conversation.report_cancelled(decision)
            raise
        return _GuardedPlan(conversation, decision, call, inner)


def _guard_case(find: Find, around: RunningCase | None) -> RunningCase:
    """What a call belongs to that the guard is asked about: within a run of Carob it stays one of its case."""
    world = None if around is None else around.world
    if around is not None and isinstance(world, GuardedWorld) and world.asks(find()):
        return around
    recorder = _NoRecorder() if around is None else around.recorder
    return RunningCase(recorder, GuardedWorld(find, world), "" if around is None else around.name, is_run=False)


class Watching(Protocol):
    """A guard that watches the frameworks of this process."""

    @property
    def current(self) -> GuardedConversation: ...

    @property
    def is_in_conversation(self) -> bool: ...


class _Watchers:
    """The guards that watch the frameworks of this process, each as often as it is used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: Counter[Watching] = Counter()

    def open(self, guard: Watching) -> None:
        with self._lock:
            self._users[guard] += 1
            WRAPPING.open()
            CASES.of_none = self._watch

    def close(self, guard: Watching) -> None:
        with self._lock:
            self._users[guard] -= 1
            self._users += Counter()  # without those that no one uses
            if not self._users:
                CASES.of_none = None
            WRAPPING.close()

    def has(self, guard: Watching) -> bool:
        return self._users[guard] > 0

    def _watch(self, tool: str) -> RunningCase | None:
        """What a call is of that is of no guard yet: all are asked, unless it is in a conversation of one."""
        with self._lock:
            guards = list(self._users)
        concerned = [guard for guard in guards if guard.is_in_conversation]
        around = CASES.current() if concerned else CASES.of_call(tool)
        if not concerned and has_answer(tool):
            return around
        for guard in concerned or guards:
            around = _guard_case(lambda guard=guard: guard.current, around)  # type: ignore[misc]  # bound at once
        return around


_WATCHERS: Final = _Watchers()
watches = _WATCHERS.has


@contextmanager
def guard_frameworks(guard: Watching) -> Iterator[None]:
    """Ask before each call of a tool of every framework that Carob knows, as long as this is open.

    A call outside of a conversation of the guard is refused, if a rule names its tool.
    """
    _WATCHERS.open(guard)
    try:
        with tools_of(guard.current) if guard.is_in_conversation else nullcontext():
            yield
    finally:
        _WATCHERS.close(guard)


@contextmanager
def tools_of(conversation: GuardedConversation) -> Iterator[None]:
    """While calls of this task belong to the conversation."""
    around = CASES.current()
    case = _guard_case(lambda: conversation, around)
    with nullcontext() if case is around else case:
        yield


def guard_tool(function: T, name: str, find: Find, policy: GuardPolicy, *, strict: bool) -> T:
    """The function, or the tool of a framework: its calls are decided about in the conversation that is found then."""
    owner = RunningCase(_NoRecorder(), GuardedWorld(find), is_run=False)
    door = Door(owner, lambda around: _guard_case(find, around), _FunctionForm, policy.mentions, copies=True)
    tool = find_tool(function, name, door.knows)
    if strict and not policy.concerns(tool.name):
        message = f"no rule names the tool {quoted(tool.name)}. {policy.did_you_mean(tool.name)}"
        raise UsageError(message.rstrip(), fix="Name it in a rule, or leave out `strict`.", slug="no-rule")
    if tool.row is not None:
        _hold_wrapping()
    wrapped: T = wrap_tool(function, tool, door)
    return wrapped


@cache
def _hold_wrapping() -> None:
    """A tool of a framework that was handed over is guarded as long as this process lives."""
    WRAPPING.open()
