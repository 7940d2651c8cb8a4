"""One look at all sources of a space: what each says, how old it is, and whether it can be used."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from canvas_app.catalog import SOURCE_NAMES, STALE_AFTER_MINUTES, Source
from canvas_app.records import Event, Space
from canvas_app.signals.numbers import COUNTERS
from canvas_app.signals.windows import week_window
from canvas_app.store.workspace import Workspace
from canvas_app.wording import minutes_between


class State(StrEnum):
    FRESH = "fresh"
    STALE = "stale"
    EMPTY = "empty"
    OFF = "off"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class SourceReport:
    source: Source
    state: State
    age_minutes: int | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return SOURCE_NAMES[self.source]

    @property
    def fresh(self) -> bool:
        return self.state is State.FRESH


@dataclass(frozen=True, slots=True)
class Signals:
    reports: tuple[SourceReport, ...]

    def of(self, source: Source) -> SourceReport | None:
        return next((report for report in self.reports if report.source is source), None)

    def number(self, source: Source, name: str) -> int | None:
        """A number of a fresh source; nothing that is stale, empty or off counts as a fact of today."""
        report = self.of(source)
        return report.numbers.get(name) if report is not None and report.fresh else None

    @property
    def fresh(self) -> tuple[SourceReport, ...]:
        return tuple(report for report in self.reports if report.fresh)

    @property
    def doubtful(self) -> tuple[SourceReport, ...]:
        return tuple(report for report in self.reports if not report.fresh)


def sources_in_view(wanted: tuple[Source, ...] = ()) -> tuple[Source, ...]:
    """The sources that an answer is about: those asked for, else all."""
    return wanted or tuple(Source)


def stale_after(workspace: Workspace) -> int:
    kept = workspace.rules.value("max_age_minutes")
    return int(kept) if kept else STALE_AFTER_MINUTES


def counted_events(workspace: Workspace, space: Space, source: Source) -> tuple[Event, ...]:
    """The source's events less those of authors that a rule ignores."""
    ignored = workspace.rules.values("ignore_author")

    def is_ignored(author: str) -> bool:
        return author in ignored or ("bots" in ignored and author.endswith("-bot"))

    events = workspace.recorded.events(space, source)
    return tuple(event for event in events if not is_ignored(event.text("author")))


def read_source(workspace: Workspace, space: Space, source: Source) -> SourceReport:
    if not workspace.spaces.is_on(space, source):
        return SourceReport(source, State.OFF)
    synced_at = workspace.recorded.synced_at(space, source)
    if synced_at is None:
        return SourceReport(source, State.EMPTY)
    events = counted_events(workspace, space, source)
    age = minutes_between(synced_at, workspace.clock())
    numbers = COUNTERS[source](events, synced_at)
    if source.value in workspace.rules.values("exclude_source"):
        state = State.EXCLUDED
    elif age > stale_after(workspace):
        state = State.STALE
    elif not week_window(synced_at).within(events):
        state = State.EMPTY
    else:
        state = State.FRESH
    return SourceReport(source, state, age, numbers)


def measure(workspace: Workspace, space: Space, wanted: tuple[Source, ...] = ()) -> Signals:
    return Signals(tuple(read_source(workspace, space, source) for source in sources_in_view(wanted)))
