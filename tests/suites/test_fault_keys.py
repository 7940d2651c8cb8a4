"""`stubs` and `faults` as suites, carob.toml and journals have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import carob
from carob.errors import ConfigError, SuiteError
from carob.model.faults import FAULT_KINDS, Fault, Hit, Stub, kinds_of
from carob.model.suite import Case
from carob.plugins.project import find_project
from carob.suites.fault_keys import add_target_surroundings, read_faults
from carob.suites.formats.catalog import find_format
from carob.targets.config import read_config
from catalogs import CATALOG

VALUES = {"text": "503", "count": 3, "seconds": 2, "status": 429, "moment": "after", "any": {"id": "B-7"}, "flag": True}
CASE = {"id": "A", "prompt": "?", "expected": {"min_words": 1}}


def suite(case: dict[str, Any] | None = None, **top: Any) -> dict[str, Any]:
    return {"carob": 1, **top, "cases": [{**CASE, **(case or {})}]}


def wrong(fault: object) -> list[tuple[str, str]]:
    with pytest.raises(SuiteError) as refused:
        carob.load_suite(suite({"faults": [fault]}))
    return [(one.path, one.slug) for one in refused.value.problems]


@pytest.mark.parametrize("hits", ["tool", "service", "model"])
def test_every_kind_is_read_and_spelled_again(hits: Hit) -> None:
    """What is read, spelled again and read again is the same, and so is what a journal holds."""
    for kind in kinds_of(hits).values():
        own: dict[str, Any] = {kind.name: VALUES[kind.value], "times": 2, "from_call": 3, "seed": 7}
        own |= ({"at": "$.a"} if kind.at else {}) | ({"retry_after": 1.5} if kind.name == "status" else {})
        spelled = {"model": {"name": "gpt-*", **own}} if hits == "model" else {hits: "x", **own}
        (found,) = carob.load_suite(suite({"faults": [spelled]})).cases[0].faults
        assert (found.hits, found.kind, found.value, found.seed) == (hits, kind.name, VALUES[kind.value], 7)
        assert found.spelled == spelled
        assert read_faults([found.spelled]) == (found,)
        assert msgspec.json.decode(msgspec.json.encode(found), type=Fault) == found


@pytest.mark.parametrize(
    ("fault", "path", "slug"),
    [
        pytest.param({"tool": "x"}, "", "missing-field", id="no-kind"),
        pytest.param({"error": "y"}, "", "missing-field", id="hits-nothing"),
        pytest.param({"tool": "x", "model": {"empty": True}}, "", "duplicate-field", id="hits-two"),
        pytest.param({"tool": "x", "eror": "y"}, ".eror", "unknown-field", id="typo"),
        pytest.param({"tool": "x", "cut_stream": True}, ".cut_stream", "unknown-field", id="of-a-model"),
        pytest.param({"tool": "x", "error": "y", "gone": True}, ".gone", "duplicate-field", id="two-kinds"),
        pytest.param({"tool": "x", "gone": True, "at": "$.a"}, ".at", "no-effect", id="at-of-the-whole-call"),
        pytest.param({"tool": "x", "empty": True, "at": "a.b"}, ".at", "bad-jsonpath", id="no-path"),
        pytest.param({"tool": "x", "timeout": "later"}, ".timeout", "unknown-value", id="moment"),
        pytest.param({"tool": "x", "slow": 0}, ".slow", "out-of-range", id="not-slow"),
        pytest.param({"tool": "x", "error": "y", "times": 0}, ".times", "out-of-range", id="never"),
        pytest.param({"tool": " ", "error": "y"}, ".tool", "empty-value", id="no-name"),
        pytest.param({"model": "gpt"}, ".model", "wrong-type", id="model-by-name"),
        pytest.param({"model": {}}, ".model", "missing-field", id="model-without-kind"),
        pytest.param({"model": {"status": 200}}, ".model.status", "out-of-range", id="a-good-status"),
        pytest.param({"model": {"hang": True, "retry_after": 1}}, ".model.retry_after", "no-effect", id="no-status"),
        pytest.param("gone", "", "wrong-type", id="a-text"),
    ],
)
def test_mistakes_are_named_at_their_place(fault: object, path: str, slug: str) -> None:
    assert wrong(fault) == [(f"cases[0].faults[0]{path}", slug)]


def test_a_mistake_has_a_line_and_the_nearest_kind(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("carob: 1\nfaults:\n  - { tool: x, garbge: true }\ncases: [{id: A, prompt: '?'}]\n")
    with pytest.raises(SuiteError) as refused:
        carob.load_suite(file)
    assert "s.yaml:3:16 faults[0].garbge: unknown field. Did you mean 'garbage'?" in str(refused.value)


@pytest.mark.parametrize(
    ("stub", "slug"),
    [
        pytest.param({}, "missing-field", id="nothing"),
        pytest.param({"result": 1, "error": "x"}, "duplicate-field", id="both"),
        pytest.param({"resul": 1}, "unknown-field", id="typo"),
        pytest.param("sent", "wrong-type", id="a-text"),
    ],
)
def test_a_stub_is_a_result_or_an_error(stub: object, slug: str) -> None:
    with pytest.raises(SuiteError) as refused:
        carob.load_suite(suite({"stubs": {"x": stub}}))
    assert [one.slug for one in refused.value.problems] == [slug]


def test_those_of_the_suite_and_the_target_come_after_those_of_the_case() -> None:
    own = {"stubs": {"a": {"result": 1}}, "faults": [{"tool": "a", "gone": True}]}
    around = {"stubs": {"a": {"result": 2}, "b": {"result": None}}, "faults": [{"model": {"empty": True}}]}
    case = carob.load_suite(suite(own, **around)).cases[0]
    target = {"stubs": {"b": {"error": "x"}, "c": {"error": "y"}}, "faults": [{"tool": "c", "slow": 1}]}
    whole = add_target_surroundings(case, target)
    assert whole.stubs == (Stub(tool="a", result=1), Stub(tool="b"), Stub(tool="c", error="y"))
    assert [fault.kind for fault in whole.faults] == ["gone", "empty", "slow"]


def test_defaults_and_variables_reach_them() -> None:
    case = {"vars": {"order": "A-17"}, "stubs": {"b": {"result": "{order}"}}}
    found = carob.load_suite(suite(case, defaults={"stubs": {"a": {"result": "{order}"}}})).cases[0]
    assert found.stubs == (Stub(tool="a", result="A-17"), Stub(tool="b", result="A-17"))


def test_a_case_without_them_is_written_as_before() -> None:
    case = msgspec.json.decode(msgspec.json.encode(carob.load_suite(suite()).cases[0]))
    assert "stubs" not in case
    assert "faults" not in case


def test_a_converted_suite_keeps_them(tmp_path: Path) -> None:
    given = suite({"faults": [{"tool": "a", "timeout": "after"}]}, stubs={"a": {"result": {"b": [1, None]}}})
    file = tmp_path / "again.yaml"
    file.write_text(carob.convert(given))
    assert msgspec.json.encode(carob.load_suite(file).cases) == msgspec.json.encode(carob.load_suite(given).cases)


def test_the_schema_has_every_kind_and_asks_for_one() -> None:
    known = find_format("carob-1", CATALOG.formats).schema(CATALOG)["$defs"]
    for hits, name in (("tool", "ToolFault"), ("service", "ServiceFault"), ("model", "ModelFaultKind")):
        assert [rule["required"] for rule in known[name]["oneOf"]] == [[kind] for kind in kinds_of(hits)]  # type: ignore[arg-type]
        assert known[name]["properties"].keys() >= kinds_of(hits).keys()  # type: ignore[arg-type]
    assert known["Stub"]["oneOf"] == [{"required": ["result"]}, {"required": ["error"]}]


@pytest.mark.parametrize(
    ("fault", "permanent"),
    [
        ({"tool": "x", "error": "503 from the warehouse"}, False),
        ({"tool": "x", "error": "HTTP 403 forbidden"}, True),
        ({"tool": "x", "error": "out of 404 tries"}, False),
        ({"tool": "x", "gone": True}, True),
        ({"tool": "x", "timeout": "after"}, False),
        ({"model": {"status": 429}}, False),
        ({"model": {"status": 401}}, True),
        ({"model": {"context_length": True}}, True),
    ],
)
def test_which_faults_last(fault: dict[str, Any], permanent: bool) -> None:
    assert carob.load_suite(suite({"faults": [fault]})).cases[0].faults[0].is_permanent is permanent


def test_what_keeps_a_call_from_running() -> None:
    instead = {(kind.name, hits) for kind in FAULT_KINDS for hits in kind.hits if kind.stage == "instead"}
    assert {name for name, hits in instead if hits == "tool"} == {"error", "gone"}
    assert [Fault(hits="tool", kind="timeout", value=value).stage for value in ("before", "after")] == [
        "instead",
        "lost",
    ]


def test_carob_toml(tmp_path: Path) -> None:
    table = '[targets.a]\nuse = "python:a:b"\n{}\n'
    good = 'stubs = { pay = { result = "ok" } }\nfaults = [{ tool = "get", slow = 2 }]'
    (tmp_path / "carob.toml").write_text(table.format(good))
    identity = read_config(find_project(tmp_path)).targets["a"].identity
    case = add_target_surroundings(Case(id="A", prompt="?", checks=()), identity)
    assert (case.stubs[0].result, case.faults[0].spelled) == ("ok", {"tool": "get", "slow": 2})
    (tmp_path / "carob.toml").write_text(table.format('faults = [{ tool = "get", slo = 2 }]'))
    with pytest.raises(ConfigError) as refused:
        read_config(find_project(tmp_path))
    assert "carob.toml:3" in str(refused.value)
    assert "[targets.a] faults[0].slo: unknown field. Did you mean 'slow'?" in str(refused.value)


@pytest.mark.parametrize(
    ("case", "smell"),
    [
        pytest.param(
            {"faults": [{"tool": "pay", "gone": True}], "expected": {"tool_calls_none": ["pay"]}}, "contradiction"
        ),
        pytest.param({"faults": [{"tool": "a", "gone": True}, {"tool": "a", "empty": True}]}, "hidden-fault"),
        pytest.param({"faults": [{"tool": "a", "gone": True, "times": 1}, {"tool": "a", "empty": True}]}, ""),
        pytest.param({"stubs": {"pay": {"result": 1}}, "expected": {"tool_calls_none": ["pay"], "min_words": 2}}, ""),
    ],
)
def test_lint(case: dict[str, Any], smell: str) -> None:
    slugs = {one.slug for one in carob.lint(suite(case)).smells}
    assert slugs & {"contradiction", "hidden-fault"} == ({smell} if smell else set())
