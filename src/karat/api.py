"""Karat as a library: load a suite, judge a trace, run a suite, judge recorded runs again.

There is one implementation, and it is asynchronous; `run` waits for it and works inside a running event loop too, so
that notebooks and asynchronous tests can call it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from karat import results, scoring
from karat.checks.catalog import CATALOG
from karat.engine.events import Listener
from karat.errors import UsageError
from karat.journal.reader import Journal
from karat.model.suite import Case, Suite
from karat.model.trace import Trace
from karat.model.verdict import Verdict
from karat.results import RunResult
from karat.session import Session, run_options, secret_values
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
    given: object = trace
    if not isinstance(given, Trace):
        fix = "Make a karat.Trace, or run a function that returns this with karat.run."
        raise UsageError(f"{type(given).__name__!r} is no trace.", fix=fix, slug="bad-trace")
    if trace.case_id not in ("", case.id):
        raise UsageError(f"the trace is of case {trace.case_id!r}, not of {case.id!r}.", slug="bad-trace")
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
    loaded = suite if isinstance(suite, Suite) else await aload_suite(suite)
    chosen, secrets = as_target(target)
    given = run_options({"secrets": secrets, **options})
    with _Place(given.results_dir) as place:
        session = Session(loaded, chosen, structs.replace(given, results_dir=place.folder), listeners)
        return place.kept_for(await session.run())


def as_target(target: AnyTarget) -> tuple[TargetConfig | Target, tuple[str, ...]]:
    """What a caller means by a target, and the secrets that its configuration names."""
    if isinstance(target, str):
        here = Path.cwd()
        config = load_config(here)
        return resolve(target, config, here), secret_values(config, os.environ)
    if isinstance(target, TargetConfig):
        return target, ()
    if callable(target):
        return FunctionTarget(target), ()
    if not hasattr(target, "run"):
        fix = "Give a function, a spec such as 'python:module:function', or an object with open, run and close."
        raise UsageError(f"{type(target).__name__!r} is no target.", fix=fix, slug="bad-target")
    return target, ()


def rescore(
    journal: str | Path | Journal,
    suite: Suite | str | Path | None = None,
    *,
    results_dir: str | Path | None = None,
    dropped: Callable[[str], None] = lambda case_id: None,
) -> RunResult:
    """Judge a recorded run again, by its own cases or by those of a suite.

    A case of the suite that was not recorded, or with another prompt, is an ERROR; `dropped` hears of recorded cases
    that the suite does not have. Without `results_dir` the new journal lives as long as the result does.
    """
    recorded = journal if isinstance(journal, Journal) else Journal(journal)
    loaded = load_suite(suite) if isinstance(suite, str | Path) else suite
    with _Place(results_dir) as place:
        return place.kept_for(results.rescore(recorded, loaded, place.folder, dropped))


class _Place:
    """Where the files of a run go: the folder that was given, or a temporary one that goes with the result."""

    def __init__(self, given: str | Path | None) -> None:
        self._temporary = given is None
        self._kept = False
        self.folder = Path(tempfile.mkdtemp(prefix="karat-") if given is None else given)

    def kept_for(self, result: RunResult) -> RunResult:
        self._kept = True
        if self._temporary:
            weakref.finalize(result, shutil.rmtree, self.folder, ignore_errors=True)
        return result

    def __enter__(self) -> _Place:
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary and not self._kept:
            shutil.rmtree(self.folder, ignore_errors=True)


def _waited_for(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine; on a thread of its own where this one already runs an event loop."""
    if not _in_event_loop():
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


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
