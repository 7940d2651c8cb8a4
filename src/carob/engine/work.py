"""Carrying out one case: run the target within its deadline, judge the trace, take out secrets, make its line."""

from __future__ import annotations

import asyncio
import os
import time
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from carob.checks.catalog import CheckCatalog
from carob.journal.limits import cap_trace
from carob.model.run import CaseRecord, Item
from carob.model.suite import MEETS, Case
from carob.model.trace import Trace, TraceError
from carob.model.verdict import CaseStatus, CheckResult
from carob.proxy.faults.world import CaseWorld
from carob.redaction.redactor import Redactor
from carob.scoring import verdicts
from carob.scoring.tally import Contribution
from carob.targets.base import RunContext, Target, TargetError
from carob.targets.user_code import from_outside
from carob.text.wording import error_text

_encode = msgspec.json.Encoder().encode

ONE_TURN = TraceError(
    "no-conversation",
    "the target answered only one prompt and does not support several turns: see `converse` in `carob help extending`",
)
TIMEOUT = "timeout"
BUG = "harness"
GRACE = 3.0


class CaseResult(Struct, frozen=True):
    """A carried-out case: what the engine must know of it, and its line of the journal."""

    outcome: Contribution
    duration_ms: float
    line: msgspec.Raw
    error: str = ""
    """The kind of error, where there was one."""
    retry_after: float | None = None
    notices: tuple[str, ...] = ()
    """What the target wants the user to know, apart from the result of the case."""

    @property
    def status(self) -> CaseStatus:
        return self.outcome.status


class Settings(Struct, frozen=True, omit_defaults=True):
    """What holds for every case of a run. `grace` is for a case that overran: to stop, and to reset what it used."""

    case_timeout: float = 300.0
    grace: float = GRACE
    attachments: str = ""
    """The folder for screenshots and the like; made by the first target that has one to keep."""


@lru_cache(maxsize=8)
def _path_of(folder: str) -> Path | None:
    return Path(folder) if folder else None


async def run_case(
    item: Item, target: Target, settings: Settings, redactor: Redactor, context: RunContext, catalog: CheckCatalog
) -> CaseResult:
    """Run and judge one case. Whatever the agent does, this gives a record; only cancellation goes through."""
    started_at, start, here = time.time(), time.perf_counter(), os.getpid()
    context.attachments = _path_of(settings.attachments)
    context.world = CaseWorld.of(item.case)
    trace = await run_target(item.case, target, settings.case_timeout, context)
    if context.world is not None:
        trace = context.world.settle_trace(trace)
    if os.getpid() != here:
        os._exit(0)  # the agent forked, and came back in both
    duration = round((time.perf_counter() - start) * 1000, 3)
    if not (trace.started_at and trace.duration_ms):
        times = {"started_at": trace.started_at or started_at, "duration_ms": trace.duration_ms or duration}
        trace = structs.replace(trace, **times)
    return finish_case(item, trace, duration, redactor, context, catalog)


def finish_case(
    item: Item,
    trace: Trace,
    duration_ms: float,
    redactor: Redactor,
    context: RunContext | None = None,
    catalog: CheckCatalog | None = None,
) -> CaseResult:
    """Judge a trace as it is, and keep it without its secrets, with the files that go with it.

    One of which nothing was observed needs no catalog: none of its checks is judged.
    """
    case, error = item.case, trace.error
    trace = cap_trace(trace)
    results = () if catalog is None else verdicts.case_results(case, trace, catalog)
    if catalog is not None and any(spec.name == MEETS for _, spec in case.all_checks):
        results = _read_as_kept(case, trace, results, redactor, catalog)
    verdict = verdicts.case_verdict(case, results, error)
    if context is not None and context.attached:
        attachments = context.keep_attached(passed=verdict.status is CaseStatus.PASS)
        trace = structs.replace(trace, attachments=attachments, screen=context.screen)
    if context is not None:
        context.settle_leftovers(case.id, passed=verdict.status is CaseStatus.PASS)
    record = CaseRecord(**structs.asdict(item), trace=trace, verdict=verdict, duration_ms=duration_ms)
    line = _encode(record)
    if redactor.finds(line):
        line = _encode(redactor.record(record))
    kind, wait = (error.kind, error.retry_after) if error else ("", None)
    notices = tuple(map(redactor.message, context.notices)) if context is not None else ()
    return CaseResult(Contribution.of_record(record), duration_ms, msgspec.Raw(line), kind, wait, notices)


