"""A check as a page that needs nothing else: the table, and for each rule its plot, what changed, and examples."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from carob.features.check.model import IN_TIME, CheckReport, GroupFigures, RuleReport
from carob.features.check.report import (
    NOT_TESTED,
    NOTHING_TESTED,
    about_lines,
    change_words,
    example_words,
    gate_words,
    headline,
    interval_words,
    needs_details,
    rule_counts,
    share_words,
    unit_words,
)
from carob.scoring.intervals import Estimate

HERE: Final = Path(__file__).parent / "templates"
WIDTH: Final = 1000.0
HEIGHT: Final = 200.0
MOST_ROWS: Final = 30


class Point(NamedTuple):
    """The share of one day or week, from its lowest to its highest, in the units of the plot."""

    x: float
    y: float
    low: float
    high: float
    width: float
    words: str


class Level(NamedTuple):
    """The share before a change, or since."""

    start: float
    end: float
    y: float


class Plot(NamedTuple):
    """A rule over time."""

    points: list[Point]
    levels: list[Level]
    top: str
    first: str
    last: str
    words: str


class GroupBar(NamedTuple):
    """The share of a model, version or user."""

    name: str
    words: str
    share: float
    low: float
    high: float


def check_page(report: CheckReport) -> bytes:
    """The page as bytes. Nothing that a conversation said becomes markup, and it loads nothing."""
    from carob.reports.html.pages import environment

    templates = environment(HERE)
    style = (HERE / "check.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = templates.get_template("check.html").render(
        report=report,
        style=style,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        headline=headline(report),
        about=[*about_lines(report), unit_words(report)],
        rules=[(rule, plot_rule(rule, report), bar_rows(rule, report)) for rule in report.rules],
        not_tested=NOT_TESTED,
        nothing=NOTHING_TESTED if not report.tested else "",
        change_words=change_words,
        example_words=example_words,
        gate_words=gate_words,
        interval_words=interval_words,
        needs_details=needs_details,
        rule_counts=rule_counts,
    )
    return page.encode("utf-8", "replace")


def plot_rule(rule: RuleReport, report: CheckReport) -> Plot | None:
    """The points of a rule over days or weeks; None for what is not in time, or has one point alone."""
    if report.by not in IN_TIME:
        return None
    groups = [group for group in rule.groups if group.figures.share is not None and group.name[:1].isdigit()]
    if len(groups) < 2:
        return None
    shares = [group.figures.share or Estimate(0, 0, 0) for group in groups]
    top = _find_top([share.value for share in shares], [share.high for share in shares])
    step = WIDTH / len(groups)

    def height(share: float) -> float:
        return round(HEIGHT * (1 - min(share / top, 1)), 2)

    points = [
        Point(
            round((number + 0.5) * step, 2),
            height(share.value),
            height(share.low),
            height(share.high),
            round(min(step * 0.6, 24), 2),
            f"{group.name}: {interval_words(share)}, {rule_counts(group.figures)}",
        )
        for number, (group, share) in enumerate(zip(groups, shares, strict=True))
    ]
    levels = _find_levels(rule, groups, step, height)
    words = f"Share of conversations that broke {rule.id} by {report.by}, from {groups[0].name} to {groups[-1].name}"
    return Plot(points, levels, share_words(top), groups[0].name, groups[-1].name, words)


def _find_top(values: list[float], highs: list[float]) -> float:
    """The share at the top: all values are below it or at 100 %, and most of their intervals."""
    ordered = sorted(highs)
    return min(max(max(values) * 1.15, ordered[len(ordered) * 3 // 4], 1e-6), 1)


def _find_levels(rule: RuleReport, groups: list[GroupFigures], step: float, height: object) -> list[Level]:
    if not rule.changes or not callable(height):
        return []
    change = rule.changes[0]
    at = next((number for number, group in enumerate(groups) if group.name >= change.group), 0) * step
    before, after = change.before.share, change.after.share
    if before is None or after is None:
        return []
    return [Level(0, round(at, 2), height(before.value)), Level(round(at, 2), WIDTH, height(after.value))]


def bar_rows(rule: RuleReport, report: CheckReport) -> list[GroupBar]:
    """The shares of groups that are not in time, those that broke the rule most often first."""
    if report.by is None or report.by in IN_TIME:
        return []
    groups = [group for group in rule.groups if group.figures.share is not None][:MOST_ROWS]
    top = max((group.figures.share.high for group in groups if group.figures.share), default=1.0)
    rows = []
    for group in groups:
        share = group.figures.share or Estimate(0, 0, 0)
        places = [round(WIDTH * min(value / top, 1), 2) for value in share[:3]]
        rows.append(GroupBar(group.name, f"{interval_words(share)}, {rule_counts(group.figures)}", *places))
    return rows
