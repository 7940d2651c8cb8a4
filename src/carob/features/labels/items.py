"""What there is to label: each criterion of a run with the evidence for it, and the order in which people are asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from carob.checks.meaning import Meets
from carob.criteria.decide import AskedCriterion, agent_of
from carob.criteria.identity import one_line
from carob.criteria.index import LabelIndex
from carob.criteria.records import Agent, Pair, Queue
from carob.journal.reader import Journal
from carob.model.run import CaseRecord
from carob.model.suite import MEETS
from carob.scoring.verdicts import trace_of_turn
from carob.targets.catalog import agent_name

SECOND_PERSON = 4
"""Every such item of the random queue also goes to a second person."""


class LabelItem(Struct, frozen=True):
    """One criterion and one answer."""

    question: AskedCriterion
    text: str
    case: str
    agent: Agent

    @property
    def pair(self) -> Pair:
        return self.question.pair


def read_items(journals: Iterable[Journal]) -> dict[Pair, LabelItem]:
    """The items of these runs, in the order of the random queue: by hash, so that no opinion can choose them."""
    found: dict[Pair, LabelItem] = {}
    for journal in journals:
        target = agent_name(journal.header.target, journal.header.options.get("target", {}))
        for record in journal.records():
            for item in items_of(record, target):
                found.setdefault(item.pair, item)
    return {pair: found[pair] for pair in sorted(found, key=lambda pair: (pair.evidence, pair.criterion))}


def items_of(record: CaseRecord, target: str) -> Iterator[LabelItem]:
    """What a reader is asked of one recorded case; nothing where it was not observed."""
    for number, spec in record.case.all_checks:
        if spec.name != MEETS or record.trace.error is not None:
            continue
        check, trace = msgspec.json.decode(spec.args, type=Meets), trace_of_turn(record.trace, number)
        question = check.question(trace) if trace is not None else ""
        if isinstance(question, AskedCriterion) and trace is not None:
            yield LabelItem(question, one_line(check.says), record.case.id, agent_of(trace, target))


def pending(items: Mapping[Pair, LabelItem], index: LabelIndex, person: str, queue: Queue) -> Iterator[LabelItem]:
    """What this person is still to be asked: answers that no person has read, and of some those that one other has."""
    for position, (pair, item) in enumerate(items.items(), 1):
        people = index.verdicts(pair)
        if person in people:
            continue
        if queue == "doubtful":
            if _is_doubtful(pair, index):
                yield item
        elif not people or (position % SECOND_PERSON == 0 and len(people) == 1):
            yield item


def _is_doubtful(pair: Pair, index: LabelIndex) -> bool:
    """Whether the judge doubts, or differs from a person."""
    opinion = index.opinion(pair)
    people = {*index.verdicts(pair).values()}
    return opinion is not None and (opinion.verdict == "cannot tell" or bool(people - {opinion.verdict}))


def older_wordings(item: LabelItem, items: Sequence[LabelItem], index: LabelIndex) -> list[str]:
    """Labels of this answer for a criterion of its case that the suite does not have any more."""
    current = {other.pair.criterion for other in items}
    return [
        f"{line.by}: {line.verdict}, for the older wording {line.text!r}"
        for pair, lines in index.labels.items()
        if pair.evidence == item.pair.evidence and pair.criterion not in current
        for line in lines
        if line.case == item.case
    ]
