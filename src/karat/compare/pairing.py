"""Which case of one run is which of the other, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TypeAlias

from karat.compare.standings import Standing
from karat.compare.stats import fisher
from karat.model.comparison import Change

Pair: TypeAlias = tuple[Standing | None, Standing | None]


def paired(base: Iterable[Standing], new: Iterable[Standing]) -> Iterator[Pair]:
    """Every case of both runs, by id. Runs of one suite go side by side, so that hardly any case is kept waiting."""
    waiting: tuple[dict[str, Standing], dict[str, Standing]] = {}, {}
    for one, other in zip_longest(base, new):
        if one is not None and other is not None and one.id == other.id:
            yield one, other
            continue
        if one is not None:
            if (met := waiting[1].pop(one.id, None)) is not None:
                yield one, met
            else:
                waiting[0][one.id] = one
        if other is not None:
            if (met := waiting[0].pop(other.id, None)) is not None:
                yield met, other
            else:
                waiting[1][other.id] = other
    yield from ((one, None) for one in waiting[0].values())
    yield from ((None, other) for other in waiting[1].values())


def change(base: Standing | None, new: Standing | None, confidence: float) -> Change:
    """What became of a case. One that flickers broke or was mended only if chance would hardly do that."""
    if base is None:
        return Change.NEW
    if new is None:
        return Change.GONE
    if base.asks != new.asks:
        return Change.ASKS_OTHER
    if base.expects != new.expects:
        return Change.EXPECTS_OTHER
    if not (base.judged and new.judged):
        return Change.ERRED if base.errors or new.errors else Change.APART
    if base.flickers or new.flickers:
        if fisher(base.runs, new.runs) > 1 - confidence:
            return Change.FLICKERS
        return Change.MENDED if new.passed / new.judged > base.passed / base.judged else Change.BROKE
    if base.passed:
        return Change.STEADY if new.passed else Change.BROKE
    return Change.MENDED if new.passed else Change.RED
