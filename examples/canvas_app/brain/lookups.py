"""Answers of the rule-based brain that are looked up and need no tool."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from canvas_app.brief.compose import compose_brief
from canvas_app.brief.overrides import awake
from canvas_app.catalog import ME, SOURCE_NAMES, TEMPLATES
from canvas_app.records import Event
from canvas_app.signals.facts import assumption
from canvas_app.signals.metrics import Metric
from canvas_app.signals.numbers import COUNTERS
from canvas_app.signals.report import SourceReport, State, counted_events, read_source
from canvas_app.signals.windows import day_before, day_window, week_window
from canvas_app.store.workspace import Workspace
from canvas_app.wording import age_text, clipped, listed, minutes_between

MAX_DETAILS = 5

_WINDOW_WORDS = {"today": "today", "yesterday": "yesterday", "week": "this week"}


def _waiting(event: Event) -> bool:
    waits = event.text("status") == "open" and event.text("review") == "waiting" and event.text("reviewer") == ME
    return event.kind == "pull_request" and waits


_DETAILS: Mapping[str, tuple[Callable[[Event], bool], Callable[[Event], str]]] = {
    "waiting_reviews": (_waiting, lambda e: f"{e.text('repo')}#{e.text('number')} {e.text('title')}"),
    "open_bugs": (
        lambda e: e.kind == "issue" and e.text("status") == "open" and e.text("label") == "bug",
        lambda e: f"{e.text('repo')}#{e.text('number')} {e.text('title')}",
    ),
    "unanswered": (
        lambda e: bool(e.data.get("mentions_me")) and not e.data.get("answered"),
        lambda e: f"{e.text('author')} in {e.text('channel')}: {clipped(e.text('text'), 80)}",
    ),
    "failed": (
        lambda e: e.text("status") == "error",
        lambda e: f"{e.text('app')} ({e.text('environment')}, {e.text('branch')})",
    ),
}


def _passes(event: Event, filters: Mapping[str, str]) -> bool:
    return all(event.text(name) == value for name, value in filters.items())


def _details(workspace: Workspace, metric: Metric, window: str, filters: Mapping[str, str]) -> list[str]:
    """The items behind a number where naming them helps, the newest first."""
    if metric.key not in _DETAILS:
        return []
    wanted, worded = _DETAILS[metric.key]
    space = workspace.spaces.current()
    kept = counted_events(workspace, space, metric.source)
    events = [event for event in kept if wanted(event) and _passes(event, filters)]
    synced_at = workspace.recorded.synced_at(space, metric.source)
    if metric.windowed and synced_at is not None:
        today = day_window(synced_at)
        spans = {"today": today, "yesterday": day_before(today), "week": week_window(synced_at)}
        events = spans[window].within(events)
    now = workspace.clock()
    return [f"- {worded(event)}, {age_text(minutes_between(event.at, now))}" for event in events[:MAX_DETAILS]]


def _narrowed(workspace: Workspace, report: SourceReport, filters: Mapping[str, str]) -> SourceReport:
    """The report with the numbers of those events alone that pass the filters."""
    space = workspace.spaces.current()
    synced_at = workspace.recorded.synced_at(space, report.source)
    if not filters or synced_at is None:
        return report
    events = tuple(e for e in counted_events(workspace, space, report.source) if _passes(e, filters))
    return replace(report, numbers=COUNTERS[report.source](events, synced_at))


def _by(filters: Mapping[str, str]) -> str:
    return "".join(f" {'by' if name == 'author' else 'in'} {value}" for name, value in filters.items())


def metric_answer(workspace: Workspace, metric: Metric, window: str, filters: Mapping[str, str]) -> str:
    report = _narrowed(workspace, read_source(workspace, workspace.spaces.current(), metric.source), filters)
    if report.state in (State.OFF, State.EXCLUDED) or report.age_minutes is None:
        return f"ASSUMPTION: {assumption(report)}"
    when = _by(filters) + (f" {_WINDOW_WORDS[window]}" if metric.windowed else "")
    if metric.windowed and window == "today":
        when += f", {metric.value(report, 'yesterday'):,} yesterday"
    line = f"{report.name}: {metric.worded(metric.value(report, window))}{when} ({age_text(report.age_minutes)})."
    lines = [line, *_details(workspace, metric, window, filters)]
    if not report.fresh:
        lines.append(f"ASSUMPTION: {assumption(report)}")
    return "\n".join(lines)


def _canvas(workspace: Workspace) -> str:
    space = workspace.spaces.current()
    cards = [card.name for card in workspace.components.on(space)]
    return f"On {space.name}: {listed(cards)}." if cards else f"{space.name} is empty."


def _spaces(workspace: Workspace) -> str:
    here = workspace.spaces.current().name
    return f"You are in {here}. Your spaces: {listed(space.name for space in workspace.spaces.all())}."


def _rules(workspace: Workspace) -> str:
    rules = [rule.text for rule in workspace.rules.all()]
    return f"Your rules: {'; '.join(rules)}." if rules else "There is no rule yet."


def _integrations(workspace: Workspace) -> str:
    space = workspace.spaces.current()
    lines = []
    for report in (read_source(workspace, space, source) for source in SOURCE_NAMES):
        age = "" if report.age_minutes is None else f", synced {age_text(report.age_minutes)}"
        lines.append(f"- {report.name}: {report.state.value}{age}")
    return f"Integrations in {space.name}:\n" + "\n".join(lines)


def _templates(workspace: Workspace) -> str:
    return "Templates:\n" + "\n".join(f"- {template.name}: {template.summary}" for template in TEMPLATES)


def _mission(workspace: Workspace) -> str:
    space = workspace.spaces.current()
    brief = compose_brief(workspace, space, awake(workspace.spaces.brief(space), workspace.clock()))
    return f"{brief.mission}. {brief.why}" if brief else "No source has fresh data, so there is no mission."


_TOPICS: Mapping[str, Callable[[Workspace], str]] = {
    "canvas": _canvas,
    "spaces": _spaces,
    "rules": _rules,
    "integrations": _integrations,
    "templates": _templates,
    "mission": _mission,
}


def topic_answer(workspace: Workspace, topic: str) -> str:
    return _TOPICS[topic](workspace)
