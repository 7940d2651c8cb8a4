"""The library of checking conversations: what `carob` offers of it in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carob.plugins.project import find_project
from carob.suites.documents.source import SuiteSource

if TYPE_CHECKING:
    from carob.features.check.model import CheckReport, GroupKey
    from carob.options import ExecutorName


def check_conversations(
    sources: str | Path | Sequence[str | Path],
    rules: SuiteSource | Sequence[str | Path] = (),
    *,
    suite: SuiteSource | None = None,
    by: GroupKey | None = None,
    since: str = "",
    where: str = "",
    sample: int | None = None,
    max_broken: float | None = None,
    allow_unknown: bool = False,
    outputs: Sequence[str | Path] = (),
    keep: int = 1_000,
    format: str = "",
    workers: int | None = None,
    executor: ExecutorName = "processes",
    ray_address: str | None = None,
    keep_personal_data: bool = False,
    on_progress: Callable[[int, str], None] | None = None,
) -> CheckReport:
    """Judge recorded conversations by rules: what share of them broke a rule, which ones, and since when.

    `sources` are exports, folders of them or `-`; `rules` a file of rules, several, or what such a file would hold, by
    default those of carob.toml. `suite`: its rules, and what its `defaults` expect. The other arguments are the options
    of `carob check`; `on_progress` is called with how many were judged and where the last one is from.
    """
    from carob.features.check.session import CheckOptions, check_conversations

    options = CheckOptions(
        by=by,
        since=since,
        where=where,
        sample=sample,
        max_broken=max_broken,
        allow_unknown=allow_unknown,
        outputs=tuple(map(Path, outputs)),
        keep=keep,
        format=format,
        workers=workers,
        executor=executor,
        ray_address=ray_address,
        keep_personal_data=keep_personal_data,
    )
    listed = [sources] if isinstance(sources, str | Path) else sources
    policies = [rules] if isinstance(rules, str | Path | Mapping) else list(rules)
    return check_conversations(listed, policies, suite, options, find_project(), on_progress)
