"""How a case says how its group scores become a status."""

from __future__ import annotations

from collections.abc import Iterator

from karat.model.suite import Scoring
from karat.suites.diagnostics import Path, PathDiagnostic
from karat.suites.formats.base import JsonObject
from karat.suites.shapes.containers import Key, KnownKeys, ListShape, MapShape, RecordShape
from karat.suites.shapes.scalars import ChoiceShape, NumberShape

SCORING = "How group scores become a status."
LARGEST_WEIGHT = 1e6

_PLAIN = Scoring()


def scoring_shape(groups: tuple[str, ...], known_keys: KnownKeys) -> RecordShape:
    group = ChoiceShape(groups)
    weights = MapShape(group, NumberShape(least=0, most=LARGEST_WEIGHT))
    soft = {
        "threshold": Key(NumberShape(over=0, most=1), "A soft score under this fails the case."),
        "weights": Key(weights, "How much each group counts. At least one must be over zero."),
    }
    about = "A weighted sum of group scores, and its minimum."
    keys = {
        "hard_fail": Key(ListShape(group), "Groups in which one failed check fails the case."),
        "soft_score": Key(RecordShape("SoftScore", about, soft, known_keys), "The weighted score and its threshold."),
    }
    known_keys.add("under 'scoring'", keys)
    known_keys.add("under 'scoring.soft_score'", soft)
    return RecordShape("Scoring", SCORING, keys, known_keys)


def read_scoring(raw: JsonObject | None) -> Scoring:
    if not raw:
        return _PLAIN
    soft = raw.get("soft_score", {})
    threshold, weights = soft.get("threshold"), soft.get("weights")
    return Scoring(
        hard_fail=tuple(dict.fromkeys(raw.get("hard_fail", ()))),
        threshold=None if threshold is None else float(threshold),
        weights=None if weights is None else {name: float(weight) for name, weight in weights.items()},
    )


def weightless(scoring: JsonObject | None, path: Path) -> Iterator[PathDiagnostic]:
    """Weights that count nothing at all."""
    weights = scoring.get("soft_score", {}).get("weights") if scoring else None
    if weights is not None and not any(weights.values()):
        message = "no group has a weight over zero. Give one, or leave the weights out."
        yield PathDiagnostic((*path, "scoring", "soft_score", "weights"), message, "zero-weights")
