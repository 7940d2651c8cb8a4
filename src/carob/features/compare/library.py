"""The library of comparing runs: what `carob` offers of it in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from carob.engine.rescoring import (
    AnyJournal,
    name_run,
    open_journal,
)
from carob.plugins.project import find_project

if TYPE_CHECKING:
    from carob.features.compare.model import Comparison, History
    from carob.features.compare.references import BaselineFile


def compare_runs(
    base: AnyJournal,
    new: AnyJournal,
    *,
    confidence: float | None = None,
    results_dir: str | Path | None = None,
    mix_tapes: bool = False,
    together: int = 1,
    **gates: float | None,
) -> Comparison:
    """Better or worse, and how sure: two runs case by case, and whether the gates of carob.toml and these are met.

    A run is the result of `run`, a journal, a folder of them, `@last`, `@last-green`, a commit or tag that was run; the
    base also the last five runs (`@last-5`), a baseline, or `@baseline` for that of the suite. `gates` are those of the
    `[gate]` table.
    A run that was replayed from a tape is compared with one that was not only if `mix_tapes` allows it. `together` is
    the number of comparisons that are acted on at once: all of them give a false alarm no more often than one would.
    """
    from carob.features.compare.comparisons import compare_runs

    runs = name_run(base), name_run(new)
    return compare_runs(*runs, results_dir, gates, confidence, find_project(), mix_tapes=mix_tapes, together=together)


def set_baseline(
    run: AnyJournal, *, file: str | Path | None = None, results_dir: str | Path | None = None
) -> BaselineFile:
    """Keep a run as the baseline of its suite: a small file next to the suite, or at another place."""
    from carob.features.compare import references

    return references.set_baseline(name_run(run), None if file is None else Path(file), results_dir, find_project())


def last_suite() -> Path:
    """The suite of the last run here."""
    return Path(open_journal("@last", find_project()).header.suite)


def load_baseline(file: str | Path) -> BaselineFile:
    """The baseline of a suite, or of this file."""
    from carob.features.compare import references

    return references.load_baseline(Path(file))


def history(
    folder: str | Path | None = None, *, suite: str = "", target: str = "", runs: int = 20, since: str = ""
) -> History:
    """The last runs of a suite against one target, case by case: what broke when, and what is flaky."""
    from carob.features.compare.comparisons import build_history

    return build_history(folder, find_project(), most=runs, since=since, suite=suite, target=target)
