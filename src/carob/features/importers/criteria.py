"""Sentences that other tools have a model judge, as criteria that people decide."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from carob.checks.meaning import LONGEST
from carob.criteria.identity import criterion_id


def why_no_criterion(text: str, before: Container[str] = ()) -> str:
    """Why a text cannot be a criterion that people decide, else the empty string. `before`: those of its case."""
    if not any(character.isalpha() for character in text):
        return "it is empty"
    if len(text) > LONGEST:
        return f"it has more than {LONGEST:,} characters"
    return "the same criterion is there already" if criterion_id(text) in before else ""


def read_criteria(texts: Iterable[str], field: str) -> dict[str, list[Any]]:
    """Texts as criteria, and as not judged where they cannot be."""
    meets: dict[str, str] = {}
    unjudged = []
    for text in texts:
        if why := why_no_criterion(text, meets):
            unjudged.append(f"{field} ({why}): {text[:300]}")
        else:
            meets[criterion_id(text)] = text
    return {key: value for key, value in (("meets", [*meets.values()]), ("unjudged", unjudged)) if value}
