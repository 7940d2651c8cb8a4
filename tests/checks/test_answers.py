"""Answers as a whole, JSON answers, state and budgets: what is wrong in a suite, and what is reported of an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonpath_rfc9535 import JSONPathError

from carob.api import judge
from carob.checks.answer.json import compile_path, values_at
from carob.checks.catalog import CheckCatalog, catalog_for
from carob.errors import SuiteError
from carob.model.suite import Case
from carob.model.trace import Tokens, Trace
from carob.model.verdict import CheckResult, Status
from carob.plugins.project import find_project
from carob.suites import loads
from carob.text.json_answers import json_answer
from catalogs import CATALOG

ORDER = {"type": "object", "properties": {"lines": {"type": "array", "items": {"required": ["price"]}}}}


def case_of(expected: dict[str, Any], catalog: CheckCatalog = CATALOG) -> Case:
    suite = {"carob": 1, "cases": [{"id": "A", "prompt": "p", "expected": expected}]}
    return loads(json.dumps(suite).encode(), "s.json", catalog).cases[0]


def result(expected: dict[str, Any], text: str = "Done.", **more: Any) -> CheckResult:
    return judge(case_of(expected), Trace(case_id="A", final_message=text, **more)).checks[-1]


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (
            {"answer_json": {"type": "objekt"}},
            "cases[0].expected.answer_json.type: not a JSON Schema",
        ),
        ({"answer_json": {"properties": {"a": {"minLength": -1}}}}, "answer_json.properties.a.minLength: not a JSON"),
        ({"answer_json": {"$ref": "https://example.org/order.json"}}, "answer_json: the schema cannot be used"),
        ({"answer_json": {"pattern": "("}}, "answer_json"),
        ({"answer_at": {"total": 1}}, 'cases[0].expected.answer_at.total: it is not a JSONPath'),
        ({"answer_at": {"$.a[": 1}}, "it is not a JSONPath"),
        ({"state": {"$..[?": 1}}, "it is not a JSONPath"),
        ({"answer_at": {"$.a": {"$lessthan": 1}}}, 'expected.answer_at["$.a"].$lessthan: unknown matcher'),
        ({"must_ground_numbers": [{"from_tool": "t", "at": "a."}]}, "must_ground_numbers[0].at: it is not a JSONPath"),
        ({"must_ground_numbers": [{"from_tool": "t", "value": 1}]}, "give either 'regex' or 'value' or 'from_tool'."),
        ({"must_ground_numbers": [{"value": 1, "at": "$.a"}]}, "'at' has no effect without 'from_tool'."),
        ({"max_tokens": {}}, "the case checks nothing."),
        ({"max_tokens": {"totl": 1}}, "Did you mean 'total'?"),
        ({"max_seconds": 0}, "must be over 0, found 0."),
        ({"max_calls": {" ": 1}}, "a blank name is not a tool."),
        ({"answer_equals": " "}, "a blank phrase"),
        ({"min_words": 0}, "must be at least 1, found 0."),
        ({"tool_order": ["a"]}, "must have at least 2 entries, found 1."),
        ({"tool_requires": {"a": ["a"]}}, "the first call to 'a' cannot come after another call to it."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported_at_its_place(expected: dict[str, Any], message: str) -> None:
    with pytest.raises(SuiteError) as refused:
        case_of(expected)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1, 2]\n", [1, 2]),
        ("12", 12),
        ('Sure:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
        ('~~~\n{"a": 1}\n~~~', {"a": 1}),
        ('```python\nprint(1)\n```\n```json\n{"a": 1}\n```', {"a": 1}),
    ],
)
def test_json_in_an_answer(text: str, value: object) -> None:
    assert json_answer(text) == (value, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("It is done.", "no JSON"),
        ('{"a": 1', "no JSON"),
        ('{"a": 1, "a": 2}', "no JSON"),
        ('{"a": NaN}', "no JSON"),
        ("```\n[1]\n```\n```\n[2]\n```", "2 blocks of JSON"),
        ('Here: {"a": 1}', "no JSON"),
    ],
)
def test_no_json_in_an_answer(text: str, why: str) -> None:
    assert json_answer(text).why_not.startswith(why)


def test_what_a_schema_minds_is_reported_with_its_place() -> None:
    message = result({"answer_json": ORDER}, '{"lines": [{"price": 1}, {"prize": 2}]}')
    assert message.status is Status.FAILED
    assert message.found == 'lines[1]: "price" is a required property'


def test_each_value_of_a_path_must_be_as_wanted() -> None:
    answer = json.dumps({"lines": [{"price": 4}, {"price": 9}]})
    found = result({"answer_at": {"$.lines[*].price": {"$lt": 5}}}, answer)
    assert found.status is Status.FAILED
    assert found.found == "$['lines'][1]['price']: expected under 5, found 9"
    assert result({"answer_at": {"$.lines": {"$length": 2}}}, answer).status is Status.PASSED
    assert result({"answer_at": {"$.lines[5].price": {"$absent": True}}}, answer).status is Status.PASSED
    assert result({"answer_at": {"$.lines[5].price": {"$lt": 5}}}, answer).found.endswith("found nothing")


VALUE = {"a": {"b_1": [{"c": None}, False, "x"], "": 1}, "0": 2, "rows": [[1, 2], {"a": 0}]}
PATHS = "$ $.a $.a.b_1 $.a.b_1[0].c $.a.b_1[1] $.a.b_1[3] $.a.x $.rows[0][1] $.rows[1].a $.rows[0].a $[0] $.a.b_1[2].c"


@pytest.mark.parametrize("path", PATHS.split())
def test_a_plain_path_leads_where_the_engine_of_jsonpath_leads(path: str) -> None:
    assert values_at(path, VALUE) == [(node.path(), node.value) for node in compile_path(path).find(VALUE)]


@pytest.mark.parametrize("path", ["$.0", "$.rows[01]", "$.a\n\n.", "$.a.b-1", "$.a.", "$.rows[-0]", "$.rows[٣]"])
def test_what_only_looks_like_a_plain_path_leads_nowhere(path: str) -> None:
    with pytest.raises(JSONPathError):
        compile_path(path)
    assert values_at(path, VALUE) == []


@pytest.mark.parametrize(("text", "words"), [("It is paid.", 3), ("Yes - it's 12.5 kg!", 4), ("已完成", 3)])
def test_words_are_counted(text: str, words: int) -> None:
    assert result({"min_words": words}, text).status is Status.PASSED
    assert result({"min_words": words + 1}, text).status is Status.FAILED
    assert result({"max_words": words}, text).status is Status.PASSED


def test_tokens_cost_what_the_project_says(tmp_path: Path) -> None:
    (tmp_path / "carob.toml").write_text("[prices]\ninput = 1.0\noutput = 4.0\n")
    tokens = Tokens(1000, 500)
    trace = Trace(case_id="A", final_message="x", tokens=tokens)
    catalog = catalog_for(find_project(tmp_path))
    priced = case_of({"max_cost_usd": 0.003}, catalog)
    assert judge(priced, trace).checks[-1].found == "0.003 USD"
    assert judge(case_of({"max_cost_usd": 0.0029}, catalog), trace).checks[-1].status is Status.FAILED
    (tmp_path / "carob.toml").write_text("")
    unpriced = judge(case_of({"max_cost_usd": 0.003}, catalog_for(find_project(tmp_path))), trace).checks[-1]
    assert unpriced.status is Status.UNKNOWN
    assert "[prices]" in unpriced.found
    # The prices that a case was read with stay with it.
    assert judge(priced, trace).checks[-1].status is Status.PASSED
