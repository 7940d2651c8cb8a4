"""The rules of a run: how often each was triggered, and for one of them the conversations that broke it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from carob.journal.index import Index, IndexedRun, RuleCase
from carob.model.verdict import Status
from carob.reports.html.run_pages import OfRun
from carob.reports.html.run_view import evidence_anchor

MOST_LISTED: Final = 200
"""So many conversations are listed of each kind."""


class RuleRow(NamedTuple):
    """A rule of a run in figures: conversations by how it came out in them."""

    id: str
    triggered: int
    broken: int
    unknown: int
    held: int
    untriggered: int


class LinkedCase(NamedTuple):
    """A conversation and the address of the check that judged the rule in it."""

    name: str
    link: str


class CaseList(NamedTuple):
    """Conversations in which a rule came out alike; `cause`: why it did not hold, without what differs between them."""

    cause: str
    total: int
    cases: list[LinkedCase]


def rules_page(index: Index, run: IndexedRun, chosen: str, to: OfRun) -> dict[str, Any]:
    """What the template needs: the table of all rules, and the lists of the chosen one."""
    by_rule: defaultdict[str, list[RuleCase]] = defaultdict(list)
    for case in index.rule_cases(run.key):
        by_rule[case.rule].append(case)
    rows = sorted(map(_row, by_rule.values()), key=lambda row: (-row.broken, -row.unknown, row.id))
    of_rule = by_rule.get(chosen, [])
    return {
        "rows": rows,
        "chosen": _row(of_rule) if of_rule else None,
        "why": _find_why(index, run, of_rule),
        "broken": _by_cause(of_rule, Status.FAILED, to),
        "unknown": _by_cause(of_rule, Status.UNKNOWN, to) + _by_cause(of_rule, Status.ERROR, to),
        "held": _list(of_rule, Status.PASSED, to),
        "untriggered": _list(of_rule, Status.NOT_TRIGGERED, to),
    }


def _row(cases: Sequence[RuleCase]) -> RuleRow:
    statuses = [case.status for case in cases]
    untriggered, held = statuses.count(Status.NOT_TRIGGERED), statuses.count(Status.PASSED)
    broken, triggered = statuses.count(Status.FAILED), len(cases) - untriggered
    return RuleRow(cases[0].rule, triggered, broken, triggered - held - broken, held, untriggered)


def _find_why(index: Index, run: IndexedRun, cases: Sequence[RuleCase]) -> str:
    """What the rule says of itself, which every record has with its checks."""
    record = index.record(run, cases[0].index, cases[0].repeat) if cases else None
    checks = record.verdict.checks if record else ()
    found = (check.expected.partition(": ")[2] for check in checks if check.rule_id == cases[0].rule)
    return next(found, "")


def _by_cause(cases: Sequence[RuleCase], status: Status, to: OfRun) -> list[CaseList]:
    causes: defaultdict[str, list[RuleCase]] = defaultdict(list)
    for case in cases:
        if case.status == status:
            causes[case.kind].append(case)
    ordered = sorted(causes.items(), key=lambda cause: -len(cause[1]))
    return [CaseList(cause, len(listed), [*_links(listed, to)]) for cause, listed in ordered]


def _list(cases: Sequence[RuleCase], status: Status, to: OfRun) -> CaseList:
    listed = [case for case in cases if case.status == status]
    return CaseList("", len(listed), [*_links(listed, to)])


def _links(cases: Sequence[RuleCase], to: OfRun) -> Iterator[LinkedCase]:
    for case in cases[:MOST_LISTED]:
        name = f"{case.id} #{case.repeat + 1}" if case.repeat else case.id
        anchor = f"#{evidence_anchor(case.index, case.repeat, case.number)}" if case.number >= 0 else ""
        yield LinkedCase(name, f"{to.case(case.index, case.repeat)}{anchor}")
