"""Karat as a library: load a suite, judge a trace, run a suite, judge recorded runs again.

There is one implementation, and it is asynchronous; `run` waits for it and works inside a running event loop too, so
that notebooks and asynchronous tests can call it.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from karat import scoring
from karat.checks.catalog import CATALOG
from karat.engine.events import Listener
from karat.model.run import CaseRecord
from karat.model.suite import Case, Suite
from karat.model.trace import Trace
from karat.model.verdict import Verdict
from karat.runs.journal import Journal
from karat.runs.rescore import rescored, rescored_by
from karat.sessions import RunOptions, RunResult, Session, by_id, rewrite
from karat.suites import load
from karat.targets.base import Target
from karat.targets.config import TargetConfig, resolve
from karat.targets.config import load as load_config
from karat.targets.function import FunctionTarget

Result = TypeVar("Result")
AnyTarget = str | TargetConfig | Target | Callable[..., Any]


def load_suite(path: str | Path) -> Suite:
    """Read a suite file. Raises SuiteError with every problem that it holds."""
    return load(path, CATALOG)


async def aload_suite(path: str | Path) -> Suite:
    """`load_suite` for callers that must not block their event loop."""
    return await asyncio.to_thread(load_suite, path)


def judge(case: Case, trace: Trace) -> Verdict:
    """Judge what an agent did in one case."""
    return scoring.judge(CATALOG.compile(case), case.scoring, trace)


async def ajudge(case: Case, trace: Trace) -> Verdict:
    """`judge` for callers that must not block their event loop."""
    return await asyncio.to_thread(judge, case, trace)


def run(suite: Suite | str | Path, target: AnyTarget, **options: Any) -> RunResult:
    """Run a suite against a target and judge every case.

    `target` is a function that takes a prompt and returns text, a dict or a Trace; or a spec such as
    `python:module:function`; or a name of karat.toml. `options` are the fields of `RunOptions`. Without `results_dir`
    the journal lives in a temporary folder as long as the result does.
    """
    return _waited_for(arun(suite, target, **options))


async def arun(
    suite: Suite | str | Path, target: AnyTarget, *, listeners: Sequence[Listener] = (), **options: Any
) -> RunResult:
    """`run`, awaited."""
    loaded = suite if isinstance(suite, Suite) else load_suite(suite)
    given = RunOptions(**options)
    keep: tempfile.TemporaryDirectory[str] | None = None
    if given.results_dir is None:
        keep = tempfile.TemporaryDirectory(prefix="karat-")
        given = structs.replace(given, results_dir=Path(keep.name))
    result = await Session(loaded, as_target(target), given, listeners).run()
    return RunResult(result.journal, result.artifacts, keep)


def as_target(target: AnyTarget) -> TargetConfig | Target:
    """What a caller means by a target."""
    if isinstance(target, str):
        here = Path.cwd()
        return resolve(target, load_config(here), here)
    if isinstance(target, TargetConfig):
        return target
    return FunctionTarget(target) if callable(target) else target


def rescore(
    journal: str | Path,
    suite: Suite | None = None,
    *,
    results_dir: Path | None = None,
    dropped: Callable[[str], None] = lambda case_id: None,
) -> RunResult:
    """Judge a recorded run again, by its own cases or by those of a suite, and write a new journal and reports."""
    recorded = Journal(journal)
    changes: dict[str, Any] = {}
    records: Iterator[CaseRecord] = rescored(recorded)
    if suite is not None:
        changes = {
            "suite": suite.file,
            "suite_format": suite.format,
            "suite_version": suite.version,
            "suite_sha256": suite.sha256,
            "total": len(suite.cases) * recorded.header.repeat,
        }
        records = rescored_by(recorded, by_id(suite.cases), dropped)
    return rewrite(records, recorded, changes, results_dir)


def _waited_for(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine; on a thread of its own where this one already runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def on_its_own() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            failure.append(error)

    thread = threading.Thread(target=on_its_own, name="karat-run")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
