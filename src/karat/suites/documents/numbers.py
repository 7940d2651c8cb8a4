"""Which numbers a journal can hold."""

from __future__ import annotations

import math

from karat.suites.diagnostics import Json, Path, PathDiagnostic

OUT_OF_RANGE = "the number does not fit in 64 bits. Write it as a string."

# With digits alike and signs gone, a number that does not fit shows as one of these.
_SHAPE = bytes.maketrans(b"123456789E", b"000000000e")
_SUSPECT = (b"0" * 19, b"0e00")


def holds(number: int | float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else -(1 << 63) <= number < 1 << 64


def may_misfit(text: bytes) -> bool:
    """Whether JSON may hold a number that does not fit: almost none does, and then it needs no second look."""
    shape = text.translate(_SHAPE, b"+")
    return any(sign in shape for sign in _SUSPECT)


def fit_numbers(value: Json, path: Path, found: list[PathDiagnostic]) -> Json:
    """The value with 1 for each number that no journal could hold, so that the rest of the file can be judged."""
    if isinstance(value, dict):
        return {name: fit_numbers(below, (*path, name), found) for name, below in value.items()}
    if isinstance(value, list):
        return [fit_numbers(below, (*path, index), found) for index, below in enumerate(value)]
    if not isinstance(value, int | float) or holds(value):
        return value
    found.append(PathDiagnostic(path, OUT_OF_RANGE, "out-of-range"))
    return 1
