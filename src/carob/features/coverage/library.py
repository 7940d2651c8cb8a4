"""The library of coverage: what `carob` offers of it in Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carob.engine import rescoring
from carob.engine.rescoring import (
    AnyJournal,
    AnySuite,
    as_journals,
    load_in,
    project_for,
)
from carob.targets.config import read_config

if TYPE_CHECKING:
    from carob.features.coverage.model import Coverage


def coverage(
    suite: AnySuite,
    runs: AnyJournal | Sequence[AnyJournal] = (),
    *,
    against: AnyJournal | Sequence[AnyJournal] = (),
    offered: str | Sequence[str] = (),
    unlike: str | Path | None = None,
) -> Coverage:
    """What a suite and runs reach of what is declared: tools, arguments, effects, rules, faults and expected keys.

    `runs`: journals, folders of them, or recordings that `replay:` reads. What was not observed is not covered.
    `against`: recorded conversations, of which the kinds that no case resembles are listed; some of each are written to
    the file `unlike`, which `carob.draft` reads. `offered`: what lists the tools of the agent, apart from what runs
    say: an answer to tools/list, definitions, an OpenAPI document, or `tools.py:TOOLS`.
    """
    from carob.engine.tool_lists import read_tools
    from carob.features.coverage.sources import measure_coverage, write_unlike

    project = project_for(suite)
    loaded, journals, others = load_in(suite, project), as_journals(runs), as_journals(against)
    tools = [read_tools(source, Path.cwd()) for source in ([offered] if isinstance(offered, str) else offered)]
    if unlike is None:
        return measure_coverage(loaded, journals, project, others, offered=tools)
    redactor = rescoring.configured_redactor(read_config(project))
    with write_unlike(Path(unlike), redactor) as write:
        return measure_coverage(loaded, journals, project, others, write, tools)
