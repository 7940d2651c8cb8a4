"""The state of each criterion: its labels, whether people agree, and what a judge may decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from carob.criteria.index import DIRECTIONS, LabelIndex, Licence, LicenceScope
from carob.criteria.records import Agent
from carob.text.wording import percent

_TESTS = {"met": "bad", "not met": "good"}


def status_lines(index: LabelIndex) -> Iterator[str]:
    """What the labels of a folder show, criterion by criterion."""
    criteria = list_criteria(index)
    if not criteria:
        yield "no labels yet"
    for criterion, text in criteria:
        yield text
        yield from (f"  {line}" for line in criterion_lines(index, criterion))
        for label in index.find_disputed(criterion):
            yield f"  disputed, case {label.case}: {label.by} {label.verdict}" + (
                f", {label.note}" if label.note else ""
            )
    yield from (f"note: {line}" for line in index.files.torn)


def list_criteria(index: LabelIndex) -> list[tuple[str, str]]:
    """The criteria that have labels, with their texts."""
    criteria: dict[str, str] = {}
    for lines in index.labels.values():
        criteria.setdefault(lines[-1].criterion, lines[-1].text)
    return sorted(criteria.items(), key=lambda entry: entry[1])


def criterion_lines(index: LabelIndex, criterion: str) -> Iterator[str]:
    """Its labels, whether people agree, and what a judge may decide; nothing of a single answer."""
    pairs = [pair for pair in index.labels if pair.criterion == criterion]
    verdicts = Counter(verdict or "unclear" for pair in pairs for verdict in index.verdicts(pair).values())
    people = sorted({line.by for pair in pairs for line in index.labels[pair]})
    said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    yield f"{len(pairs)} answers labelled by {', '.join(people)}: {said}"
    if why := index.disagreement(criterion):
        yield why
    yield from _sample(index, criterion)
    if index.judge is None:
        return
    scopes = {
        LicenceScope(criterion, line.agent, line.family)
        for pair in pairs
        for line in index.labels[pair]
        if line.agent.target
    }
    for scope in sorted(scopes):
        for direction in DIRECTIONS:
            yield f"{_agent(scope.agent)}: {describe_licence(index.licence(scope, direction))}"


def _sample(index: LabelIndex, criterion: str) -> Iterator[str]:
    """The share of answers that people found to meet it, with its interval, of those that were drawn at random."""
    from carob.scoring.intervals import share

    agents = {line.agent for lines in index.labels.values() for line in lines if line.criterion == criterion}
    for agent in sorted(agents):
        truths = [index.truth(pair, agent) for pair in index.labels if pair.criterion == criterion]
        found = [truth[0] == "met" for truth in truths if truth is not None]
        if found:
            rate = share(sum(found), len(found))
            interval = f"95% interval {percent(rate.low)} to {percent(rate.high)}"
            yield f"{_agent(agent)}: {sum(found)} of {len(found)} random answers meet it ({interval})"


def _agent(agent: Agent) -> str:
    return (agent.target or "an unnamed agent") + (f" ({agent.model})" if agent.model else "")


def describe_licence(licence: Licence) -> str:
    """What a judge may decide in one direction, or what it lacks."""
    kind = _TESTS[licence.direction]
    counted = f"{licence.wrong} wrong of {licence.labels} {kind} answers"
    if licence.is_given:
        return f"the judge decides {licence.direction!r}: {licence.bound}, {licence.wrong} wrong"
    if licence.refused:
        return f"the judge may not decide {licence.direction!r}: {licence.refused} ({counted})"
    needs = "no number of labels would do" if licence.missing is None else f"{licence.missing} more {kind} answers"
    return f"the judge may not decide {licence.direction!r} yet: {counted}; {needs} would bring it, if it errs no more"
