"""What the Karat at hand knows: the benchmark runs on one that does not know all of it, and says what it left out."""

from __future__ import annotations

from typing import Any, NamedTuple

import karat
from benchmarks.published.effects import Effects


class Features(NamedTuple):
    """Fields and values that came with declared effects."""

    effects: bool
    only_effects: bool
    in_any_turn: bool
    grounded_in: bool
    completed: bool

    def missing(self) -> list[str]:
        return [name for name, known in self._asdict().items() if not known]


EFFECTS: Effects = {"pay": ["paid"]}


def known_features(policy: str) -> Features:
    """Each is tried in a suite of one case."""
    return Features(
        effects=_takes({"no_false_success": True}, effects=EFFECTS),
        only_effects=_takes({"only_effects": ["pay"]}, effects=EFFECTS),
        in_any_turn=_takes({"in_any_turn": {"expected_contains": ["paid"]}}, turns=[{"prompt": "Pay."}]),
        grounded_in=_takes({"grounded_numbers": True, "grounded_in": [policy]}),
        completed=_takes({"outcome": "completed"}),
    )


def _takes(expected: dict[str, Any], turns: list[dict[str, str]] | None = None, **top: Any) -> bool:
    asked: dict[str, Any] = {"turns": turns} if turns else {"prompt": "Pay."}
    try:
        karat.load_suite({"karat": 1, **top, "cases": [{"id": "probe", **asked, "expected": expected}]})
    except karat.SuiteError:
        return False
    return True
