"""A match at the place where a text was cut, or where a secret stood, proves nothing about the whole text."""

from __future__ import annotations

from typing import Any

import pytest

from carob.api import judge
from carob.checks.sample_traces import says
from carob.journal.limits import cap_trace
from carob.model.suite import Case
from carob.model.trace import REMOVED, SECRETS_REMOVED, TEXT_CAP, TextLoss, Trace
from carob.redaction.redactor import Redactor
from catalogs import CATALOG

PASSED, FAILED, UNKNOWN = "passed", "failed", "unknown"
LOST_SOME = {"final_message": TextLoss(SECRETS_REMOVED)}


def status(expected: dict[str, Any], trace: Trace) -> str:
    """How the one check that was asked for came out."""
    specs = tuple(asked.spec for asked in CATALOG.read(expected) if asked.spec.name != "outcome")
    (result,) = judge(Case(id="example", prompt="p", checks=specs), trace).checks
    return result.status.value


def cut(kept: str, lost: str) -> Trace:
    """An answer of which all up to the end of `kept` is kept."""
    trace = cap_trace(says("x " * ((TEXT_CAP - len(kept)) // 2) + " " * (len(kept) % 2) + kept + lost + " y" * 99))
    assert trace.final_message.endswith(kept)
    return trace


@pytest.mark.parametrize(
    ("expected", "kept", "lost"),
    [
        pytest.param({"must_ground_numbers": [12]}, "runs: 12", "4", id="a-longer-number"),
        pytest.param({"must_ground_numbers": [12]}, "runs: 12.", "5", id="a-fraction"),
        pytest.param({"must_ground_numbers": [12]}, "runs: 12 milli", "on", id="a-magnitude"),
        pytest.param({"required_sources": ["PR"]}, "see PR", "oject", id="a-longer-word"),
        pytest.param({"must_match_regex": ["far$"]}, "so far", "away", id="the-end-of-a-line"),
        pytest.param({"must_match_regex": [r"far\b"]}, "so far", "away", id="the-end-of-a-word"),
        pytest.param({"must_not_match_regex": ["far$"]}, "so far", "away", id="no-end-of-a-line"),
    ],
)
def test_at_the_cut(expected: dict[str, Any], kept: str, lost: str) -> None:
    whole = status(expected, says(f"{kept}{lost} y"))
    assert whole == (PASSED if "must_not_match_regex" in expected else FAILED)
    assert status(expected, cut(kept, lost)) == UNKNOWN
    assert status(expected, says(f"{kept}")) != UNKNOWN


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"must_ground_numbers": [12]}, PASSED),
        ({"required_sources": ["PR"]}, PASSED),
        ({"must_match_regex": ["far$"]}, PASSED),
        ({"must_not_say": ["so far"]}, FAILED),
        ({"must_not_match_regex": ["far$"]}, FAILED),
    ],
)
def test_far_from_the_cut(expected: dict[str, Any], found: str) -> None:
    assert status(expected, cut("12 PR so far\n" + "z " * 40, "z")) == found


def test_what_must_not_be_said_is_said_up_to_the_cut() -> None:
    assert status({"must_not_say": ["so far"]}, cut("so far, ", "so good")) == FAILED


@pytest.mark.parametrize(
    ("expected", "message", "before", "after"),
    [
        pytest.param({"must_say_any": ["removed"]}, "the key is %s", FAILED, UNKNOWN, id="the-mark-itself"),
        pytest.param({"must_not_say": ["removed"]}, "the key is %s", PASSED, UNKNOWN, id="no-mark"),
        pytest.param({"must_match_regex": [r"is \[\w+\]$"]}, "the key is %s", FAILED, UNKNOWN, id="over-the-mark"),
        pytest.param({"must_ground_numbers": [12]}, "no 12%s", FAILED, UNKNOWN, id="a-number-that-went-on"),
        pytest.param({"required_sources": ["PR"]}, "a PR%s", FAILED, UNKNOWN, id="a-word-that-went-on"),
        pytest.param({"must_say_any": ["the key"]}, "the key is %s", PASSED, PASSED, id="beside-it"),
        pytest.param({"must_not_say": ["key="]}, "key=%s", FAILED, FAILED, id="touching-what-must-not-be-said"),
    ],
)
def test_at_a_secret(expected: dict[str, Any], message: str, before: str, after: str) -> None:
    trace = says(message % "4eyesonly")
    assert status(expected, trace) == before
    assert status(expected, Redactor(["4eyesonly"]).trace(trace)) == after


@pytest.mark.parametrize(("cuts", "found"), [({}, PASSED), (LOST_SOME, UNKNOWN)], ids=["its-own-words", "a-mark"])
def test_an_agent_may_say_so_itself(cuts: dict[str, TextLoss], found: str) -> None:
    assert status({"must_say_any": ["removed"]}, says(f"It is {REMOVED}.", cuts=cuts)) == found
