"""The rules of a run: how often each was triggered, and for one of them the conversations that broke it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from carob.journal.index import Index, IndexedRun, RuleCase
from carob.journal.run_kinds import is_same_kind
from carob.model.verdict import Status
from carob.reports.html.run_pages import OfRun
from carob.reports.html.run_view import WIDTH, RateView, evidence_anchor
from carob.scoring.intervals import pass_rate, single_clusters
from carob.text.wording import percent

MOST_LISTED: Final = 200
"""So many conversations are listed of each kind on a page."""
EXPLAINED: Final = 40
"""Of so many rules the table says why they are."""
TREND: Final = 20
"""So many runs are shown of a rule."""


class RuleRow(NamedTuple):
    """A rule of a run in figures: conversations by how it came out in them, and the share that broke it."""

    id: str
    triggered: int
    broken: int
    unknown: int
    held: int
    untriggered: int
    share: RateView | None


class LinkedCase(NamedTuple):
    """A conversation and the address of the check that judged the rule in it."""

    name: str
    link: str


class CaseList(NamedTuple):
    """Conversations in which a rule came out alike; `cause`: why it did not hold, without what differs between them.

    `more` is where the page begins that goes on; nothing if all are listed.
    """

    cause: str
    total: int
    cases: list[LinkedCase]
    more: int = 0


class RuleTrend(NamedTuple):
    """The share that broke the rule in one of the last runs."""

    moment: str
    key: str
    words: str
    share: RateView


def rules_page(index: Index, run: IndexedRun, chosen: str, to: OfRun, start: int = 0) -> dict[str, Any]:
    """What the template needs: the table of all rules, and of the chosen one its lists from `start` on."""
    by_rule = _cases_by_rule(index, run)
    rows = sorted(map(_row, by_rule.values()), key=lambda row: (-row.broken, -row.unknown, row.id))
    of_rule = by_rule.get(chosen, [])
    return {
        "rows": rows,
        "whys": {row.id: _find_why(index, run, by_rule[row.id]) for row in rows[:EXPLAINED]} if not of_rule else {},
        "chosen": _row(of_rule) if of_rule else None,
        "why": _find_why(index, run, of_rule),
        "broken": _by_cause(of_rule, Status.FAILED, to, start),
        "unknown": _by_cause(of_rule, Status.UNKNOWN, to, start) + _by_cause(of_rule, Status.ERROR, to, start),
        "held": _list(of_rule, Status.PASSED, to, start),
        "untriggered": _list(of_rule, Status.NOT_TRIGGERED, to, start),
        "trend": [*_trend(index, run, chosen)] if of_rule else [],
    }


def _cases_by_rule(index: Index, run: IndexedRun) -> dict[str, list[RuleCase]]:
    by_rule: defaultdict[str, list[RuleCase]] = defaultdict(list)
    for case in index.rule_cases(run.key):
        by_rule[case.rule].append(case)
    return by_rule


def _row(cases: Sequence[RuleCase]) -> RuleRow:
    statuses = [case.status for case in cases]
    untriggered, held = statuses.count(Status.NOT_TRIGGERED), statuses.count(Status.PASSED)
    broken, triggered = statuses.count(Status.FAILED), len(cases) - untriggered
    return RuleRow(cases[0].rule, triggered, broken, triggered - held - broken, held, untriggered, _share(cases))


def _share(cases: Sequence[RuleCase]) -> RateView | None:
    """The share of conversations that broke the rule, of those that kept or broke it; runs of one case belong together.

    None where there is no such conversation.
    """
    runs: defaultdict[int, Counter[bool]] = defaultdict(Counter)
    for case in cases:
        if case.status in (Status.FAILED, Status.PASSED):
            runs[case.index][case.status == Status.FAILED] += 1
    if not runs:
        return None
    rate = pass_rate(single_clusters(Counter((each[True], each.total()) for each in runs.values())))
    low, high, at = (round(WIDTH * value, 1) for value in (rate.low, rate.high, rate.value))
    words = f"{percent(rate.value)} (95% {rate.method} interval {percent(rate.low)} to {percent(rate.high)})"
    return RateView(len(runs), percent(rate.value), low, high, at, words)


def _trend(index: Index, run: IndexedRun, rule: str) -> Iterator[RuleTrend]:
    """The last runs of this kind in which the rule was judged, the latest first; none where this is the only one."""
    alike = [other for other in index.runs() if is_same_kind(other.header, run.header)][:TREND]
    found = [(other, _share(_cases_by_rule(index, other).get(rule, []))) for other in alike]
    judged = [(other, share) for other, share in found if share is not None]
    for other, share in judged if len(judged) > 1 else ():
        yield RuleTrend(other.header.started_at, other.key, share.words, share)


def _find_why(index: Index, run: IndexedRun, cases: Sequence[RuleCase]) -> str:
    """What the rule says of itself, which every record has with its checks."""
    record = index.record(run, cases[0].index, cases[0].repeat) if cases else None
    checks = record.verdict.checks if record else ()
    found = (check.expected.partition(": ")[2] for check in checks if check.rule_id == cases[0].rule)
    return next(found, "")


def _by_cause(cases: Sequence[RuleCase], status: Status, to: OfRun, start: int) -> list[CaseList]:
    causes: defaultdict[str, list[RuleCase]] = defaultdict(list)
    for case in cases:
        if case.status == status:
            causes[case.kind].append(case)
    ordered = sorted(causes.items(), key=lambda cause: -len(cause[1]))
    return [_case_list(cause, listed, to, start) for cause, listed in ordered]


def _list(cases: Sequence[RuleCase], status: Status, to: OfRun, start: int) -> CaseList:
    return _case_list("", [case for case in cases if case.status == status], to, start)


def _case_list(cause: str, cases: Sequence[RuleCase], to: OfRun, start: int) -> CaseList:
    after = start + MOST_LISTED
    return CaseList(cause, len(cases), [*_links(cases[start:after], to)], after if len(cases) > after else 0)


def _links(cases: Sequence[RuleCase], to: OfRun) -> Iterator[LinkedCase]:
    for case in cases:
        name = f"{case.id} #{case.repeat + 1}" if case.repeat else case.id
        anchor = f"#{evidence_anchor(case.index, case.repeat, case.number)}" if case.number >= 0 else ""
        yield LinkedCase(name, f"{to.case(case.index, case.repeat)}{anchor}")
