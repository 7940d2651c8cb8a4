"""What would decide a gate that is undecided: more repeats of cases that flicker, or more cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from karat.compare.stats import Pairs, Runs, difference, fisher, marginals, pass_rate
from karat.compare.weighing import Scope
from karat.model.comparison import Bounds, Change
from karat.text.wording import counted

Decision: TypeAlias = Literal["met", "broken", "undecided"]
FACTORS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
NAMED = 5
MOST = 1 << 20


def of_rate(pairs: Pairs, confidence: float) -> Bounds:
    return Bounds(*pass_rate(marginals(pairs)[1], confidence))


def of_difference(pairs: Pairs, confidence: float) -> Bounds:
    return Bounds(*difference(pairs, confidence))


def enough_cases(rate: float, confidence: float) -> int:
    """The fewest cases that prove a rate if all of them pass."""
    low, high = 0, 1
    while high < MOST and pass_rate({(1, 1): high}, confidence).low < rate:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pass_rate({(1, 1): middle}, confidence).low < rate else (low, middle)
    return high


def what_would_decide(scope: Scope, decided: Callable[[Pairs], Decision]) -> str:
    """The least that would, if all goes on as it went; `decided` judges made-up counts as the gate would."""
    if decided(scope.pairs) != "undecided":
        return ""
    flickering = [pair for pair in scope.pairs if is_flickering(pair)]
    for factor in FACTORS if flickering else ():
        if decided(_repeated(scope.pairs, factor)) != "undecided":
            runs = max(runs for pair in flickering for _, runs in pair) * factor
            count = sum(scope.pairs[pair] for pair in flickering)
            return f"about {runs} repeats of {counted(count, 'flickering case')}: {named(scope.flickering)}"
    for factor in FACTORS:
        if decided({pair: count * factor for pair, count in scope.pairs.items()}) != "undecided":
            first = _single(scope) if scope.worse else ""
            return f"{first}about {scope.pairs.total() * factor} cases like these"
    return f"{_single(scope) if scope.worse else ''}no number in reach: it stands too near the bound"


def repeats_of_flickering(scope: Scope, confidence: float) -> str:
    """How many repeats would tell of each case that flickers whether it broke, if it goes on as it went."""
    needed = [
        runs * next((factor for factor in FACTORS if fisher(*_scaled(pair, factor)) <= 1 - confidence), FACTORS[-1])
        for pair in scope.pairs
        if is_flickering(pair) and (runs := max(runs for _, runs in pair))
    ]
    count = scope.changes[Change.FLICKERS]
    runs = max(needed, default=0)
    return f"about {runs} repeats of {counted(count, 'flickering case')}: {named(scope.flickering)}"


def is_flickering(pair: tuple[Runs, Runs]) -> bool:
    return any(0 < passed < runs for passed, runs in pair)


def _scaled(pair: tuple[Runs, Runs], factor: int) -> tuple[Runs, Runs]:
    (b, b_runs), (n, n_runs) = pair
    return (b * factor, b_runs * factor), (n * factor, n_runs * factor)


def _single(scope: Scope) -> str:
    """Single runs cannot tell a case that broke from one that flickers: that is the first thing to find out."""
    if any(runs > 1 for pair in scope.pairs for _, runs in pair):
        return ""
    return f"5 repeats tell whether these flicker: {named(scope.worse)}; else "


def _repeated(pairs: Pairs, factor: int) -> Pairs:
    """As if each case had been run so many times as often, and passed as often as it did."""
    return {_scaled(pair, factor): count for pair, count in pairs.items()}


def named(cases: Sequence[str]) -> str:
    """Some of the cases whose repeats would tell most."""
    more = f" and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    return ", ".join(cases[:NAMED]) + more
