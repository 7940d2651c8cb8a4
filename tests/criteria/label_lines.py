"""Lines of `labels/`, made by the dozen."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from carob.criteria.identity import criterion_id
from carob.criteria.records import Opinion, PersonLabel

TEXT = "the answer refuses"
CRITERION = criterion_id(TEXT)
START = datetime(2026, 1, 1, tzinfo=UTC)


def evidence_hash(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def at(second: int) -> str:
    return (START + timedelta(seconds=second)).isoformat()


def label(name: object, verdict: Any, second: int = 0, **more: Any) -> PersonLabel:
    """A blind label of the random queue on the answer of this name, which is a case of its own."""
    text = more.pop("text", TEXT)
    usual = {"by": "ana", "blind": True, "queue": "random", "case": str(name), "target": "desk"}
    return PersonLabel(
        criterion=criterion_id(text), text=text, evidence=evidence_hash(name), verdict=verdict, at=at(second),
        **{**usual, **more},
    )  # fmt: skip


def opinion(name: object, verdict: Any, second: int = 0, **more: Any) -> Opinion:
    usual = {"judge": "j", "kind": "first", "criterion": CRITERION, "quote": "Sorry"}
    return Opinion(evidence=evidence_hash(name), verdict=verdict, at=at(second), **{**usual, **more})
