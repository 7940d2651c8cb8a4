"""Checks that other packages bring are the same as ours, and one that is broken is reported in a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import pytest
from msgspec import Struct

from carob.checks import catalog
from carob.checks.answer.phrases import MustSayAny
from carob.checks.base import Check, CheckRequest
from carob.checks.catalog import CheckCatalog
from carob.errors import ConfigError, SuiteError
from carob.model.check import Field
from carob.model.suite import Scoring
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus, CheckResult, GroupScore, Verdict
from carob.plugins.project import Project
from carob.scoring import verdicts
from carob.suites import loads
from packages import Installs


@dataclass(frozen=True, slots=True)
class Shouts(Check):
    """The answer is in capitals."""

    name: ClassVar = "shouts"
    group: ClassVar = "loudness"
    fields: ClassVar = (Field("shouts", bool, "The answer is in capitals."),)
    examples: ClassVar = ()

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[CheckRequest]:
        if "shouts" in expected:
            yield CheckRequest({}, ("shouts",))

    @property
    def description(self) -> str:
        return "capitals"

    def judge(self, trace: Trace) -> CheckResult:
        return self.passed() if trace.final_message.isupper() else self.failed(trace.final_message)


class Whispers(Check, Struct, frozen=True):
    """The same as a struct, of the other thing."""

    name: ClassVar = "whispers"
    group: ClassVar = "loudness"
    fields: ClassVar = (Field("whispers", bool, "The answer is in small letters."),)
    aloud: bool = False


class Plain(Check):
    """One whose arguments nobody can know."""

    name: ClassVar = "plain"


class Namesake(Shouts):
    name: ClassVar = "outcome"


class Garbage(Shouts):
    def judge(self, trace: Trace) -> CheckResult:
        return "passed"  # type: ignore[return-value]


class Unsure(Shouts):
    def judge(self, trace: Trace) -> CheckResult:
        return CheckResult("shouts", "loudness", "passed")  # type: ignore[arg-type]


class Leaving(Shouts):
    def judge(self, trace: Trace) -> CheckResult:
        raise SystemExit(0)


class Aimless(Leaving):
    @property
    def description(self) -> str:
        raise ValueError("I do not know")


def installed(installs: Installs, value: str) -> CheckCatalog:
    installs(catalog.ENTRY_POINTS, ("mine", value))
    return CheckCatalog(Project())


@pytest.mark.parametrize("cls", [Shouts, Whispers])
def test_an_outside_check_joins_ours(installs: Installs, cls: type[Check]) -> None:
    found = installed(installs, f"{__name__}:{cls.__name__}")
    assert found.classes[cls.name] is cls
    assert cls.name in {field.name for field in found.fields.values()}
    assert len(found.classes) == len(catalog.OWN) + 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param("no_such_module:X", "cannot be loaded: ModuleNotFoundError", id="no-module"),
        pytest.param("carob.checks.catalog:NOTHING", "cannot be loaded: AttributeError", id="no-attribute"),
        pytest.param("carob.checks.catalog:OWN", "it is not a subclass of carob.Check", id="no-class"),
        pytest.param("carob.errors:UsageError", "it is not a subclass of carob.Check", id="no-check"),
        pytest.param(f"{__name__}:Plain", "it is neither a dataclass nor a struct", id="no-arguments"),
        pytest.param(f"{__name__}:Namesake", "it is called 'outcome': Carob already uses that name", id="namesake"),
    ],
)
def test_one_that_is_broken_is_reported_in_a_line(installs: Installs, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        _ = installed(installs, value).classes
    assert "entry point 'mine' of carob.checks" in str(caught.value)


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        pytest.param(Garbage, "it returned str, not a CheckResult with a Status", id="no-result"),
        pytest.param(Unsure, "it returned CheckResult, not a CheckResult with a Status", id="no-status"),
        pytest.param(Leaving, "SystemExit: 0", id="exits"),
        pytest.param(Aimless, "SystemExit: 0", id="cannot-even-say-what-it-wants"),
    ],
)
def test_one_that_breaks_makes_its_case_an_error(cls: type[Shouts], said: str) -> None:
    verdict = verdicts.judge([cls()], Scoring(), Trace(case_id="A", final_message="HA"))
    assert verdict.status is CaseStatus.ERROR
    assert verdict.checks[0].found == said


def suite(**scoring: Any) -> dict[str, Any]:
    asked = {"must_say_any": ["ha"], "shouts": True, "scoring": scoring}
    return {"version": "0.3", "cases": [{"id": "A", "prompt": "?", "expected": asked}]}


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        pytest.param({}, CaseStatus.FAIL, id="as-any-check"),
        pytest.param({"hard_fail": ["loudness"], "soft_score": {"threshold": 0.1}}, CaseStatus.FAIL, id="hard"),
        pytest.param({"soft_score": {"threshold": 0.1}}, CaseStatus.PARTIAL, id="soft"),
        pytest.param({"soft_score": {"threshold": 0.1, "weights": {"loudness": 1}}}, CaseStatus.FAIL, id="weighed"),
    ],
)
def test_a_group_of_its_own(installs: Installs, rules: dict[str, Any], status: CaseStatus) -> None:
    found = installed(installs, f"{__name__}:Shouts")
    (case,) = loads(json.dumps(suite(**rules)).encode(), "s.json", found).cases
    checks = (MustSayAny(("ha",)), Shouts())
    verdict = verdicts.judge(checks, case.scoring, Trace(case_id="A", final_message="ha"))
    assert verdict.status is status
    assert verdict.groups["loudness"] == GroupScore(0, 1)
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


def test_a_group_of_its_own_weighs_something() -> None:
    checks = (MustSayAny(("ha",)), Shouts())
    verdict = verdicts.judge(checks, Scoring(), Trace(case_id="A", final_message="ha"))
    assert verdict.soft.value == pytest.approx(0.05 / (0.05 + 0.35))


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        pytest.param({"hard_fail": ["loudnes"]}, "scoring.hard_fail[0]: unknown value 'loudnes'.", id="hard-fail"),
        pytest.param(
            {"soft_score": {"weights": {"loudnes": 1}}},
            "scoring.soft_score.weights.loudnes: unknown value 'loudnes'.",
            id="weights",
        ),
    ],
)
def test_a_group_that_nobody_has(installs: Installs, rules: dict[str, Any], line: str) -> None:
    with pytest.raises(SuiteError) as caught:
        loads(json.dumps(suite(**rules)).encode(), "s.json", installed(installs, f"{__name__}:Shouts"))
    assert f"cases[0].expected.{line} Did you mean 'loudness'?" in str(caught.value)
    assert "[unknown-value]" in str(caught.value)
