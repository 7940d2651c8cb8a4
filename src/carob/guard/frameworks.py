"""The tools of agent frameworks in this process, guarded where Carob's stubs and faults stop calls too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from carob.evidence.recorder import RanCall, Recorder
from carob.guard.approvals import ask_framework
from carob.guard.conversation import GuardedConversation
from carob.guard.decision import Decision
from carob.proxy.faults.world import CaseWorld, FaultError, Opaque
from carob.targets.in_process.cases import CASES, RunningCase, open_call
from carob.targets.in_process.wrapping import WRAPPING


class GuardedCallError(FaultError):
    """A call that a guard did not let through; its text is for the agent."""

    is_refused = True


class _NoRecorder(Recorder):
    """Outside of a run no one reads what was called, and a service would keep it for ever."""

    def note_ran(self, call: RanCall) -> None:
        """Keep nothing."""


class GuardedWorld(CaseWorld):
    """What becomes of a call: the guard is asked, then it goes the way of the case, if there is one, or is made."""

    hits_tools = True  # a property where it depends on the case

    def __init__(self, find: Callable[[], GuardedConversation], inner: CaseWorld | None = None) -> None:
        super().__init__(() if inner is None else inner.stubs, () if inner is None else inner.faults)
        self._find = find
        self._inner = inner
        if inner is not None:
            self.names = inner.names

    def call(self, name: str, arguments: object, run: Callable[[], Any]) -> Any:
        conversation, decision = self._permit(name, arguments)
        try:
            result = run() if self._inner is None else self._inner.call(name, arguments, run)
        except Exception as error:  # what is cancelled may have been done, so nothing is reported of it
            conversation.report_error(decision, error)
            raise
        _report(conversation, decision, result)
        return result

    async def acall(self, name: str, arguments: object, run: Callable[[], Awaitable[Any]]) -> Any:
        conversation, decision = self._permit(name, arguments)
        try:
            result = await (run() if self._inner is None else self._inner.acall(name, arguments, run))
        except Exception as error:  # what is cancelled may have been done, so nothing is reported of it
            conversation.report_error(decision, error)
            raise
        _report(conversation, decision, result)
        return result

    def _permit(self, name: str, arguments: object) -> tuple[GuardedConversation, Decision]:
        """Raise GuardedCallError for a call that is not allowed."""
        conversation, call = self._find(), open_call.get()
        name = self.names.get(name, name)
        named: Any = arguments if isinstance(arguments, dict) else {"": arguments}
        call_id = (call.call_id if call is not None else "") or ""
        decision = ask_framework(conversation, name, named, call_id, call.approval if call is not None else None)
        if not decision:
            raise GuardedCallError(decision.message)
        return conversation, decision


def _report(conversation: GuardedConversation, decision: Decision, result: object) -> None:
    call = open_call.get()
    failed = call is not None and call.shows_failure
    conversation.report(decision, None if isinstance(result, Opaque) else result, success=False if failed else None)


@contextmanager
def guard_frameworks(find: Callable[[], GuardedConversation]) -> Iterator[None]:
    """Ask before each call of a tool of every framework that Carob knows, as long as this is open.

    A call outside of a conversation of the guard is refused, if a rule names its tool.
    """
    WRAPPING.open()
    before = CASES.of_none
    CASES.of_none = RunningCase(_NoRecorder(), GuardedWorld(find))
    try:
        yield
    finally:
        CASES.of_none = before
        WRAPPING.close()


@contextmanager
def tools_of(conversation: GuardedConversation) -> Iterator[None]:
    """While calls of this task belong to the conversation. Within a run of Carob they stay those of its case."""
    around = CASES.current()
    recorder = _NoRecorder() if around is None else around.recorder
    world = GuardedWorld(lambda: conversation, None if around is None else around.world)
    with RunningCase(recorder, world, "" if around is None else around.name):
        yield
