"""The library of stress: what `carob` offers of it in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from carob.api import _read_base, find_config, selection_of
from carob.engine.rescoring import (
    AnyJournal,
    default_results_dir,
    open_journal,
)
from carob.reports.run_result import RunResult
from carob.system.sync_async import make_sync
from carob.text.wording import names_of

if TYPE_CHECKING:
    from carob.engine.request import AnyTarget
    from carob.features.stress.session import StressKeywords, StressResult


async def astress(
    suite: str | Path,
    target: AnyTarget | None = None,
    *,
    base: AnyJournal | None = None,
    resume: AnyJournal | None = None,
    **how: Unpack[StressKeywords],
) -> StressResult | RunResult:
    """Break the world around an agent in one way at a time, and judge what must hold whatever happens.

    `base`: a journal of the suite to start from, instead of a run; `resume`: an interrupted stress run to finish. Gives
    the run without faults where that did not come to its end.
    """
    from carob.engine.request import RunOptions, RunRequest, refuse_unknown
    from carob.features.stress.session import StressKeywords, StressOptions, stress_suite

    refuse_unknown(how, StressKeywords)
    config = find_config()
    project = config.project
    options = StressOptions(
        seed=how.get("seed", 0),
        max_runs=how.get("max_runs", 200),
        base="" if base is None else open_journal(base, project).path,
        injections=str(how.get("injections") or ""),
        faults=tuple(names_of("faults", how.get("faults")) or ()),
    )
    previous = None if resume is None else open_journal(resume, project)
    folder = Path(how.get("results_dir") or default_results_dir(str(suite), config))
    request = RunRequest.of(how, selection_of(how), read_base=_read_base)
    run_options = RunOptions.of(how, None if previous is None else previous.header)
    return await stress_suite(str(suite), target, run_options, request, folder, config, options, previous)


stress = make_sync(astress)


def write_broken(result: StressResult, path: str | Path) -> int:
    """Write the cells that broke as a Carob 1 suite, each with its fault and what must hold; how many there are."""
    from carob.features.stress.session import write_broken

    return write_broken(result, Path(path))
