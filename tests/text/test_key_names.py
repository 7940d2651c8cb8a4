"""What is suggested for a key that is not known."""

from __future__ import annotations

import pytest

from carob.checks.catalog import catalog_for
from carob.evidence.short_form import Short, ShortCall
from carob.plugins.project import Project
from carob.suites.formats import carob1, golden
from carob.suites.shapes.containers import RecordShape
from carob.text.key_names import MOST, meant_keys, synonym_groups, synonyms_of

CATALOG = catalog_for(Project())
SUITE = carob1.shape(CATALOG.fields, tuple(CATALOG.groups))
EXPECTED = {*CATALOG.fields}
CALL = {"tool", "arguments", "success", "result", "error", "times", "never"}
LEVELS: dict[str, set[str]] = {
    "suite": set(SUITE.suite.keys),
    "case": set(SUITE.case.keys),
    "turn": {"prompt", "expected"},
    "reply": {"asks_for", "say"},
    "expected": EXPECTED,
    "call": CALL,
    "golden": set(golden.shape(CATALOG.fields).case.keys),
    "trace": set(Short.__struct_encode_fields__),
    "observed call": set(ShortCall.__struct_encode_fields__),
}


@pytest.mark.parametrize("group", synonym_groups(), ids=lambda group: group[0])
def test_each_group_leads_to_a_key_that_exists(group: tuple[str, ...]) -> None:
    level = next(keys for keys in LEVELS.values() if group[0] in keys)
    foreign = [word for word in group if word not in level]
    assert foreign, "words that are all known suggest nothing"
    for word in foreign:
        assert group[0] in synonyms_of(word, level)


@pytest.mark.parametrize(
    ("level", "key", "meant"),
    [
        pytest.param("call", "name", ["tool"], id="name-of-a-tool"),
        pytest.param("call", "args", ["arguments"], id="args"),
        pytest.param("case", "name", ["id"], id="name-of-a-case"),
        pytest.param("case", "question", ["prompt"], id="question"),
        pytest.param("case", "assert", ["expected"], id="assert"),
        pytest.param("golden", "prompt", ["input"], id="prompt-of-a-golden"),
        pytest.param("expected", "answer", ["answer_equals"], id="answer-that-is-expected"),
        pytest.param("expected", "mustSayAny", ["must_say_any"], id="camel-case"),
        pytest.param("expected", "must-not-say", ["must_not_say"], id="kebab-case"),
        pytest.param("expected", "must_not_sya", ["must_not_say"], id="typing-error"),
        pytest.param("trace", "answer", ["final_message"], id="answer-that-is-given"),
        pytest.param("trace", "output", ["final_message"], id="output-that-is-given"),
        pytest.param("trace", "message", ["final_message", "messages"], id="two-that-may-be-meant"),
        pytest.param("observed call", "tool", ["name"], id="tool-of-an-observed-call"),
        pytest.param("case", "wholly-unlike-anything", [], id="nothing-near"),
    ],
)
def test_meant_keys(level: str, key: str, meant: list[str]) -> None:
    assert meant_keys(key, LEVELS[level]) == meant
    assert len(meant) <= MOST


def test_a_key_under_another_name_is_one_problem() -> None:
    expected = SUITE.case.keys["expected"].shape
    assert isinstance(expected, RecordShape)
    found = expected.validate({"tool_calls": [{"any_of": [{"name": "refund"}, {"success": True}]}]})
    assert [(one.path, one.message) for one in found] == [
        (("tool_calls", 0, "any_of", 0, "name"), "unknown field. Did you mean 'tool'?"),
        (("tool_calls", 0, "any_of", 1, "tool"), "this field is required and missing."),
    ]
