"""What a grader is asked, what it answers, and how a value becomes a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

from msgspec import Struct, structs

from carob.model.suite import Case
from carob.model.trace import Trace
from carob.text.wording import with_article

ErrorKind = Literal["raised", "hung", "ended", "bad-verdict", "no-case"]
PASS_KEYS: Final = ("passed", "pass", "success", "successful", "accepted", "correct", "is_correct", "ok", "result")
COST_KEYS: Final = ("cost_usd", "evaluation_cost")
SCORE_KEYS: Final = ("score", "value", "reward", "rating", "grade")
NO_SCALE: Final = "it is not between 0 and 1: say with --threshold from which score on it accepts"
TEXT_CAP: Final = 400


class Grade(Struct, frozen=True, omit_defaults=True):
    """The answer of a grader to one trace. With an `error` there is no verdict, whatever else it holds."""

    passed: bool | None = None
    score: float | None = None
    error: str = ""
    kind: ErrorKind | None = None
    printed: str = ""
    """What the grader printed, cut."""
    seconds: float = 0.0
    cost_usd: float | None = None

    @property
    def is_verdict(self) -> bool:
        return self.passed is not None and self.kind is None


class GradeRequest(Struct, frozen=True):
    """A trace to grade, and the recorded one that it was made of; both also as bytes."""

    trace: Trace
    reference: Trace
    data: bytes
    reference_data: bytes


class Grader(Protocol):
    """Grades one trace after the other. It is given a copy of its own of each."""

    identity: str
    """What it is, for verdicts that are kept: another one where the code that it names has changed."""

    def find_case(self, trace: Trace) -> Case | None:
        """The case that it judges a trace by, if it knows one. Raises LookupError if it needs one and has none."""

    def grade(self, request: GradeRequest) -> Grade: ...

    def close(self) -> None: ...


class BadVerdictError(ValueError):
    """What a grader returned holds no verdict."""


def read_grade(value: object, threshold: float | None) -> Grade:
    """The verdict that a returned value is. Raises BadVerdictError for one that is none.

    True and False, a score, or an object with one of them. A score accepts from the threshold on, 0.5 by default.
    """
    value = _plain(value)
    if isinstance(value, bool):
        return Grade(value)
    if isinstance(value, int | float):
        return _read_score(float(value), threshold)
    if not isinstance(value, Mapping):
        raise BadVerdictError(
            f"it returned {_describe(value)}, which is neither a bool, a score nor an object with one"
        )
    cost = next((value[key] for key in COST_KEYS if isinstance(value.get(key), int | float)), None)
    return structs.replace(_read_object(value, threshold), cost_usd=cost)


def _read_object(value: Mapping[Any, Any], threshold: float | None) -> Grade:
    score = next((_plain(value[key]) for key in SCORE_KEYS if key in value), None)
    passed = next((_plain(value[key]) for key in PASS_KEYS if isinstance(_plain(value.get(key)), bool)), None)
    if isinstance(score, bool):
        passed, score = score if passed is None else passed, None
    if score is not None and not isinstance(score, int | float):
        raise BadVerdictError(f"its score is {_describe(score)}, not a number")
    if isinstance(passed, bool):
        if score is not None and not math.isfinite(score):
            raise BadVerdictError(f"its score is {score}")
        return Grade(passed, None if score is None else float(score))
    if score is not None:
        return _read_score(float(score), threshold)
    keys = ", ".join(sorted(map(str, value))[:8]) or "no key"
    raise BadVerdictError(f"it returned an object without `passed` or `score`: {keys}"[:TEXT_CAP])


def _read_score(score: float, threshold: float | None) -> Grade:
    if not math.isfinite(score):
        raise BadVerdictError(f"it returned the score {score}")
    if threshold is None and not 0 <= score <= 1:
        raise BadVerdictError(f"it returned the score {score:g}, and {NO_SCALE}")
    return Grade(score >= (0.5 if threshold is None else threshold), score)


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    module = type(value).__module__
    return value.item() if module == "numpy" and getattr(value, "shape", None) == () else value


def _describe(value: object) -> str:
    if value is None:
        return "None"
    text = repr(value) if isinstance(value, str | bytes) else with_article(type(value).__name__)
    return text if len(text) <= 80 else f"{text[:79]}…"
