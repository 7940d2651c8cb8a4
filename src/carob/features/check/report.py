"""What a check found, in words that a terminal and a page share; as JSON, and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import structs

from carob.features.check import model
from carob.features.check.tally import name_moment
from carob.reports.rows import csv_line
from carob.scoring.intervals import Estimate
from carob.text.wording import describe_move, join_words, pluralize, visible

NOT_TESTED: Final = "not tested: nothing in these conversations triggered it"
NOTHING_TESTED: Final = (
    "Nothing was judged: no conversation triggered a rule. Check the names of the tools in the rules, or that the "
    "export has tool calls."
)
EXACT_USERS: Final = 200
"""Up to so many users, their number is exact."""
MOST_NAMED: Final = 10
"""Of the files that hold no recordings, so many are named."""
_COLUMNS: Final = ("rule", "group", "held", "broken", "unknown", "share", "low", "high")


def share_words(share: float) -> str:
    """`3%`, `0.02%`: two digits for what is rare."""
    percent = share * 100
    if percent >= 10 or percent == 0:
        return f"{percent:.3g}%"
    if percent >= 1:
        return f"{percent:.1f}%".replace(".0%", "%")
    return f"{percent:.2g}%" if percent >= 1e-4 else "under 0.0001%"


def interval_words(estimate: Estimate | None) -> str:
    """`3% (2.2% to 4%, Clopper-Pearson)`."""
    if estimate is None:
        return "–"
    method = f", {estimate.method}" if estimate.method else ""
    return f"{share_words(estimate.value)} ({share_words(estimate.low)} to {share_words(estimate.high)}{method})"


def headline(report: model.CheckReport) -> str:
    """`3,000 conversations: 53 broke a rule, 44 are unknown, 2,700 clean, 203 not covered by any rule`."""
    if not report.judged:
        return "0 conversations: there is nothing to judge"
    parts = [f"{report.broken:,} broke a rule"]
    if report.unknown:
        parts.append(f"{report.unknown:,} unknown")
    parts.append(f"{report.clean:,} clean")
    if report.untriggered:
        parts.append(f"{report.untriggered:,} not covered by any rule")
    return f"{count_words(report.judged, 'conversation')}: {', '.join(parts)}"


def count_words(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def about_lines(report: model.CheckReport) -> Iterator[str]:
    """What is to be known of the conversations before the figures."""
    first, last = ((name_moment(moment) or "")[:10] for moment in (report.first_at, report.last_at))
    span = f"{first} to {last}" if first != last else first
    about = "about " if report.users > EXACT_USERS else ""
    users = f"{about}{count_words(report.users, 'user')}" if report.users else ""
    formats = join_words(report.formats, "and") if report.formats else ""
    yield ", ".join(filter(None, (pluralize(len(report.sources), "source"), formats, span, users)))
    chosen = report.selected
    if chosen.read != report.judged:
        why = (
            (chosen.too_old, "are older"),
            (chosen.no_time, "have no time, which --since needs"),
            (chosen.other, "are not what --where asks for"),
            (chosen.undecided, "have not what --where reads"),
            (chosen.not_drawn, "were not drawn for the sample"),
        )
        parts = ", ".join(f"{n:,} {words}" for n, words in why if n)
        yield f"{report.judged:,} of {chosen.read:,} conversations were judged: {parts}"
    if report.unread:
        rest = f", and {report.unread - 1:,} more" if report.unread > 1 else ""
        count = count_words(report.unread, "conversation")
        yield f"{count} could not be read and are unknown: {report.unread_at[0]}{rest}"
    if passed_over := report.passed_over:
        rest = f" and {len(passed_over) - MOST_NAMED:,} more" if len(passed_over) > MOST_NAMED else ""
        yield f"no recordings in {visible(', '.join(passed_over[:MOST_NAMED]))}{rest}"
    if report.first_unguarded is not None:
        example = report.first_unguarded
        count = count_words(report.unguarded, "conversation")
        where = f"first {example.why} in {example_words(example)}"
        yield f"THE GUARD WAS PASSED BY in {count}: a call ran that it was not asked about, {where}"
    if chosen.why_undecided:
        yield f"--where: {chosen.why_undecided}"
    if report.without_session:
        yield (
            f"{count_words(report.without_session, 'conversation')} without a session id: each trace is taken for one, "
            "and what came before it is not known"
        )


def unit_words(report: model.CheckReport) -> str:
    return f"intervals are at 95%, by {report.unit}"


def rule_counts(figures: model.Figures) -> str:
    """`53 of 1,771 broke it, 44 unknown`."""
    unknown = f", {figures.unknown:,} unknown" if figures.unknown else ""
    return f"{figures.broken:,} of {figures.judged:,} broke it{unknown}"


def change_words(change: model.RuleChange, report: model.CheckReport) -> str:
    """Where the share changed, and by how much at least."""
    difference = change.difference
    before, after = (interval_words(figures.share).partition(" (")[0] for figures in (change.before, change.after))
    moved = describe_move(*difference[:3]).partition(" (")[2].rstrip(")")
    points = f"({moved} points, corrected for {pluralize(change.looks, 'look')})"
    if report.by in model.IN_TIME:
        return f"since {change.group}: {after}, {before} before {points}"
    return f"{report.by} {change.group}: {after}, {before} elsewhere {points}"


def gate_words(gate: model.ShareGate, report: model.CheckReport) -> str:
    """What the gate asks of a rule, and what is known of it."""
    asked = f"at most {share_words(report.max_broken or 0)} break {gate.rule}"
    known = f"between {share_words(gate.low)} and {share_words(gate.high)} do"
    return f"{asked}: {known}" + (". Judge more conversations" if gate.side == "undecided" else "")


def example_words(example: model.ConversationExample) -> str:
    """Which conversation it is, and where it is found."""
    moment = name_moment(example.started_at)
    about = ", ".join(filter(None, (moment, f"user {example.user}" if example.user else "", example.source)))
    return f"{example.id} ({about})" if about else example.id


def needs_details(rule: model.RuleReport) -> bool:
    """Whether there is more to say of a rule than its figures."""
    return bool(rule.figures.broken or rule.figures.unknown or rule.changes)


def check_json(report: model.CheckReport) -> bytes:
    """Everything that was found."""
    document = {"headline": headline(report), "exit_code": int(report.exit_code), **structs.asdict(report)}
    for_people = msgspec.to_builtins(document)
    for rule in for_people["rules"]:
        _name_estimates(rule)
    return msgspec.json.format(msgspec.json.encode(for_people), indent=1) + b"\n"


def _name_estimates(rule: dict[str, object]) -> None:
    """Estimates as objects: a list of three numbers does not say what they are."""
    stack: list[object] = [rule]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            for key in ("share", "difference"):
                if isinstance(estimate := value.get(key), list):
                    value[key] = dict(zip(("value", "low", "high", "method"), estimate, strict=True))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def check_csv(report: model.CheckReport) -> bytes:
    """A row for each rule, and for each rule in each group."""
    rows = [csv_line(_COLUMNS)]
    for rule in report.rules:
        for name, figures in (("", rule.figures), *((group.name, group.figures) for group in rule.groups)):
            share = [round(value, 9) for value in figures.share[:3]] if figures.share else ["", "", ""]
            counts = (figures.held, figures.broken, figures.unknown)
            rows.append(csv_line([rule.id, name, *counts, *share]))
    return b"".join(rows)
