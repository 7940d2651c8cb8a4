"""How far two texts are apart: letters added, removed or changed (Levenshtein)."""

from __future__ import annotations


def distance_within(one: str, other: str, most: int) -> bool:
    """Whether at most so many edits lead from one text to the other. It takes the length times `most`, no more."""
    if abs(len(one) - len(other)) > most:
        return False
    if len(one) > len(other):
        one, other = other, one
    far = most + 1
    row = [min(index, far) for index in range(len(one) + 1)]
    for line, letter in enumerate(other, 1):
        first, last = max(1, line - most), min(len(one), line + most)
        before, row[0] = row[0], min(line, far)
        if first > 1:
            before, row[first - 1] = row[first - 1], far
        for place in range(first, last + 1):
            above = row[place] if place < line + most else far
            best = before if one[place - 1] == letter else min(before, above, row[place - 1]) + 1
            before, row[place] = row[place], min(best, far)
        if min(row[first - 1 : last + 1], default=far) > most:
            return False
    return row[len(one)] <= most
