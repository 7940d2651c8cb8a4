"""One assertion of promptfoo, and the check that it becomes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from carob.text.wording import kind

NOT = "not-"
_FIELD = re.compile(r'\s*(?:"((?:[^"\\]|\\.|"")*)"|([^,]*))\s*(?:,|$)')


class Asked(NamedTuple):
    """A check that an assertion asks for: its name and arguments."""

    name: str
    args: dict[str, Any]
    negated: bool = False
    """Whether the opposite must hold, for a check that has no argument for that."""


class Assertion(NamedTuple):
    """An assertion with its variables filled in."""

    type: str
    value: Any
    threshold: Any
    absent: bool
    at: str = ""
    """The JSONPath that its transform is."""
    context: Mapping[str, Any] = {}
    tools: Mapping[str, Any] | str = {}
    """The schemas of the tools of the configuration, or why they are not known."""
    file: str = ""
    """The file that holds its code."""
    function: str = ""
    code: str = ""


class MisfitError(Exception):
    """A value that an assertion cannot have."""


def as_text(value: Any) -> str:
    """A value as the text that answers are compared with."""
    return value if isinstance(value, str) else json.dumps(value)


def texts_of(assertion: Assertion) -> list[str]:
    """The value as texts, of which none is empty."""
    value = _split(assertion.value) if isinstance(assertion.value, str) else assertion.value
    if not isinstance(value, list) or not value:
        raise MisfitError(f"{assertion.type} needs a list of texts as `value`, not {kind(assertion.value)}.")
    texts = [as_text(each) for each in value]
    if not all(texts):
        raise MisfitError(f"{assertion.type} has an empty text, which is in every answer. Write what to look for.")
    return texts


def _split(value: str) -> list[str]:
    """Texts between commas, some of them quoted."""
    texts, offset = [], 0
    while offset < len(value) and (match := _FIELD.match(value, offset)) and match.end() > offset:
        quotes, plain = match.groups()
        part = plain.strip() if quotes is None else re.sub(r'\\(["\\])|""', lambda m: m[1] or '"', quotes)
        texts += [part] if part or quotes is not None else []
        offset = match.end()
    return texts


def number_of(assertion: Assertion) -> float:
    """The threshold."""
    if isinstance(assertion.threshold, bool) or not isinstance(assertion.threshold, int | float):
        raise MisfitError(f"{assertion.type} needs a number as `threshold`.")
    return assertion.threshold


def unjudged_check(assertion: Assertion, why: str) -> Asked:
    """An expectation that only another tool can judge."""
    value = "" if assertion.value is None else as_text(assertion.value)
    about = f": {value.strip()[:300]}" if value.strip() else ""
    return Asked("unjudged", {"what": f"{NOT if assertion.absent else ''}{assertion.type} ({why}){about}"})
