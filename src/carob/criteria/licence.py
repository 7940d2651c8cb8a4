"""What a judge has earned: how sure people's labels make it that its error stays under a promise.

With n labelled answers of which the judge got k wrong, and the promise p, the evidence against "it errs more often" is
a mean of likelihood ratios. It may be looked at after every label: it is a test martingale under that hypothesis.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

STEPS: Final = 40
NEEDED: Final = 20
"""So much evidence is needed for each judge that was tried on the labels of a folder: 95 % confidence."""
_FINEST: Final = 1e-4


@lru_cache(maxsize=1 << 16)
def evidence_against(n: int, k: int, promise: float) -> float:
    """E: the mean over q = j·promise/40, j = 0…39, of (q/promise)^k · ((1−q)/(1−promise))^(n−k)."""
    total = 0.0
    for step in range(STEPS):
        share = step / STEPS
        if share == 0.0 and k:
            continue
        wrong = k * math.log(share) if k else 0.0
        right = (n - k) * (math.log1p(-share * promise) - math.log1p(-promise))
        total += math.exp(min(wrong + right, 700.0))
    return total / STEPS


def is_enough(n: int, k: int, promise: float, judges: int = 1) -> bool:
    """Whether n labels with k errors earn a licence that promises at most this share of errors."""
    return evidence_against(n, k, promise) >= NEEDED * max(judges, 1)


def least_labels(k: int, promise: float, judges: int = 1, most: int = 5_000) -> int | None:
    """How many labels it takes with k errors; None if more than `most`."""
    low, high = k, most
    if not is_enough(high, k, promise, judges):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle, k, promise, judges) else (middle + 1, high)
    return low


def error_bound(n: int, k: int, judges: int = 1) -> float:
    """The largest share of errors that the labels leave possible, with 95 % confidence."""
    low, high = 0.0, 1.0 - _FINEST
    if not is_enough(n, k, high, judges):
        return 1.0
    while high - low > _FINEST / 10:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(n, k, middle, judges) else (middle, high)
    return high
