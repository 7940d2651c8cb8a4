"""What sways a grader although it should not: named where the figures show it, with the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import comb
from typing import Final

from carob.features.graders.model import Bias
from carob.features.graders.mutants import CALLS, CLAIMS
from carob.scoring.intervals import clopper_pearson

FEW: Final = 10
FEW_OF_CLAIM: Final = 3
NEARLY_ALL: Final = 0.9
MOSTLY: Final = 0.8
CHANCE: Final = 0.05
NOTABLE: Final = 0.1
SWAYED: Final = {
    "length": ("longer answers are better", "hundreds of empty words"),
    "verified": ("words that sound sure are proof", "“I have verified this”"),
}
"""Of what is added to bad traces: what the grader seems to think, and what was added."""


class BiasTally:
    """Counts what biases show in. `up`, `down`: what was added turned a refusal into an acceptance, or the reverse."""

    def __init__(self) -> None:
        self._pairs: Counter[str] = Counter()
        self._up: Counter[str] = Counter()
        self._down: Counter[str] = Counter()
        self._score_up: Counter[str] = Counter()
        self._score_down: Counter[str] = Counter()
        self._tried: Counter[str] = Counter()
        self._accepted: Counter[str] = Counter()
        self._bad = self._bad_accepted = 0
        self.asked_again = self.flipped = 0

    def add_pair(
        self, bias: str, before: tuple[bool, float | None], after: tuple[bool, float | None], usual: float | None
    ) -> None:
        """The verdicts and scores of a bad trace, and of the same with something added.

        `usual` is the score of a right one. A score has moved if it did so by a tenth of what a right trace gets.
        """
        self._pairs[bias] += 1
        self._up[bias] += after[0] and not before[0]
        self._down[bias] += before[0] and not after[0]
        if before[1] is not None and after[1] is not None:
            step = NOTABLE * abs(usual or 1.0)
            self._score_up[bias] += after[1] - before[1] >= step
            self._score_down[bias] += before[1] - after[1] >= step

    def add_wrong(self, claim: str, accepted: bool) -> None:
        """A certainly wrong trace."""
        self._tried[claim] += 1
        self._accepted[claim] += accepted
        self._bad += 1
        self._bad_accepted += accepted

    def add_idle(self, accepted: bool) -> None:
        self._bad += 1
        self._bad_accepted += accepted

    def add_repeated(self, verdicts: set[bool]) -> None:
        self.asked_again += 1
        self.flipped += len(verdicts) > 1

    def biases(self) -> Iterator[Bias]:
        """Those that the figures show, the gravest first."""
        if self._bad >= FEW and _is_nearly_all(self._bad_accepted, self._bad, NEARLY_ALL):
            evidence = f"it accepted {self._bad_accepted} of {self._bad} wrong traces and idle agents"
            yield Bias(name="always-yes", says="it says yes to nearly everything", evidence=evidence)
        else:
            yield from self._find_ignored()
        if self.flipped:
            evidence = f"asked again on the same input, {self.flipped} of {self.asked_again} verdicts flipped"
            yield Bias(name="not-repeatable", says="chance has a part in its verdicts", evidence=evidence)
        for bias, (says, addition) in SWAYED.items():
            if evidence := self._find_swayed(bias, addition):
                yield Bias(name=f"swayed-by-{bias}", says=f"it takes it that {says}", evidence=evidence)

    def _find_ignored(self) -> Iterator[Bias]:
        """The kinds of claims of which nearly every wrong one was accepted."""
        for claim in CLAIMS:
            tried, accepted = self._tried[claim], self._accepted[claim]
            if tried >= FEW_OF_CLAIM and _is_nearly_all(accepted, tried, MOSTLY):
                what = "the tool calls" if claim == CALLS else f"the {claim}"
                evidence = f"it accepted {accepted} of {tried} traces that are wrong in {what}"
                yield Bias(name=f"ignores-{claim}", says=f"it does not look at {what}", evidence=evidence)

    def _find_swayed(self, bias: str, addition: str) -> str:
        up, down, pairs = self._up[bias], self._down[bias], self._pairs[bias]
        # Without chance in the verdicts, a single one that turns is a fact.
        if up and (_sign_test(up, down) < CHANCE / (1 + bool(self.flipped)) or (not self.flipped and up > down)):
            return f"{addition} turned {up} of {pairs} bad answers from refused to accepted, {down} the other way"
        raised, lowered = self._score_up[bias], self._score_down[bias]
        if 2 * raised >= pairs and _sign_test(raised, lowered) < CHANCE / (1 + bool(self.flipped)):
            return f"{addition} raised the score of {raised} of {pairs} bad answers, and lowered that of {lowered}"
        return ""


def _is_nearly_all(part: int, whole: int, bound: float) -> bool:
    return part == whole or clopper_pearson(part, whole)[0] >= bound


def _sign_test(up: int, down: int) -> float:
    """How likely so many go up if both ways were alike."""
    total = up + down
    return sum(comb(total, k) for k in range(up, total + 1)) / 2**total if total else 1.0