def _read_as_kept(
    case: Case, trace: Trace, results: tuple[CheckResult, ...], redactor: Redactor, catalog: CheckCatalog
) -> tuple[CheckResult, ...]:
    """The results, those of criteria by the trace as the journal holds it: its evidence is known again by its hash."""
    if not redactor.finds(_encode(trace)):
        return results
    kept = verdicts.case_results(case, redactor.trace(trace), catalog)
    return tuple(new if old.name == MEETS else old for old, new in zip(results, kept, strict=True))


async def run_target(case: Case, target: Target, timeout: float, context: RunContext) -> Trace:
    """The trace of one case, partial if the agent broke or overran."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    end = loop.time() + timeout
    try:
        async with asyncio.timeout_at(end):
            trace = await target.run(case, context)
    except TimeoutError as error:
        if loop.time() < end:
            return context.recorder.partial(case, TraceError("agent", _describe_error(error)))
        return timeout_trace(case, timeout, context)
    except TargetError as error:
        broke = structs.replace(error.error, retry_after=error.retry_after)
        if loop.time() >= end:
            broke = structs.replace(too_long(timeout), detail=error.detail)
        if error.partial is None:
            return context.recorder.partial(case, broke)
        return structs.replace(error.partial, error=broke)
    except BaseException as error:
        if from_outside(error, task):
            raise
        if loop.time() >= end:
            return timeout_trace(case, timeout, context)
        if isinstance(error, Exception):  # a target that breaks its contract spoils its own case, not the run
            return context.recorder.partial(case, TraceError(BUG, f"the target broke: {_describe_error(error)}"))
        return context.recorder.partial(case, TraceError("agent", _describe_error(error)))
    if case.is_conversation and not trace.turns:
        return context.recorder.partial(case, ONE_TURN)
    # An agent that blocks the event loop, or ignores its cancellation, comes back late and is late all the same.
    return trace if loop.time() < end else timeout_trace(case, timeout, context)


def _describe_error(error: BaseException) -> str:
    """What a target raised, and what went wrong after that."""
    return "; ".join([f"{type(error).__name__}: {error_text(error)}", *map(str, getattr(error, "__notes__", ()))])


def timeout_trace(case: Case, timeout: float, context: RunContext, how: str = "") -> Trace:
    """What was seen of a case until its time was up."""
    return context.recorder.partial(case, too_long(timeout, how))


def too_long(timeout: float, how: str = "") -> TraceError:
    return TraceError(TIMEOUT, f"the case took longer than {timeout:g} s{how}")


def skip_case(item: Item, redactor: Redactor) -> CaseResult:
    """The record of a case that is not to be run."""
    error = TraceError("skipped", f"it was not run: {item.case.skip}")
    trace = Trace(case_id=item.case.id, input=item.case.prompt, tool_calls=(), error=error)
    return finish_case(item, trace, 0.0, redactor)


def error_result(item: Item, error: TraceError, duration_ms: float, redactor: Redactor) -> CaseResult:
    """The record of a case whose process was lost."""
    case, missing = item.case, dict.fromkeys(("tools", "telemetry", "page"), error.message)
    trace = Trace(case_id=case.id, input=case.prompt, unobserved=missing, duration_ms=duration_ms, error=error)
    return finish_case(item, trace, duration_ms, redactor)
