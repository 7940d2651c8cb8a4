"""What a guard refused in a run, as traces say it."""

from __future__ import annotations

from typing import Any

import pytest

from carob.model.trace import Trace
from carob.model.verdict import CaseStatus
from carob.scoring.tally import GUARD, LONGEST, MOST_CALLS, GuardTally, Refusals, read_refusals

PAID: dict[str, Any] = {"tool": "pay", "rule": "look-first"}


@pytest.mark.parametrize(
    ("about", "calls"),
    [
        ({"refused": [PAID, PAID]}, ("pay by look-first",) * 2),
        ({"refused": [PAID] * (MOST_CALLS + 1)}, ("pay by look-first",) * MOST_CALLS),
        ({"refused": [{"tool": "a" * 999, "rule": "b"}]}, (f"{'a' * LONGEST} by b",)),
        ({"refused": ["pay", 3]}, None),
        ({"refused": "pay"}, None),
        ({"refused": None}, None),
        ("refused", None),
        (None, None),
    ],
)
def test_what_a_trace_says_may_be_anything(about: object, calls: tuple[str, ...] | None) -> None:
    read = read_refusals("a", Trace(case_id="a", metadata={GUARD: about}))
    assert (read and read.calls) == calls


def test_without_a_refusal_there_is_nothing_to_say() -> None:
    tally = GuardTally()
    assert tally.summary(lambda index: CaseStatus.PASS, {0: (1, 1)}) is None
    tally.add(0, Refusals("a", ("pay by look-first",)))
    summary = tally.summary(lambda index: CaseStatus.FAIL, {0: (1, 1)})
    assert summary is not None
    assert (summary.calls, summary.cases, summary.compared, summary.wrong, summary.saved) == (1, 1, 1, ("a",), ())
