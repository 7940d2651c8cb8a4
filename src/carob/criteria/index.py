"""The labels and opinions of a folder, put in order: what people decided, and for what a judge has a licence."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Final, NamedTuple

from carob.criteria.files import LabelFiles
from carob.criteria.licence import error_bound, evidence_against, is_enough, least_labels
from carob.criteria.records import OPPOSITE, Agent, Decided, Direction, Kind, Opinion, Pair, PersonLabel, moment
from carob.text.wording import percent

LEAST_AGREEMENT: Final = 0.6
LEAST_DOUBLE: Final = 10
"""So many labels `not met` by two people show whether people agree on a criterion."""
LEAST_STEADY: Final = 20
"""So many answers that a judge was asked about again show whether it is steady."""
OWN_IN_FAMILY: Final = 5
NO_FILES: Final = LabelFiles()
DIRECTIONS: tuple[Direction, ...] = ("met", "not met")
_UNSTEADY: Mapping[Kind, str] = {
    "again": "changes when asked again",
    "padded": "changes when the answer is padded",
    "ordered": "changes when the answer gives it an order",
    "turned": "does not turn when the criterion is turned",
}


class JudgeTerms(NamedTuple):
    """The configured judge: its identity, and what a licence promises in each direction."""

    identity: str
    false_pass: float = 0.10
    false_fail: float = 0.20

    def promise(self, direction: Direction) -> float:
        return self.false_pass if direction == "met" else self.false_fail


class LicenceScope(NamedTuple):
    """What a licence is for: a criterion, or the family that it shares labels with, and an agent."""

    criterion: str
    agent: Agent
    family: str = ""


class Trial(NamedTuple):
    """A labelled answer that tests a judge: what people found, and what it said."""

    pair: Pair
    case: str
    truth: Decided
    said: Decided


class Licence(NamedTuple):
    """Whether opinions in one direction decide. `missing`: how many labels would bring it, if no other is wrong."""

    direction: Direction
    labels: int
    wrong: int
    promise: float
    judges: int
    refused: str = ""
    missing: int | None = None

    @property
    def is_given(self) -> bool:
        return not self.refused and is_enough(self.labels, self.wrong, self.promise, self.judges)

    @property
    def evidence(self) -> float:
        return evidence_against(self.labels, self.wrong, self.promise)

    @property
    def bound(self) -> str:
        """What it promises, in words: `passes at most 10 % of bad answers (95 %), 46 labels`."""
        share = percent_up(error_bound(self.labels, self.wrong, self.judges))
        does = f"passes at most {share} of bad" if self.direction == "met" else f"fails at most {share} of good"
        return f"{does} answers (95 %), {self.labels} labels"


def percent_up(share: float) -> str:
    """A share to a tenth of a percent, never less than it is."""
    return f"{math.ceil(share * 1000) / 10:g} %"


class LabelIndex:
    """What the lines of a folder say, whatever their order."""

    def __init__(
        self, files: LabelFiles = NO_FILES, judge: JudgeTerms | None = None, committed: LabelFiles | None = None
    ) -> None:
        self.files = files
        self.judge = judge
        self._committed = committed
        self._licences: dict[tuple[LicenceScope, Direction], Licence] = {}

    @cached_property
    def labels(self) -> Mapping[Pair, Sequence[PersonLabel]]:
        """The lines of each pair but those that were taken back, by time."""
        undone = {(label.pair, label.by, label.undoes) for label in self.files.labels if label.undoes}
        by_pair: defaultdict[Pair, list[PersonLabel]] = defaultdict(list)
        for label in sorted(self.files.labels, key=lambda line: moment(line.at)):
            if (label.pair, label.by, label.at) not in undone:
                by_pair[label.pair].append(label)
        return dict(by_pair)

    @cached_property
    def _opinions(self) -> Mapping[tuple[str, Kind], Mapping[Pair, Opinion]]:
        """Of each judge and kind, the earliest opinion on each pair; two at one time that differ are none."""
        found: defaultdict[tuple[str, Kind], dict[Pair, list[Opinion]]] = defaultdict(dict)
        for opinion in self.files.opinions:
            found[opinion.judge, opinion.kind].setdefault(opinion.pair, []).append(opinion)
        return {
            key: {pair: first for pair, lines in pairs.items() if (first := _earliest(lines)) is not None}
            for key, pairs in found.items()
        }

    @cached_property
    def judges(self) -> int:
        """How many judges were tried on the labels of this folder: each needs more evidence for it."""
        identities = {line.judge for line in self.files.opinions if line.kind != "foreign" and line.pair in self.labels}
        return max(len(identities), 1)

    @cached_property
    def _uncommitted(self) -> frozenset[Pair]:
        """The pairs with a line that the last commit does not have; none where there is no commit to ask."""
        if self._committed is None:
            return frozenset()
        known = {*self._committed.labels, *self._committed.opinions}
        lines: tuple[PersonLabel | Opinion, ...] = (*self.files.labels, *self.files.opinions)
        return frozenset(line.pair for line in lines if line not in known)

    def rests_on_uncommitted(self, pair: Pair, by: str) -> bool:
        """Whether a decision rests on such a line: on this answer, or for a judge, on any that tested it."""
        new = self._uncommitted
        return pair in new or (by == "judge" and any(other.criterion == pair.criterion for other in new))

    def verdicts(self, pair: Pair) -> dict[str, Decided | None]:
        """What each person decided last; None where two lines of one time differ."""
        latest: dict[str, list[PersonLabel]] = {}
        for label in self.labels.get(pair, ()):
            lines = latest.setdefault(label.by, [])
            if lines and moment(lines[0].at) < moment(label.at):
                lines.clear()
            lines.append(label)
        return {by: _one({line.verdict for line in lines}) for by, lines in sorted(latest.items())}

    def first_blind(self, pair: Pair) -> list[PersonLabel | None]:
        """What each person decided first without knowing more; None where that is not clear."""
        firsts: dict[str, list[PersonLabel]] = {}
        for label in self.labels.get(pair, ()):
            if label.blind:
                lines = firsts.setdefault(label.by, [])
                if not lines or moment(lines[0].at) == moment(label.at):
                    lines.append(label)
        return [
            lines[0] if _one({line.verdict for line in lines}) is not None else None
            for _, lines in sorted(firsts.items())
        ]

    def opinion(self, pair: Pair, kind: Kind = "first") -> Opinion | None:
        """What the configured judge thinks."""
        return None if self.judge is None else self._opinions.get((self.judge.identity, kind), {}).get(pair)

    def foreign(self, pair: Pair) -> Iterator[Opinion]:
        """What other tools' judges said of it: shown, never counted."""
        for (_, kind), opinions in self._opinions.items():
            if kind == "foreign" and pair in opinions:
                yield opinions[pair]

    def truth(self, pair: Pair, agent: Agent) -> tuple[Decided, PersonLabel] | None:
        """What people found of an answer of the random queue, without knowing an opinion and without a dispute."""
        firsts = self.first_blind(pair)
        drawn = [label for label in firsts if label is not None and label.queue == "random"]
        if None in firsts or not drawn or drawn[0].agent != agent:
            return None
        verdict = _one({label.verdict for label in drawn})
        return None if verdict is None or verdict == "cannot tell" else (verdict, drawn[0])

    def trials(self, scope: LicenceScope, direction: Direction) -> list[Trial]:
        """The labelled answers that test a judge in one direction: those that people found to be the opposite."""
        found = []
        for pair, lines in self.labels.items():
            if scope.family:
                if all(line.family != scope.family for line in lines):
                    continue
            elif pair.criterion != scope.criterion:
                continue
            truth, opinion = self.truth(pair, scope.agent), self.opinion(pair)
            if truth is not None and opinion is not None and truth[0] == OPPOSITE[direction]:
                found.append(Trial(pair, truth[1].case, truth[0], opinion.verdict))
        return sorted(found, key=lambda trial: (trial.pair.evidence, trial.pair.criterion))

    def licence(self, scope: LicenceScope, direction: Direction) -> Licence:
        """Whether the judge's opinions on this criterion decide, in one direction."""
        key = scope, direction
        if key not in self._licences:
            self._licences[key] = self._find_licence(scope, direction)
        return self._licences[key]

    def _find_licence(self, scope: LicenceScope, direction: Direction) -> Licence:
        judge = self.judge
        if judge is None:
            return Licence(direction, 0, 0, 0.1, 1, "no judge is configured")
        trials = self.trials(scope, direction)
        counted = list({trial.case: trial for trial in reversed(trials)}.values())
        wrong = sum(trial.said == direction for trial in counted)
        promise = judge.promise(direction)
        least = least_labels(wrong, promise, self.judges)
        missing = None if least is None else max(least - len(counted), 0)
        given = Licence(direction, len(counted), wrong, promise, self.judges, missing=missing)
        return given._replace(refused=self._why_refused(scope, trials, given))

    def _why_refused(self, scope: LicenceScope, trials: Sequence[Trial], licence: Licence) -> str:
        if not scope.agent.target:
            return "the agent is not known: name it with `agent`"
        if why := self.disagreement(scope.criterion):
            return why
        if why := self._unsteadiness(trials, licence.promise):
            return why
        if len(self.models_returned(scope)) > 1:
            return "the judge's opinions are of several models: earned on other answers"
        if scope.family:
            own = {trial.case: trial for trial in reversed(trials) if trial.pair.criterion == scope.criterion}
            if any(trial.said == licence.direction for trial in own.values()):
                return f"the judge was wrong on this criterion of the family {scope.family!r}"
            if len(own) < OWN_IN_FAMILY:
                return f"{len(own)} of {OWN_IN_FAMILY} labels of its own in the family {scope.family!r}"
        return ""

    def models_returned(self, scope: LicenceScope) -> set[str]:
        """The models that answered when the judge was tested."""
        trials = [trial for direction in DIRECTIONS for trial in self.trials(scope, direction)]
        opinions = [self.opinion(trial.pair) for trial in trials]
        return {opinion.model_returned for opinion in opinions if opinion is not None}

    def disagreement(self, criterion: str) -> str:
        """Why people's labels of this criterion cannot test a judge, else the empty string."""
        first = second = both = differ = pairs = 0
        for pair in self.labels:
            if pair.criterion != criterion:
                continue
            verdicts = [label.verdict for label in self.first_blind(pair) if label is not None]
            for one, other in combinations(verdicts, 2):
                first, second = first + (one == "not met"), second + (other == "not met")
                both += one == other == "not met"
                pairs, differ = pairs + 1, differ + (one != other)
        if first + second < LEAST_DOUBLE or 2 * both / (first + second) >= LEAST_AGREEMENT:
            return ""
        return f"people disagree on this criterion ({differ} of {pairs}): rewrite it"

    def find_disputed(self, criterion: str) -> list[PersonLabel]:
        """The labels of answers on which people differ."""
        return [
            label
            for pair, lines in self.labels.items()
            if pair.criterion == criterion and len({*self.verdicts(pair).values()}) > 1
            for label in lines
        ]

    def _unsteadiness(self, trials: Sequence[Trial], promise: float) -> str:
        """Why the judge is not steady, over these answers or over all that were labelled."""
        for pairs in ([trial.pair for trial in trials], list(self.labels)):
            for kind, words in _UNSTEADY.items():
                changed, asked = self.count_changed(pairs, kind)
                if asked >= LEAST_STEADY and changed / asked > promise:
                    return f"the judge {words}: {changed} of {asked}, more than {percent(promise)}"
        return ""

    def count_changed(self, pairs: Iterable[Pair], kind: Kind) -> tuple[int, int]:
        """How many opinions on these answers changed under a probe, of how many."""
        counts: Counter[bool] = Counter()
        for pair in pairs:
            first, probe = self.opinion(pair), self.opinion(pair, kind)
            if first is None or probe is None or (kind == "turned" and first.verdict == "cannot tell"):
                continue
            wanted = OPPOSITE[first.verdict] if kind == "turned" else first.verdict
            counts[probe.verdict != wanted] += 1
        return counts[True], counts.total()


def _earliest(lines: Sequence[Opinion]) -> Opinion | None:
    start = min(moment(line.at) for line in lines)
    first = [line for line in lines if moment(line.at) == start]
    same = _one({line.verdict for line in first}) is not None
    return min(first, key=lambda line: (line.quote, line.why, line.model_returned)) if same else None


def _one(verdicts: set[Decided]) -> Decided | None:
    return next(iter(verdicts)) if len(verdicts) == 1 else None
