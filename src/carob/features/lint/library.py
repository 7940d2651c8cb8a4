"""The library of lint: what `carob` offers of it in Python."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from carob.checks.catalog import catalog_for
from carob.plugins.project import find_project
from carob.suites.documents.source import SuiteSource, source
from carob.system.sync_async import make_sync
from carob.text.wording import names_of

if TYPE_CHECKING:
    from carob.features.lint.linter import LintReport
    from carob.targets.config import TargetConfig


def linter(
    target: str | TargetConfig | None = None, *, ignore: Collection[str] = ()
) -> Callable[[SuiteSource], LintReport]:
    """A linter of suites for a target whose tools and page are looked up once."""
    from carob.features.lint.linter import check_slugs, lint_source
    from carob.features.lint.target import find_target_info

    project = find_project()
    check_slugs(names_of("ignore", ignore) or ())
    catalog, info = catalog_for(project), find_target_info(target, project)
    return lambda suite: lint_source(*source(suite), catalog, info, ignore)


async def alint(
    suite: SuiteSource, *, target: str | TargetConfig | None = None, ignore: Collection[str] = ()
) -> LintReport:
    """Look for smells: expectations that are allowed and most likely prove less than they seem to.

    `target` says whose page and tools to look at, by default every page of carob.toml; `ignore` names kinds of smells.
    """
    from asyncio import to_thread

    return await to_thread(lambda: linter(target, ignore=ignore)(suite))


lint = make_sync(alint)
