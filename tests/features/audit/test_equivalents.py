"""Changes that leave an answer right: sound checks do not mind them, brittle ones are named with a fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carob.features.audit.case_audit import EQUIVALENTS
from carob.features.audit.operators.base import Subject
from carob.model.trace import ToolCall, Trace
from features.audit.support import Answer, audited, bare_case

BY_NAME = {equivalent.name: equivalent for equivalent in EQUIVALENTS}
EVENT = '{"source": "tool.find", "event": "start"}'
SIDE_BY_SIDE = [
    {"name": "find", "success": True, "started_at": 1.0, "ended_at": 3.0},
    {"name": "book", "success": True, "started_at": 2.0, "ended_at": 4.0},
]
# No check can be made to mind the forms of characters, quotes or letter case: the text rules see to that.
BRITTLE: dict[str, tuple[dict[str, Any], Answer]] = {
    "white-space": ({"must_match_regex": ["two words"]}, "These are two words."),
    "thousands-grouped": ({"must_ground_numbers": ["1200"], "must_match_regex": ["1200 rows"]}, "There are 1200 rows."),
    "thousands-plain": ({"must_match_regex": ["1,200 rows"]}, "There are 1,200 rows."),
    "parallel-order": (
        {"tools_used": ["find", "book"], "tools_match": "ordered"},
        {"final_message": "Ok.", "tool_calls": SIDE_BY_SIDE},
    ),
    "telemetry-keys": ({"telemetry": [EVENT]}, {"final_message": "Ok.", "telemetry": [EVENT]}),
}
SOUND: dict[str, tuple[dict[str, Any], Answer]] = {
    "white-space": (
        {"must_match_regex": [r"two\s+words"], "must_say_any": ["two words"], "required_levers": 1},
        "- two words",
    ),
    "letter-case": (
        {"must_say_any": ["small"], "must_match_regex": ["small"], "evidence_freshness_max_age_minutes": 60},
        "Small, 12m ago.",
    ),
    "unicode-forms": ({"must_say_any": ["café"], "must_match_regex": ["caf."]}, "café"),
    "typography": ({"must_say_any": ["don't"], "must_match_regex": [r"^-\s+we\s+don't"]}, "- We don't."),
    "thousands-grouped": ({"must_ground_numbers": ["1200"]}, "There are 1200 rows."),
    "thousands-plain": ({"must_ground_numbers": ["1200", "1,200"]}, "There are 1,200 rows."),
    "parallel-order": ({"tools_used": ["find", "book"]}, {"final_message": "Ok.", "tool_calls": SIDE_BY_SIDE}),
    "telemetry-keys": (
        {"telemetry": ["tool.find start", '"event": "start"']},
        {"final_message": "Ok.", "telemetry": [EVENT]},
    ),
}


@pytest.mark.parametrize("name", BRITTLE)
def test_brittle(name: str, tmp_path: Path) -> None:
    expected, answer = BRITTLE[name]
    found = audited(expected, answer, tmp_path).brittle
    assert name in {brittle.equivalent for brittle in found}
    assert all(brittle.hint and brittle.expected and brittle.check.partition("[")[0] in expected for brittle in found)


@pytest.mark.parametrize("name", SOUND)
def test_sound(name: str, tmp_path: Path) -> None:
    expected, answer = SOUND[name]
    assert audited(expected, answer, tmp_path).brittle == ()
    trace = Trace(
        case_id="example",
        final_message=answer if isinstance(answer, str) else answer["final_message"],
        tool_calls=tuple(ToolCall(**call) for call in answer.get("tool_calls", ())) if isinstance(answer, dict) else (),
        telemetry=tuple(answer.get("telemetry", ())) if isinstance(answer, dict) else (),
    )
    changed = BY_NAME[name].change(Subject(bare_case(expected), trace))
    assert changed is not None
    assert changed != trace


@pytest.mark.parametrize(
    ("name", "text", "expected", "now"),
    [
        pytest.param(
            "letter-case", "Be at ease by 12 min, 5m, 3D", {}, "Be at EASE by 12 min, 5m, 3D", id="units-stay"
        ),
        pytest.param("thousands-plain", "1,200 of 12,345,678; v1,2", {}, "1200 of 12345678; v1,2", id="groups"),
        pytest.param(
            "thousands-grouped",
            "1200 in 2026, #1200a",
            {"must_ground_numbers": ["1200"]},
            "1,200 in 2026, #1200a",
            id="only-what-the-case-counts",
        ),
        pytest.param("white-space", "a b\n\nc", {}, "a  b  \r\n\r\n\r\nc  \n\n", id="blanks-and-line-ends"),
    ],
)
def test_what_is_changed(name: str, text: str, expected: dict[str, Any], now: str) -> None:
    subject = Subject(bare_case({"must_not_say": ["zzz"], **expected}), Trace(case_id="example", final_message=text))
    changed = BY_NAME[name].change(subject)
    assert changed is not None
    assert changed.final_message == now


def test_letter_case_is_left_alone_where_a_regex_minds_it() -> None:
    subject = Subject(bare_case({"must_match_regex": ["(?-i:OK)"]}), Trace(case_id="example", final_message="OK then"))
    assert BY_NAME["letter-case"].change(subject) is None


def test_more_keys_leave_every_other_byte(tmp_path: Path) -> None:
    lines = (EVENT, "no event", "{}", "[1]")
    changed = BY_NAME["telemetry-keys"].change(
        Subject(bare_case({"must_not_say": ["zzz"]}), Trace(case_id="example", telemetry=lines))
    )
    assert changed is not None
    assert EVENT[1:-1] in changed.telemetry[0]
    assert json.loads(changed.telemetry[0]).items() > json.loads(EVENT).items()
    assert changed.telemetry[1:] == lines[1:]
