"""Running suites from the command line: configuration, progress, signals, summary."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from karat.api import load_suite
from karat.cli.loading import loading
from karat.cli.main import complain
from karat.cli.options import nearby
from karat.cli.progress import listener_for
from karat.errors import Exit, NothingSelectedError, UsageError
from karat.model.suite import Suite
from karat.model.trace import REMOVED
from karat.reports.terminal import show_cases, show_summary, wants_colour
from karat.session import Earlier, RunOptions, RunResult, Session, secret_values
from karat.suites.select import select
from karat.targets.config import HIDDEN, Config, parse_rate, resolve
from karat.targets.config import load as load_config
from karat.text.wording import did_you_mean
from karat.traces.clean import text

SHOW_CURSOR = b"\x1b[?25h\n"
STOPPING = b"\nkarat: stopping; once more stops at once\n"
NO_TARGET = "Give --target python:module:function, or set `target` in karat.toml."


def run_suites(files: Sequence[str], given: Mapping[str, Any]) -> int:
    """Load every suite before any is run, then run them one after the other; the exit code is the worst."""
    config = load_config(Path.cwd())
    target_name = given["target"] or config.target
    if not target_name:
        raise UsageError("no target was given.", fix=NO_TARGET, slug="no-target")
    if text(target_name) != target_name:
        raise UsageError(f"the target {target_name!r} is not UTF-8.", fix="Rename it.", slug="bad-target")
    if len(files) > 1 and any("=" in report for report in given["reports"]):
        fix = "Leave the path out: each run's reports then stand beside its journal."
        raise UsageError("several suites cannot have one report.", fix=fix, slug="bad-option")
    with loading():
        suites = selected([load_suite(file) for file in files], given["cases"], given["category"])
    codes: list[int] = []
    most, failures = _max_failures(given), 0
    for number, suite in enumerate(suites, 1):
        allowed = None if most is None else most - failures
        shared = {**given, "fail_fast": False, "max_failures": allowed}
        result, stopped = _run(suite, target_name, config, shared)
        summary = result.summary
        codes.append(result.exit_code(strict=given["strict"]))
        failures += summary.failed + summary.error
        enough = most is not None and failures >= most
        why = f"stopped after {failures} failed case{'s' * (failures > 1)}" if enough else summary.incomplete
        if stopped and not why and number < len(suites):
            why = "interrupted"
            codes.append(Exit.INTERRUPTED)
        if why and number < len(suites):
            left = ", ".join(suite.file for suite in suites[number:])
            click.echo(f"karat: {why}; not run: {left}", err=True)
            break
    return worst(codes)


def run_one(
    suite: Suite, target_name: str, config: Config, given: Mapping[str, Any], earlier: Earlier | None = None
) -> int:
    """Run one suite and show how it went."""
    result, _ = _run(suite, target_name, config, given, earlier)
    return result.exit_code(strict=given["strict"])


def _run(
    suite: Suite, target_name: str, config: Config, given: Mapping[str, Any], earlier: Earlier | None = None
) -> tuple[RunResult, bool]:
    """How a suite came out, and whether somebody wants no other to be begun."""
    for warning in suite.warnings:
        click.echo(warning, err=True)
    target = resolve(target_name, config, Path.cwd())
    if given["overrides"]:
        target = structs.replace(target, options={**target.options, **given["overrides"]})
    options = _options(given, target_name, config)
    colour = wants_colour(sys.stdout, os.environ)
    listener, closing = listener_for(sys.stdout, suite, colour=colour)
    session = Session(suite, target, options, [listener])
    if session.limits.why and options.concurrency * options.workers > 1:
        click.echo(f"karat: one case at a time: {session.limits.why}", err=True)
    with closing:
        result = asyncio.run(_interruptible(session, earlier))
    show(result, in_order=sys.stdout.isatty(), colour=colour)
    return result, session.is_interrupted


def selected(suites: Sequence[Suite], ids: Sequence[str] | None, categories: Sequence[str] | None) -> list[Suite]:
    """What is selected of each suite. A case may be of any of them, and suites that have none are left out."""
    if len(suites) == 1:
        return [select(suites[0], ids, categories)]
    known = {case.id for suite in suites for case in suite.cases}
    for name in ids or ():
        if name not in known:
            files = ", ".join(suite.file for suite in suites)
            fix = did_you_mean(name, known).strip() or "See `karat list`."
            raise UsageError(f"no case has the id {name!r}.", where=files, fix=fix, slug="unknown-case")
    found: list[Suite] = []
    empty: NothingSelectedError | None = None
    for suite in suites:
        own = {case.id for case in suite.cases}
        try:
            found.append(select(suite, None if ids is None else [name for name in ids if name in own], categories))
        except NothingSelectedError as error:
            empty = empty or error
    if not found and empty:
        raise empty
    return found


def show(result: RunResult, *, in_order: bool, colour: bool) -> None:
    """The lines of every case if they are still to be shown, then the summary."""
    if in_order or result.journal.header.repeat > 1:
        show_cases(result.journal, sys.stdout, folder=os.path.dirname(result.journal.path), colour=colour)
    show_summary(result.journal, result.artifacts, sys.stdout, colour=colour)
    for failure in result.failures:
        complain(f"karat: {failure}")


def worst(codes: Sequence[int]) -> int:
    """One exit code for several suites: an interruption before a failure before a success."""
    order = (Exit.INTERRUPTED, Exit.INTERNAL, Exit.FAILED, Exit.NOTHING_SELECTED)
    return next((code for code in order if code in codes), Exit.OK)


async def _interruptible(session: Session, earlier: Earlier | None) -> RunResult:
    """Ctrl-C once stops gracefully, twice at once."""
    loop = asyncio.get_running_loop()
    seen = 0

    def stop(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            if sys.stdout.isatty():
                os.write(1, SHOW_CURSOR)
            os._exit(Exit.INTERRUPTED)
        with suppress(OSError):
            os.write(2, STOPPING)
        loop.call_soon_threadsafe(session.interrupt)

    # Not the event loop's own handlers: an agent that blocks the loop would keep them from running.
    heard = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        return await session.run(earlier)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _max_failures(given: Mapping[str, Any]) -> int | None:
    most: int | None = given["max_failures"]
    if given["fail_fast"] and most is not None:
        raise UsageError("--fail-fast is --max-failures 1, and another number is given.", fix="Keep one of the two.")
    return 1 if given["fail_fast"] else most


def _options(given: Mapping[str, Any], target_name: str, config: Config) -> RunOptions:
    selection = {key: given[key] for key in ("cases", "category") if given.get(key) is not None}
    return RunOptions(
        timeout=given["timeout"],
        concurrency=given["concurrency"],
        workers=given["workers"],
        executor=given["executor"],
        ray_address=given["ray_address"],
        repeat=given["repeat"],
        shuffle=given["shuffle"],
        per_minute=None if given["rate"] is None else parse_rate(given["rate"]),
        retries=given["retries"],
        max_failures=_max_failures(given),
        run_timeout=given["run_timeout"],
        reports=given["reports"],
        results_dir=given["results_dir"] or nearby(config.results_dir),
        selection=selection,
        target_name=target_name,
        overrides={key: REMOVED if key in HIDDEN else value for key, value in given["overrides"].items()},
        secrets=secret_values(config, os.environ),
    )
