"""The page of a feature, as the viewer draws it for one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from carob.features.viewer.app import template_of
from carob.features.viewer.pages import run_head
from carob.journal.index import Index, IndexedRun
from carob.plugins.project import find_project
from carob.reports.html.run_pages import PageRequest


class OneRun(Index):
    """An index that knows one run, of which there is no journal."""

    def __init__(self, run: IndexedRun) -> None:
        self._only = run

    def run(self, key: str) -> IndexedRun | None:
        return self._only if key == self._only.key else None


def page_of(run: IndexedRun, page: Callable[[PageRequest], dict[str, Any]], template: Path) -> str:
    def head(of: IndexedRun) -> Any:
        return run_head(of, None)

    request = PageRequest(OneRun(run), find_project(template), "../../", {}, run.key, head)
    values = page(request)
    return template_of(template.name, template.parent).render(
        home="../../", key=run.key, run=head(run), listed=(), assets=(), written=(), **values
    )
