"""The stubs and faults of one run of one case: what becomes of each call, and what took effect."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import msgspec
from msgspec import structs

from carob.model.faults import NOT_REACHED, STUB_PASSED_BY, STUBBED, AlteredCall, Fault, Hit, Stub, without_landing
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace, TraceError
from carob.text.clean import jsonable
from carob.text.tool_names import is_named, is_same_tool, why_may_be
from carob.text.wording import pluralize, shorten

MAX_NOTED = 1000
MAX_LISTED = 8
"""Tools that a message lists."""
_encode = msgspec.json.Encoder(order="deterministic").encode


class FaultError(Exception):
    """What the agent gets instead of an answer. Its text is that of the fault, and says nothing of a test."""

    gone = False
    """Whether the tool no longer exists."""
    is_refused = False
    """Whether a guard refused the call, so that it never began."""


class FaultTimeoutError(FaultError, TimeoutError):
    """No answer came: the call was lost before it ran, or its answer after it ran."""


class FaultGoneError(FaultError):
    """The tool does not exist any more."""

    gone = True


class Opaque:
    """A result that no fault changes, since nothing in it is for the model to read."""

    def __repr__(self) -> str:
        return "opaque"


@dataclass(slots=True)
class CallPlan:
    """What is to become of one call.

    Whoever carries calls out waits `delay` seconds, runs the call if `runs`, and gives the agent what `finish` returns
    or raises.
    """

    world: CaseWorld
    hits: Hit
    name: str
    number: int
    arguments: object
    fault_index: int | None = None
    stub: Stub | None = None

    @property
    def fault(self) -> Fault | None:
        """The fault that this call is for, if any."""
        return None if self.fault_index is None else self.world.faults[self.fault_index]

    @property
    def is_due(self) -> bool:
        """Whether the call does not go its usual way."""
        return self.fault is not None or self.stub is not None

    @property
    def delay(self) -> float:
        """Seconds to wait before anything else."""
        return float(self.fault.value) if self.fault is not None and self.fault.stage == "wait" else 0.0

    @property
    def runs(self) -> bool:
        """Whether the call itself is to be carried out."""
        return self.stub is None and (self.fault is None or self.fault.stage != "instead")

    def finish(self, result: object = None) -> Any:
        """What the agent gets, given what the call gave. Raises FaultError where that is an error."""
        fault, stub = self.fault, self.stub
        if fault is not None and fault.stage == "instead":
            self.mark_applied("", "")
            raise self._error(fault)
        if stub is not None:
            if fault is None:
                self.world.note(self._altered_call(STUBBED, None, "", digest(stub.error or stub.result)))
            if stub.error:
                self.mark_unused()
                raise FaultError(stub.error)
            result = stub.result
        self.world.remember(self.name, self.arguments, result)
        if fault is None:
            return result
        if fault.stage == "lost":
            self.mark_applied(digest(result), "")
            raise self._error(fault)
        if fault.stage == "wait":
            self.mark_applied("", "")
            return result
        return self._change(fault, result)

    def settle(self, result: object = None) -> Any:
        """The same for a call of a tool of this process, which ended if it ran."""
        if self.runs:
            self.world._change_open(self.name, -1)
        return self.finish(result)

    def fail(self, error: BaseException) -> None:
        """The tool of this process failed by itself, so the fault took no effect."""
        if self.runs:
            self.world._change_open(self.name, -1)
        self.mark_unused()

    def mark_applied(self, before: str, after: str) -> None:
        """Note that the fault took effect: for who carries it out without `finish`, such as a proxy."""
        if self.fault is not None:
            self.world.note(self._altered_call(self.fault.kind, self.fault_index, before, after))

    def mark_unused(self) -> None:
        """Note that the fault took no effect, such as where the call failed by itself: it is still to come."""
        if self.fault_index is not None:
            self.world.release(self.fault_index)

    def _altered_call(self, kind: str, fault_index: int | None, before: str, after: str) -> AlteredCall:
        return AlteredCall(
            hits=self.hits,
            name=self.name,
            call=self.number,
            kind=kind,
            fault=fault_index,
            ran=self.runs,
            seed=0 if self.fault is None else self.fault.seed,
            before=before,
            after=after,
        )

    def _change(self, fault: Fault, result: object) -> object:
        from carob.proxy.faults.result_mutations import change  # late: most runs have no fault

        if isinstance(result, Opaque):
            self.mark_unused()
            return result
        first = self.world.first_result(self.name, self.arguments)
        changed = change(fault, result, self.arguments, first, f"{fault.seed}:{self.name}:{self.number}")
        before, after = digest(result), digest(changed)
        if before == after:
            self.mark_unused()
            return result
        self.mark_applied(before, after)
        return changed

    def _error(self, fault: Fault) -> FaultError:
        if fault.kind == "timeout":
            return FaultTimeoutError(f"{self.name} timed out: no answer was received")
        if fault.kind == "gone":
            return FaultGoneError(f"there is no tool {self.name!r}")
        return FaultError(str(fault.value))


class ToolPlan(Protocol):
    """What is to become of one call of a tool of this process. It has ended once `settle` or `fail` was called."""

    @property
    def delay(self) -> float: ...

    @property
    def runs(self) -> bool: ...

    @property
    def is_due(self) -> bool: ...

    def settle(self, result: object = None) -> Any: ...

    def fail(self, error: BaseException) -> None: ...


class CaseWorld:
    """The surroundings of one run of one case. Calls may come from several threads at once."""

    def __init__(self, stubs: Iterable[Stub] = (), faults: Iterable[Fault] = ()) -> None:
        self.stubs = tuple(stubs)
        self.faults = tuple(faults)
        self.names: Mapping[str, str] = {}
        """What tools are called in the suite, by the names that the agent has for them."""
        self.by_proxy = False
        """Whether a proxy carries out calls of tools too, so that not every tool is one of this process."""
        self.in_setup = False
        """Whether setup prompts are being sent, which no fault hits; stubs answer there too."""
        self.altered: list[AlteredCall] = []
        self._lock = Lock()
        self._landed: set[int | None] = set()
        self._used: Counter[int] = Counter()
        self._unchanged: Counter[int] = Counter()
        self._calls: Counter[tuple[Hit, str]] = Counter()
        self._first: dict[tuple[str, str], object] = {}
        self._open: Counter[str] = Counter()
        """The tools of this process that are being called."""

    @classmethod
    def of(cls, case: Case) -> CaseWorld | None:
        """The world of a case; None if it says nothing of it."""
        return cls(case.stubs, case.faults) if case.stubs or case.faults else None

    @property
    def hits_tools(self) -> bool:
        return bool(self.stubs) or any(fault.hits == "tool" for fault in self.faults)

    def begin(self, name: str, arguments: object = None, hits: Hit = "tool") -> CallPlan:
        """What is to become of this call, which is counted."""
        name = self.names.get(name, name) if hits == "tool" else name
        with self._lock:
            if not self.in_setup:  # a call that is not counted is before the first that a fault hits
                self._calls[hits, name] += 1
            number = self._calls[hits, name]
            index = self._find_due(hits, name, number)
            if index is not None:
                self._used[index] += 1
        stub = self.stub_of(name) if hits != "model" else None
        return CallPlan(self, hits, name, number, arguments, index, stub)

    def begin_outside(self, name: str, arguments: object) -> CallPlan:
        """The same for a call of a tool that comes by the proxy.

        A tool of this process that asks a server for the one of its name is one call, which was counted already.
        """
        with self._lock:
            is_within = any(is_same_tool(tool, self.names.get(name, name)) for tool in +self._open)
        return CallPlan(self, "tool", name, 0, arguments) if is_within else self.begin(name, arguments)

    def open_call(self, name: str, arguments: object) -> ToolPlan:
        """What is to become of a call of a tool of this process. Raises FaultError for one that must not be made."""
        plan = self.begin(name, arguments)
        if plan.runs:
            self._change_open(plan.name, 1)
        return plan

    def _change_open(self, name: str, by: int) -> None:
        with self._lock:
            self._open[name] += by

    async def run_tool(
        self, name: str, arguments: object, run: Callable[[], Awaitable[tuple[object, str | None]]]
    ) -> tuple[object, str | None]:
        """Carry out a call where a model gets results and errors alike: gives a result, or what went wrong."""
        plan = self.open_call(name, arguments)
        try:
            if plan.delay:
                await asyncio.sleep(plan.delay)
            value, error = await run() if plan.runs else (None, None)
        except BaseException as failure:
            plan.fail(failure)
            raise
        if error is not None:
            plan.fail(FaultError(error))
            return None, error
        try:
            return plan.settle(value), None
        except FaultError as fault:
            return None, str(fault)

    def stub_of(self, name: str) -> Stub | None:
        """The stub of a tool: one of its very name before one of a pattern."""
        exact = (stub for stub in self.stubs if stub.tool == name)
        return next(exact, None) or next((stub for stub in self.stubs if matches_tool(stub.tool, name)), None)

    def not_reached(self) -> tuple[Fault, ...]:
        """The faults that never took effect."""
        return without_landing(self.faults, tuple(self.altered))

    def settle_trace(self, trace: Trace) -> Trace:
        """The trace of the run with what was altered, and an error where a fault or a stub was not reached."""
        trace = structs.replace(trace, altered_calls=tuple(self.altered) or trace.altered_calls)
        error = trace.error or self._error(trace)
        return structs.replace(trace, error=error) if error is not trace.error else trace

    def note(self, altered: AlteredCall) -> None:
        """Keep what became of a call: of very many, the first ones and the first of each fault."""
        with self._lock:
            if len(self.altered) < MAX_NOTED or altered.fault not in self._landed:
                self.altered.append(altered)
            self._landed.add(altered.fault)

    def release(self, fault_index: int) -> None:
        """A fault took no effect on the call that it was due for."""
        with self._lock:
            self._used[fault_index] -= 1
            self._unchanged[fault_index] += 1

    def remember(self, name: str, arguments: object, result: object) -> None:
        """Keep what the first call of these arguments gave, where a fault may give it again."""
        if any(fault.kind == "stale" for fault in self.faults):
            with self._lock:
                self._first.setdefault((name, digest(arguments)), result)

    def first_result(self, name: str, arguments: object) -> object:
        return self._first.get((name, digest(arguments)))

    def _find_due(self, hits: Hit, name: str, number: int) -> int | None:
        """The first fault that this call is for."""
        for index, fault in enumerate(self.faults):
            spent = fault.times is not None and self._used[index] >= fault.times
            if fault.hits == hits and not spent and number >= fault.from_call and _hits(fault, name):
                return index
        return None

    def _error(self, trace: Trace) -> TraceError | None:
        calls = [*trace.tool_calls, *trace.setup_calls]
        answered = {call.name for call in trace.altered_calls} | {name for _, name in self._calls}
        for call in calls if self.stubs else ():
            if call.called and call.kind == "tool" and self.stub_of(call.name) and call.name not in answered:
                message = f"{call.name} has a stub, but was called where Carob cannot intercept it: the real tool ran"
                return TraceError(STUB_PASSED_BY, f"{message}. Call it as `carob help faults` shows")
        missed = without_landing(self.faults, trace.altered_calls)
        if not missed:
            return None
        names = "; ".join(map(str, missed))
        return TraceError(NOT_REACHED, f"the fault was not reached: {names}. {self._why_missed(missed[0], calls)}")

    def _why_missed(self, fault: Fault, calls: list[ToolCall]) -> str:
        """What happened instead."""
        if unchanged := self._unchanged[self.faults.index(fault)]:
            return f"{pluralize(unchanged, 'call')} came, but the fault changed nothing in the result"
        reached = {name: number for (hits, name), number in self._calls.items() if hits == fault.hits}
        elsewhere = (call.full_name for call in calls if call.name not in reached)
        if fault.hits == "tool" and any(matches_tool(fault.name, name) for name in elsewhere):
            return f"{fault.name} was called, but not where Carob can intercept it"
        doubts = (why_may_be((fault.name,), call.full_name) for call in calls)
        if fault.hits == "tool" and (doubt := next(filter(None, doubts), None)):
            return doubt
        if not reached:
            return f"No {fault.hits} was called where Carob can intercept it"
        counts = [f"{shorten(name, 60)} ({number})" for name, number in [*reached.items()][:MAX_LISTED]]
        return f"Calls seen: {', '.join(counts)}{' …' if len(reached) > MAX_LISTED else ''}"


def digest(value: object) -> str:
    """By which two results are known to be the same."""
    return hashlib.sha256(_encode(jsonable(value))).hexdigest()[:16]


def matches_tool(pattern: str, name: str) -> bool:
    """Whether a stub or a fault of this name is for a tool of that one, in whatever spelling."""
    return is_named(pattern, name) or is_same_tool(pattern, name)


def _hits(fault: Fault, name: str) -> bool:
    return not fault.name or (matches_tool(fault.name, name) if fault.hits == "tool" else is_named(fault.name, name))
