"""Who gets which: each slot one candidate of its own, as many slots as can be served."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def assign(fits: Sequence[Iterable[int]]) -> list[int | None]:
    """For each slot one of the candidates that fit it, or None. No candidate is given twice.

    Slots are served in their order: one that was served stays so, even if by another candidate than at first.
    """
    owner: dict[int, int] = {}
    for slot in range(len(fits)):
        _serve(slot, fits, owner)
    served = {slot: candidate for candidate, slot in owner.items()}
    return [served.get(slot) for slot in range(len(fits))]


def _serve(slot: int, fits: Sequence[Iterable[int]], owner: dict[int, int]) -> None:
    """Find a free candidate, along owners that can do with another one, nearest first."""
    wanted_by: dict[int, int] = {}
    waiting = [slot]
    for one in waiting:
        for candidate in fits[one]:
            if candidate in wanted_by:
                continue
            wanted_by[candidate] = one
            if candidate not in owner:
                _hand_over(candidate, slot, wanted_by, owner)
                return
            waiting.append(owner[candidate])


def _hand_over(candidate: int, first: int, wanted_by: dict[int, int], owner: dict[int, int]) -> None:
    """Give the candidate to who wants it, and what that one had to who wants that, back to the first."""
    had = {slot: taken for taken, slot in owner.items()}
    while True:
        slot = wanted_by[candidate]
        owner[candidate] = slot
        if slot == first:
            return
        candidate = had[slot]
