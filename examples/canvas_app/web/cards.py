"""What each kind of component shows, as plain data for one template."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from canvas_app.catalog import ME, SOURCE_NAMES, Source
from canvas_app.records import Component, Event, Space
from canvas_app.signals.report import SourceReport, State, counted_events, read_source
from canvas_app.signals.windows import Window, day_before, day_window, week_window
from canvas_app.store.workspace import Workspace
from canvas_app.wording import age_text, change_text, minutes_between

MAX_ROWS = 5


@dataclass(frozen=True, slots=True)
class Stat:
    label: str
    value: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    meta: str
    chip: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """One number for each of the seven days, the oldest first."""

    label: str
    values: tuple[int, ...]

    @property
    def heights(self) -> tuple[int, ...]:
        highest = max(self.values) or 1
        return tuple(round(value * 100 / highest) for value in self.values)


@dataclass(frozen=True, slots=True)
class Body:
    stats: tuple[Stat, ...] = ()
    rows: tuple[Row, ...] = ()
    chart: Chart | None = None


@dataclass(frozen=True, slots=True)
class Card:
    id: int
    name: str
    source: str
    source_name: str
    state: str
    age: str
    note: str
    body: Body


@dataclass(frozen=True, slots=True)
class View:
    """The events of a component after its filters, and the times they are read at."""

    events: tuple[Event, ...]
    until: datetime
    now: datetime
    day: str = "today"
    day_before: str = "yesterday"

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]

    def age(self, event: Event) -> str:
        return age_text(minutes_between(event.at, self.now))


def _days(until: datetime) -> list[Window]:
    windows = [day_window(until)]
    for _ in range(6):
        windows.append(day_before(windows[-1]))
    return windows[::-1]


def _per_day(view: View, events: list[Event], label: str, summed: bool = False) -> Chart:
    days = [window.within(events) for window in _days(view.until)]
    values = tuple(sum(event.count() for event in day) if summed else len(day) for day in days)
    return Chart(label, values)


def _commit_row(view: View, event: Event) -> Row:
    return Row(event.text("message"), f"{event.text('repo')} · {event.text('author')} · {view.age(event)}")


def _pull_row(view: View, event: Event) -> Row:
    merged = event.text("status") == "merged"
    review = "merged" if merged else event.text("review")
    tone = {"waiting": "warn", "changes requested": "bad", "approved": "good", "merged": "calm"}.get(review, "")
    meta = f"{event.text('repo')} · {event.text('author')} · {view.age(event)}"
    return Row(f"#{event.text('number')} {event.text('title')}", meta, review, tone)


def _message_row(view: View, event: Event) -> Row:
    open_question = bool(event.data.get("mentions_me")) and not event.data.get("answered")
    meta = f"{event.text('author')} in {event.text('channel')} · {view.age(event)}"
    return Row(event.text("text"), meta, "unanswered" if open_question else "", "warn" if open_question else "")


def my_activity(view: View) -> Body:
    commits = [event for event in view.of("commit") if event.text("author") == ME]
    pulls = [event for event in view.of("pull_request") if event.text("author") == ME]
    mine = sorted([*commits, *pulls], key=lambda event: event.at, reverse=True)[:MAX_ROWS]
    rows = tuple(_commit_row(view, event) if event.kind == "commit" else _pull_row(view, event) for event in mine)
    week = week_window(view.until)
    open_pulls = sum(event.text("status") == "open" for event in pulls)
    stats = (
        Stat("My commits this week", str(len(week.within(commits)))),
        Stat("My open pull requests", str(open_pulls)),
    )
    return Body(stats, rows, _per_day(view, commits, "My commits per day"))


def pull_requests(view: View) -> Body:
    pulls = view.of("pull_request")
    opened = [event for event in pulls if event.text("status") == "open"]
    waiting = [event for event in opened if event.text("review") == "waiting" and event.text("reviewer") == ME]
    stats = (Stat("Open", str(len(opened))), Stat("Wait for you", str(len(waiting)), tone="warn" if waiting else ""))
    return Body(stats, tuple(_pull_row(view, event) for event in (opened or pulls)[:MAX_ROWS]))


def commits(view: View) -> Body:
    made = view.of("commit")
    today = day_window(view.until)
    stats = (
        Stat(
            f"Commits {view.day}",
            str(len(today.within(made))),
            f"{len(day_before(today).within(made))} {view.day_before}",
        ),
        Stat("This week", str(len(week_window(view.until).within(made)))),
    )
    return Body(stats, tuple(_commit_row(view, event) for event in made[:3]), _per_day(view, made, "Commits per day"))


def issues(view: View) -> Body:
    filed = view.of("issue")
    opened = [event for event in filed if event.text("status") == "open"]
    bugs = [event for event in opened if event.text("label") == "bug"]
    rows = tuple(
        Row(
            f"#{event.text('number')} {event.text('title')}",
            f"{event.text('repo')} · {view.age(event)}",
            event.text("label"),
            "bad" if event.text("label") == "bug" else "calm",
        )
        for event in (opened or filed)[:MAX_ROWS]
    )
    return Body((Stat("Open", str(len(opened))), Stat("Bugs", str(len(bugs)), tone="bad" if bugs else "")), rows)


def mentions(view: View) -> Body:
    mine = [event for event in view.of("message") if event.data.get("mentions_me")]
    unanswered = [event for event in mine if not event.data.get("answered")]
    today = day_window(view.until)
    stats = (
        Stat(
            f"Mentions {view.day}",
            str(len(today.within(mine))),
            f"{len(day_before(today).within(mine))} {view.day_before}",
        ),
        Stat("Unanswered", str(len(unanswered)), tone="warn" if unanswered else ""),
    )
    return Body(stats, tuple(_message_row(view, event) for event in mine[:MAX_ROWS]))


def channel_activity(view: View) -> Body:
    said = view.of("message")
    stats = (
        Stat(f"Messages {view.day}", str(len(day_window(view.until).within(said)))),
        Stat("This week", str(len(week_window(view.until).within(said)))),
    )
    return Body(stats, tuple(_message_row(view, event) for event in said[:3]), _per_day(view, said, "Messages per day"))


def unanswered(view: View) -> Body:
    waiting = [e for e in view.of("message") if e.data.get("mentions_me") and not e.data.get("answered")]
    stats = (Stat("Wait for your answer", str(len(waiting)), tone="warn" if waiting else ""),)
    return Body(stats, tuple(_message_row(view, event) for event in waiting[:MAX_ROWS]))


def _trend(view: View, event: str, label: str, rising: str = "") -> Stat:
    today = day_window(view.until)
    found = view.of(event)
    now, before = (sum(e.count() for e in window.within(found)) for window in (today, day_before(today)))
    tone = rising if rising and now * 5 >= before * 6 else ""
    return Stat(f"{label} {view.day}", f"{now:,}", f"{change_text(now, before)} on {view.day_before}", tone)


def site_health(view: View) -> Body:
    stats = (
        _trend(view, "exception", "Exceptions", "bad"),
        _trend(view, "pageview", "Pageviews"),
        _trend(view, "checkout", "Checkouts"),
    )
    return Body(stats, chart=_per_day(view, view.of("exception"), "Exceptions per day", summed=True))


def signups(view: View) -> Body:
    week = sum(event.count() for event in week_window(view.until).within(view.of("signup")))
    stats = (_trend(view, "signup", "Signups"), Stat("This week", f"{week:,}"))
    return Body(stats, chart=_per_day(view, view.of("signup"), "Signups per day", summed=True))


def event_trend(view: View) -> Body:
    names = sorted({event.kind for event in view.events})
    stats = tuple(_trend(view, name, f"{name.capitalize()}s") for name in names[:4])
    chart = (
        _per_day(view, view.of(names[0]), f"{names[0].capitalize()}s per day", summed=True) if len(names) == 1 else None
    )
    return Body(stats, chart=chart)


def deployments(view: View) -> Body:
    made = view.of("deployment")
    today = day_window(view.until).within(made)
    failed = sum(event.text("status") == "error" for event in today)
    rows = tuple(
        Row(
            event.text("app"),
            f"{event.text('environment')} · {event.text('branch')} · {view.age(event)}",
            "failed" if event.text("status") == "error" else event.text("status"),
            "bad" if event.text("status") == "error" else "good",
        )
        for event in made[:MAX_ROWS]
    )
    stats = (
        Stat(f"Deployments {view.day}", str(len(today))),
        Stat("Failed", str(failed), tone="bad" if failed else ""),
    )
    return Body(stats, rows)


def build_health(view: View) -> Body:
    week = week_window(view.until).within(view.of("deployment"))
    good = [event for event in week if event.text("status") == "ready"]
    rate = round(len(good) * 100 / len(week)) if week else 0
    seconds = sorted(event.count("seconds") for event in week)
    median = seconds[len(seconds) // 2] if seconds else 0
    stats = (Stat("Builds that succeed", f"{rate}%"), Stat("Median build time", f"{median} s"))
    return Body(stats, chart=_per_day(view, view.of("deployment"), "Builds per day"))


BODIES: Mapping[str, Callable[[View], Body]] = {
    "my_activity": my_activity,
    "pull_requests": pull_requests,
    "commits": commits,
    "issues": issues,
    "mentions": mentions,
    "channel_activity": channel_activity,
    "unanswered": unanswered,
    "site_health": site_health,
    "signups": signups,
    "event_trend": event_trend,
    "deployments": deployments,
    "build_health": build_health,
}


def _passes(event: Event, filters: Mapping[str, str]) -> bool:
    return all((event.kind if field == "event" else event.text(field)) == value for field, value in filters.items())


def _note(report: SourceReport, space: Space) -> str:
    if report.state is State.OFF:
        return f"{report.name} is switched off in {space.name}."
    if report.state is State.EMPTY:
        return f"{report.name} has nothing to show this week."
    return ""


def card_for(workspace: Workspace, space: Space, component: Component, reports: Mapping[Source, SourceReport]) -> Card:
    source = component.kind.source
    report = reports[source]
    synced_at = workspace.recorded.synced_at(space, source)
    body, note = Body(), _note(report, space)
    if not note and synced_at is not None:
        events = tuple(e for e in counted_events(workspace, space, source) if _passes(e, component.filters))
        words = ("on its last day", "the day before") if report.state is State.STALE else ("today", "yesterday")
        body = BODIES[component.kind.kind](View(events, synced_at, workspace.clock(), *words))
    age = age_text(report.age_minutes) if report.age_minutes is not None else ""
    return Card(component.id, component.name, source.value, SOURCE_NAMES[source], report.state.value, age, note, body)


def cards_on(workspace: Workspace, space: Space) -> list[Card]:
    reports = {source: read_source(workspace, space, source) for source in Source}
    return [card_for(workspace, space, component, reports) for component in workspace.components.on(space)]
