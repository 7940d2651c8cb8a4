"""Cases and suites that are written in Python, and what plugin authors are given for their tests."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import carob
from carob import testing
from carob.engine.authoring import OF_CASE
from carob.suites.formats.carob1 import shape
from catalogs import CATALOG

ROOT = Path(__file__).parents[2]
PASSED, FAILED = carob.Status.PASSED, carob.Status.FAILED


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refund() -> dict[str, object]:
    return carob.case("refund", "I want my money back.", tool_calls_none=["issue_refund"], tags=["money"])


@pytest.fixture
def suite(refund: dict[str, object]) -> dict[str, object]:
    hello = carob.case("hello", "Hello!", must_say_any=["hello"], category="talk", min_pass_rate=0.9)
    return carob.suite("desk", [refund, hello], effects={"issue_refund": ["refunded"]})


def agent(prompt: str) -> dict[str, object]:
    return {"final_message": "Hello!", "tools_called": ["issue_refund"] if "money" in prompt else []}


def test_a_case_is_judged(refund: dict[str, object]) -> None:
    assert carob.judge(refund, agent("my money")).status is carob.CaseStatus.FAIL
    assert carob.judge(refund, agent("hi")).status is carob.CaseStatus.PASS


def test_a_suite_is_run_audited_and_rescored(suite: dict[str, object]) -> None:
    result = carob.run(suite, agent)
    assert {record.case.id: record.status.value for record in result} == {"refund": "FAIL", "hello": "PASS"}
    assert [record.case.tags for record in result] == [("money",), ()]
    assert carob.audit(result, suite).summary.rate.tried
    assert carob.rescore(result, suite).summary.passed == 1
    assert carob.run(suite, agent, tags=["money"]).summary.total == 1


def test_a_suite_is_read_and_converted_as_a_file_is(suite: dict[str, object]) -> None:
    read = carob.load_suite(suite)
    assert (read.name, read.format, [case.min_pass_rate for case in read.cases]) == ("desk", "carob-1", [None, 0.9])
    assert carob.load_suite(carob.convert(suite)).cases == read.cases
    assert carob.lint(suite).suite.cases == read.cases
    assert json.loads(json.dumps(suite)) == suite


def test_a_single_case_is_run(refund: dict[str, object]) -> None:
    async def run_case() -> carob.CaseRecord:
        async with carob.open_runner(agent) as runner:
            return await runner.run(refund)

    assert asyncio.run(run_case()).status is carob.CaseStatus.FAIL


def test_a_case_may_be_a_conversation() -> None:
    turns = [{"prompt": "Hi."}, {"prompt": "Bye.", "expected": {"must_say_any": ["bye"]}}]
    case = carob.case("talk", turns=turns, outcome="response_only")
    assert [turn.prompt for turn in carob.load_suite(carob.suite("talks", [case])).cases[0].turns] == ["Hi.", "Bye."]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        pytest.param({"tool_call_none": ["x"]}, "Did you mean 'tool_calls_none'", id="unknown-key"),
        pytest.param({}, "checks nothing", id="no-checks"),
        pytest.param({"tags": "money", "must_say_any": ["hi"]}, "tags", id="tags-as-text"),
    ],
)
def test_a_mistake_in_a_case_is_reported_where_it_is_written(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(carob.UsageError, match=message):
        carob.case("A", "Hi.", **keywords)


def test_a_suite_refuses_two_cases_of_one_name(refund: dict[str, object]) -> None:
    with pytest.raises(carob.SuiteError, match="refund"):
        carob.suite("twice", [refund, refund])


def test_the_keywords_of_a_case_are_those_of_the_format() -> None:
    keys = shape(CATALOG.fields, tuple(CATALOG.groups)).case.keys
    assert keys.keys() - {"id", "prompt", "expected", "each", "vars"} == OF_CASE
    assert runpy.run_path(str(ROOT / "scripts" / "keywords.py"))["OF_CASE"].keys() == OF_CASE
    assert not OF_CASE & {*CATALOG.fields}


def greetings() -> dict[str, object]:
    return carob.suite("greetings", [carob.case("hello", "Hello!", must_say_any=["hello"])])


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda result: carob.draft(result).yaml, id="draft"),
        pytest.param(lambda result: carob.draft([result, result.journal]).yaml, id="draft-of-several"),
        pytest.param(lambda result: carob.compare_runs(result, result).new.path, id="compare_runs"),
        pytest.param(lambda result: carob.set_baseline(result, file="kept.jsonl").path, id="set_baseline"),
        pytest.param(lambda result: carob.report(result, "junit", "report.xml"), id="report"),
        pytest.param(lambda result: carob.report([result, result], "junit", "report.xml"), id="report-of-several"),
        pytest.param(lambda result: carob.audit(result).summary.rate.tried, id="audit"),
        pytest.param(lambda result: carob.rescore(result).journal.path, id="rescore"),
        pytest.param(lambda result: carob.resume(result, greetings(), agent).journal.path, id="resume"),
        pytest.param(lambda result: carob.rerun(result, greetings(), agent).journal.path, id="rerun"),
    ],
)
def test_what_takes_a_journal_takes_the_result_of_a_run(use: Callable[[carob.RunResult], object]) -> None:
    assert use(carob.run(greetings(), agent, results_dir="runs"))


def test_a_project_is_begun_in_one_call(tmp_path: Path) -> None:
    plan = carob.init(tmp_path)
    assert plan.files
    assert all((tmp_path / file.path).exists() for file in plan.files)


def test_cases_are_listed_and_the_format_described() -> None:
    Path("suite.json").write_text(json.dumps(greetings()))
    assert [name for name, *_ in carob.list_cases("suite.json")] == ["hello"]
    assert carob.schema("carob-1")["title"] == "Carob 1 suite"
    assert all(proof.holds for proof in carob.self_test())


class Shop(carob.BaseTarget):
    async def run(self, case: carob.Case, context: carob.RunContext) -> carob.Trace:
        return carob.Trace(case_id=case.id, input=case.prompt, final_message="Hello!", tool_calls=())


def test_a_target_needs_only_run(suite: dict[str, object]) -> None:
    result = carob.run(suite, Shop())
    assert result.ok
    assert result.journal.header.options["target"] == {"use": f"python:{__name__}:Shop"}


def test_a_target_is_made_of_its_configuration() -> None:
    shop = Shop(carob.TargetConfig(kind="python", spec="shop:Shop", limits=carob.Limits(max_concurrency=2)))
    assert (shop.limits.max_concurrency, shop.options["use"]) == (2, "python:shop:Shop")


def test_a_target_without_run_cannot_be_made() -> None:
    class Mute(carob.BaseTarget):
        pass

    with pytest.raises(TypeError, match="run"):
        Mute()  # type: ignore[abstract]


def make_check(*statuses: carob.Status) -> type[carob.Check]:
    """A check with an example for each of these statuses: of the first the check passes, of the second it fails."""

    @dataclass(frozen=True)
    class Quiet(carob.Check):
        """The word is not in the answer."""

        name: ClassVar = "quiet"
        group: ClassVar = "tone"
        fields: ClassVar = (carob.Field("quiet", str, "A word."),)
        examples: ClassVar = tuple(
            carob.Example({"word": "no"}, testing.says(text), status)
            for text, status in zip(("Yes.", "no!"), statuses, strict=False)
        )
        word: str

        @property
        def description(self) -> str:
            return f"not {self.word!r}"

        def judge(self, trace: carob.Trace) -> carob.CheckResult:
            return self.failed("it") if self.word in trace.final_message else self.passed("nothing")

    return Quiet


def test_examples_that_hold_are_asserted() -> None:
    testing.assert_examples(make_check(PASSED, FAILED))


@pytest.mark.parametrize(
    ("check", "message"),
    [
        pytest.param(make_check(FAILED, FAILED), "quiet example 1: expected failed, found passed", id="wrong"),
        pytest.param(make_check(PASSED), "quiet shows how it can come out", id="never-fails"),
        pytest.param(make_check(), "quiet shows how it can come out", id="no-examples"),
    ],
)
def test_examples_that_do_not_hold_are_reported(check: type[carob.Check], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.assert_examples(check)


def test_examples_of_a_function_are_asserted() -> None:
    def polite(trace, words: list[str]):  # type: ignore[no-untyped-def]  # as docs/extending.md writes it
        return any(word in trace.final_message for word in words), trace.final_message

    polite.examples = [(["please"], "please", True), (["please"], "No.", False)]  # type: ignore[attr-defined]
    testing.assert_examples(polite)


def test_what_is_not_a_check_is_refused() -> None:
    with pytest.raises(carob.UsageError, match=r"not a subclass of carob\.Check"):
        testing.assert_examples(dict)


@pytest.mark.parametrize(
    ("trace", "tools", "observed"),
    [
        pytest.param(testing.calls("lookup:ok refund:failed"), ["lookup", "refund"], True, id="calls"),
        pytest.param(testing.says("Hi."), [], False, id="says"),
        pytest.param(testing.UNSEEN_TOOLS, [], False, id="unseen"),
    ],
)
def test_sample_traces(trace: carob.Trace, tools: list[str], observed: bool) -> None:
    assert [call.name for call in trace.tool_calls or ()] == tools
    assert (not trace.why_unobserved("tools")) is observed
