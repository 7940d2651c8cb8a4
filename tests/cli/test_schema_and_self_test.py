"""`carob lint --schema` and `carob audit --self`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from carob.checks.base import Check
from carob.checks.catalog import OWN
from carob.model.trace import Trace
from carob.model.verdict import CheckResult, SoftScore, Status
from carob.scoring import verdicts
from cli.support import Carob, case, eval_set, write

DECISION = {"id": "A", "input": "p", "expected": {"tools_used": []}}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        pytest.param("eval-set", eval_set(), eval_set(case(expectd={})), id="unknown-field"),
        pytest.param("eval-set", eval_set(case(metadata={"x": 1})), {"version": "0.3"}, id="no-cases"),
        pytest.param("golden", [DECISION], [{**DECISION, "input": 1}], id="wrong-type"),
        pytest.param("golden", [{"id": "A", "input": "p", "expected": ["x"]}], [], id="no-case"),
    ],
)
def test_schema(carob: Carob, kind: str, good: Any, bad: Any) -> None:
    ran = carob("lint", "--schema", kind)
    assert (ran.code, ran.err) == (0, "")
    checker = jsonschema.Draft202012Validator(json.loads(ran.out))
    checker.check_schema(checker.schema)
    assert checker.is_valid(good)
    assert not checker.is_valid(bad)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--suite", "s.yaml"], "--suite refers to a file. Add --write.", id="suite-without-write"),
        pytest.param(["--write", "--suite", "s.json"], "only YAML suites can begin with a comment.", id="json-suite"),
        pytest.param(["--write", "--suite", "gone.yaml"], "no such file.", id="missing-suite"),
        pytest.param(["evalset"], "Did you mean 'eval-set'?", id="near"),
        pytest.param(["x"], "Known: carob-1, bfcl, tau-bench, ", id="far"),
    ],
)
def test_schema_of_what(carob: Carob, arguments: list[str], said: str) -> None:
    ran = carob("lint", "--schema", *arguments)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert said in ran.err


@pytest.mark.parametrize("before", ["", "# yaml-language-server: $schema=old.json\n"], ids=["new", "replaced"])
def test_schema_is_written_for_editors(carob: Carob, before: str) -> None:
    text = "carob: 1\ncases: [{id: A, prompt: hi, expected: {must_say_any: [hello]}}]\n"
    suite = Path(write("evals/desk.yaml", before + text))
    ran = carob("lint", "--schema", "--write", "--suite", str(suite))
    assert (ran.code, ran.out) == (0, "carob-1.schema.json\nevals/desk.yaml\n")
    line, rest = suite.read_text().split("\n", 1)
    assert line == "# yaml-language-server: $schema=../carob-1.schema.json"
    assert rest == text
    checker = jsonschema.Draft202012Validator(json.loads(Path("evals", line.partition("=")[2]).read_text()))
    assert checker.is_valid(yaml.safe_load(text))
    assert not checker.is_valid(yaml.safe_load(text.replace("expected", "expectd")))
    assert carob("lint", "--errors-only", str(suite)).code == 0


def test_self_test_passes(carob: Carob) -> None:
    ran = carob("audit", "--self")
    assert (ran.code, ran.err) == (0, "")
    first, last = ran.out.splitlines()
    count = sum(len(check.examples) for check in OWN.values())
    assert int(first.split()[0]) > count
    assert last == "SELF-TEST PASS"


@pytest.mark.parametrize("status", [Status.PASSED, Status.FAILED])
@pytest.mark.parametrize("check", OWN.values(), ids=lambda check: check.name)
def test_a_check_that_always_says_the_same_is_found_out(
    carob: Carob, monkeypatch: pytest.MonkeyPatch, check: type[Check], status: Status
) -> None:
    def judge(self: Check, trace: Trace) -> CheckResult:
        return CheckResult(self.name, self.group, status)

    monkeypatch.setattr(check, "judge", judge)
    ran = carob("audit", "--self")
    assert ran.code == 1
    assert ran.out.splitlines()[-1] == "SELF-TEST FAIL"
    assert any(line.startswith(f"{check.name} example ") for line in ran.err.splitlines())


def test_a_check_that_raises_is_found_out(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(self: Check, trace: Trace) -> CheckResult:
        raise ZeroDivisionError

    monkeypatch.setattr(next(iter(OWN.values())), "judge", judge)
    ran = carob("audit", "--self")
    assert ran.code == 1
    assert "outcome example 1: expected passed, found error" in ran.err


def test_a_check_without_a_failing_example_is_found_out(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    check = next(iter(OWN.values()))
    monkeypatch.setattr(check, "examples", [e for e in check.examples if e.status is not Status.FAILED])
    ran = carob("audit", "--self")
    assert ran.code == 1
    assert "outcome shows how it can come out: expected passed, failed, found passed" in ran.err


def test_scoring_that_lets_everything_through_is_found_out(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "soft_score", lambda groups, rules: SoftScore(1.0, rules.threshold, True))
    ran = carob("audit", "--self")
    assert ran.code == 1
    assert "scoring of 'pff'" in ran.err
