"""The stubs and faults of one run of one case: what becomes of each call, and what took effect."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, ParamSpec, TypeVar, cast

import msgspec
from msgspec import structs

from karat.model.faults import (
    NOT_REACHED,
    STUB_PASSED_BY,
    STUBBED,
    AlteredCall,
    Fault,
    Hit,
    Stub,
    without_landing,
)
from karat.model.suite import Case
from karat.model.trace import ToolCall, Trace, TraceError
from karat.text.clean import jsonable
from karat.text.tool_names import is_named, is_same_tool
from karat.text.wording import pluralize, shorten

P = ParamSpec("P")
T = TypeVar("T")

MOST_NOTED = 1000
MOST_NAMED = 8
"""Tools that a message lists."""
_encode = msgspec.json.Encoder(order="deterministic").encode


class FaultError(Exception):
    """What the agent gets instead of an answer. Its text is that of the fault, and says nothing of a test."""

    gone = False
    """Whether the tool no longer exists."""


class FaultTimeoutError(FaultError, TimeoutError):
    """No answer came: the call was lost before it ran, or its answer after it ran."""


class FaultGoneError(FaultError):
    """The tool does not exist any more."""

    gone = True


class Opaque:
    """A result that no fault changes, since nothing in it is for the model to read."""

    def __repr__(self) -> str:
        return "opaque"


class CallPlan:
    """What is to become of one call.

    Whoever carries calls out waits `delay` seconds, runs the call if `runs`, and gives the agent what `finish` returns
    or raises.
    """

    __slots__ = ("_arguments", "_fault", "_place", "_stub", "_world", "hits", "name", "number")

    def __init__(
        self,
        world: CaseWorld,
        hits: Hit,
        name: str,
        number: int,
        arguments: object,
        place: int | None,
        stub: Stub | None,
    ) -> None:
        self._world = world
        self._place = place
        self._fault = None if place is None else world.faults[place]
        self._stub = stub
        self._arguments = arguments
        self.hits = hits
        self.name = name
        self.number = number

    @property
    def fault(self) -> Fault | None:
        """The fault that this call is for, if any."""
        return self._fault

    @property
    def delay(self) -> float:
        """Seconds to wait before anything else."""
        return float(self._fault.value) if self._fault is not None and self._fault.stage == "wait" else 0.0

    @property
    def runs(self) -> bool:
        """Whether the call itself is to be carried out."""
        return self._stub is None and (self._fault is None or self._fault.stage != "instead")

    def finish(self, result: object = None) -> Any:
        """What the agent gets, given what the call gave. Raises FaultError where that is an error."""
        fault, stub = self._fault, self._stub
        if fault is not None and fault.stage == "instead":
            self.mark_applied("", "")
            raise self._error(fault)
        if stub is not None:
            if fault is None:
                self._world.note(self._build_altered(STUBBED, None, "", digest(stub.error or stub.result)))
            if stub.error:
                self.mark_unused()
                raise FaultError(stub.error)
            result = stub.result
        self._world.remember(self.name, self._arguments, result)
        if fault is None:
            return result
        if fault.stage == "lost":
            self.mark_applied(digest(result), "")
            raise self._error(fault)
        if fault.stage == "wait":
            self.mark_applied("", "")
            return result
        return self._change(fault, result)

    def mark_applied(self, before: str, after: str) -> None:
        """Note that the fault took effect: for who carries it out without `finish`, such as a proxy."""
        if self._fault is not None:
            self._world.note(self._build_altered(self._fault.kind, self._place, before, after))

    def mark_unused(self) -> None:
        """Note that the fault took no effect, such as where the call failed by itself: it is still to come."""
        if self._place is not None:
            self._world.release(self._place)

    def _build_altered(self, kind: str, place: int | None, before: str, after: str) -> AlteredCall:
        return AlteredCall(
            hits=self.hits,
            name=self.name,
            call=self.number,
            kind=kind,
            fault=place,
            ran=self.runs,
            seed=0 if self._fault is None else self._fault.seed,
            before=before,
            after=after,
        )

    def _change(self, fault: Fault, result: object) -> object:
        # late: most runs have no fault
        from karat.proxy.faults.result_mutations import change

        if isinstance(result, Opaque):
            self.mark_unused()
            return result
        first = self._world.first_result(self.name, self._arguments)
        found = change(fault, result, self._arguments, first, f"{fault.seed}:{self.name}:{self.number}")
        before, after = digest(result), digest(found)
        if before == after:
            self.mark_unused()
            return result
        self.mark_applied(before, after)
        return found

    def _error(self, fault: Fault) -> FaultError:
        if fault.kind == "timeout":
            return FaultTimeoutError(f"{self.name} timed out: no answer was received")
        if fault.kind == "gone":
            return FaultGoneError(f"there is no tool {self.name!r}")
        return FaultError(str(fault.value))


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
            place = self._due(hits, name, number)
            if place is not None:
                self._used[place] += 1
        stub = self.stub_of(name) if hits != "model" else None
        return CallPlan(self, hits, name, number, arguments=arguments, place=place, stub=stub)

    def begin_outside(self, name: str, arguments: object) -> CallPlan:
        """The same for a call of a tool that comes by the proxy.

        A tool of this process that asks a server for the one of its name is one call, which was counted already.
        """
        with self._lock:
            is_within = any(is_same_tool(one, self.names.get(name, name)) for one in +self._open)
        if is_within:
            return CallPlan(self, "tool", name, 0, arguments=arguments, place=None, stub=None)
        return self.begin(name, arguments)

    @contextmanager
    def _carrying(self, name: str) -> Iterator[None]:
        with self._lock:
            self._open[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[name] -= 1

    def call(self, name: str, arguments: object, run: Callable[[], Any]) -> Any:
        """Carry out a call of a tool as this world has it."""
        plan = self.begin(name, arguments)
        if plan.delay:
            time.sleep(plan.delay)
        if not plan.runs:
            return plan.finish()
        try:
            with self._carrying(plan.name):
                result = run()
        except BaseException:
            plan.mark_unused()
            raise
        return plan.finish(result)

    async def acall(self, name: str, arguments: object, run: Callable[[], Awaitable[Any]]) -> Any:
        """The same for an asynchronous tool."""
        plan = self.begin(name, arguments)
        if plan.delay:
            await asyncio.sleep(plan.delay)
        if not plan.runs:
            return plan.finish()
        try:
            with self._carrying(plan.name):
                result = await run()
        except BaseException:
            plan.mark_unused()
            raise
        return plan.finish(result)

    async def run_tool(
        self, name: str, arguments: object, run: Callable[[], Awaitable[tuple[object, str | None]]]
    ) -> tuple[object, str | None]:
        """The same where a model hears of results and errors alike: gives a result, or what went wrong."""

        async def result() -> object:
            found, error = await run()
            if error is not None:
                raise FaultError(error)
            return found

        try:
            return await self.acall(name, arguments, result), None
        except FaultError as error:
            return None, str(error)

    def surround(self, function: Callable[P, T], name: str = "") -> Callable[P, T]:
        """The function as a tool of this world, sync or async as it is."""
        tool = name or getattr(function, "__name__", type(function).__name__)

        def join_arguments(args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
            return {**kwargs, **({"": [*args]} if args else {})}

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def acall_tool(*args: P.args, **kwargs: P.kwargs) -> Any:
                return await self.acall(tool, join_arguments(args, kwargs), lambda: function(*args, **kwargs))

            return cast("Callable[P, T]", acall_tool)

        @functools.wraps(function)
        def call_tool(*args: P.args, **kwargs: P.kwargs) -> Any:
            return self.call(tool, join_arguments(args, kwargs), lambda: function(*args, **kwargs))

        return call_tool

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
            if len(self.altered) < MOST_NOTED or altered.fault not in self._landed:
                self.altered.append(altered)
            self._landed.add(altered.fault)

    def release(self, place: int) -> None:
        """A fault took no effect on the call that it was meant for."""
        with self._lock:
            self._used[place] -= 1
            self._unchanged[place] += 1

    def remember(self, name: str, arguments: object, result: object) -> None:
        """Keep what the first call of these arguments gave, where a fault may give it again."""
        if any(fault.kind == "stale" for fault in self.faults):
            with self._lock:
                self._first.setdefault((name, digest(arguments)), result)

    def first_result(self, name: str, arguments: object) -> object:
        return self._first.get((name, digest(arguments)))

    def _due(self, hits: Hit, name: str, number: int) -> int | None:
        """The first fault that this call is for."""
        for place, fault in enumerate(self.faults):
            spent = fault.times is not None and self._used[place] >= fault.times
            if fault.hits == hits and not spent and number >= fault.from_call and _hits(fault, name):
                return place
        return None

    def _error(self, trace: Trace) -> TraceError | None:
        seen = [*_calls_of(trace)]
        answered = {call.name for call in trace.altered_calls} | {name for _, name in self._calls}
        for call in seen if self.stubs else ():
            if call.called and call.kind == "tool" and self.stub_of(call.name) and call.name not in answered:
                message = f"{call.name} has a stub, but was called where Karat cannot intercept it: the real tool ran"
                return TraceError(STUB_PASSED_BY, f"{message}. Call it as docs/faults.md shows")
        missed = without_landing(self.faults, trace.altered_calls)
        if not missed:
            return None
        what = "; ".join(map(str, missed))
        return TraceError(NOT_REACHED, f"the fault was not reached: {what}. {self._why(missed[0], seen)}")

    def _why(self, fault: Fault, seen: list[ToolCall]) -> str:
        """What happened instead."""
        place = self.faults.index(fault)
        if self._unchanged[place]:
            times = pluralize(self._unchanged[place], "call")
            return f"{times} came, but the fault changed nothing in the result"
        reached = {name: number for (hits, name), number in self._calls.items() if hits == fault.hits}
        if fault.hits == "tool" and any(
            matches_tool(fault.name, call.name) and call.name not in reached for call in seen
        ):
            return f"{fault.name} was called, but not where Karat can intercept it"
        if not reached:
            return f"No {fault.hits} was called where Karat can intercept it"
        named = [f"{shorten(name, 60)} ({number})" for name, number in [*reached.items()][:MOST_NAMED]]
        return f"Calls seen: {', '.join(named)}{' …' if len(reached) > MOST_NAMED else ''}"


def digest(value: object) -> str:
    """By which two results are known to be the same."""
    return hashlib.sha256(_encode(jsonable(value))).hexdigest()[:16]


def matches_tool(pattern: str, name: str) -> bool:
    """Whether a stub or a fault of this name is for a tool of that one, in whatever spelling."""
    return is_named(pattern, name) or is_same_tool(pattern, name)


def _hits(fault: Fault, name: str) -> bool:
    return not fault.name or (matches_tool(fault.name, name) if fault.hits == "tool" else is_named(fault.name, name))


def _calls_of(trace: Trace) -> Iterator[ToolCall]:
    yield from trace.tool_calls
    yield from trace.setup_calls
