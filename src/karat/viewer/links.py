"""Addresses of the viewer's pages; the templates escape them."""

from __future__ import annotations

from urllib.parse import urlencode

from msgspec import structs

from karat.journal.index import CaseFilter
from karat.reports.html.run_view import GroupView


class OfRun:
    """Addresses within one run; what it is filtered by goes along."""

    def __init__(self, run: str, chosen: CaseFilter, neighbours: tuple[int | None, int | None] = (None, None)) -> None:
        self._run = run
        self._query = query(chosen)
        self.before, self.after = ("" if index is None else self.case(index, 0) for index in neighbours)

    @property
    def run(self) -> str:
        return f"/run/{self._run}{self._query}"

    def case(self, index: int, repeat: int) -> str:
        return f"/run/{self._run}/case/{index}/{repeat}{self._query}"

    def hash(self, anchor: str) -> str:
        return ""

    def group(self, group: GroupView) -> str:
        return f"/run/{self._run}{query(CaseFilter(check=group.name, kind=group.kind))}"


def query(chosen: CaseFilter) -> str:
    given = {name: value for name, value in structs.asdict(chosen).items() if value}
    return f"?{urlencode(given)}" if given else ""
