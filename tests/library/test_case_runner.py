"""Single cases on an open target: with what a run has of deadline, retries, workers, secrets and judging."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import carob
from carob.journal.writer import begin, encode

AGENT = """\
import asyncio, os

CALLS = []

async def answer(prompt):
    CALLS.append(prompt)
    word = prompt.split()[0]
    if word == "sleep":
        await asyncio.sleep(60)
    if word == "fail" and CALLS.count(prompt) < int(prompt.split()[1]):
        raise LookupError("not yet")
    return f"pid {os.getpid()} hello {os.environ.get('TOKEN', '')}"
"""
UI = """\
target = "page"
[targets.page]
use = "replay:traces.jsonl"
ui_vocabulary = { "Greets." = [{ role = "heading" }] }
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("agent.py").write_text(AGENT)


def case(prompt: str = "hi", **expected: Any) -> carob.Case:
    asked = expected or {"must_say_any": ["hello"]}
    return carob.load_suite({"carob": 1, "cases": [{"id": "A", "prompt": prompt, "expected": asked}]}).cases[0]


def suite_of(*cases: carob.Case) -> carob.Suite:
    return carob.Suite(file="suite.json", format="carob-1", version="1", sha256="", cases=cases)


async def hello(prompt: str) -> str:
    return "hello"


@pytest.mark.parametrize("workers", [0, 1])
async def test_a_case_is_run_and_judged_as_in_a_run(workers: int) -> None:
    asked = case()
    async with carob.open_runner("python:agent.py:answer", workers=workers) as runner:
        record = await runner.run(asked)
    (same,) = await carob.arun(suite_of(asked), "python:agent.py:answer", workers=workers)
    assert (record.status, record.key, record.case) == (same.status, same.key, same.case)
    assert record.status is carob.CaseStatus.PASS
    assert record.verdict.checks[-1].name == same.verdict.checks[-1].name == "must_say_any"


async def test_a_wrong_answer_fails_and_an_error_is_in_the_record() -> None:
    async with carob.open_runner("python:agent.py:answer") as runner:
        wrong = await runner.run(case(must_say_any=["goodbye"]))
        broke = await runner.run(case("fail 9"))
    assert wrong.status is carob.CaseStatus.FAIL
    assert broke.status is carob.CaseStatus.ERROR
    assert broke.trace.error is not None
    assert "not yet" in broke.trace.error.message


@pytest.mark.parametrize("workers", [0, 1])
async def test_the_deadline_holds(workers: int) -> None:
    async with carob.open_runner("python:agent.py:answer", timeout=0.2, workers=workers) as runner:
        late = await runner.run(case("sleep"))
        again = await runner.run(case())
    assert late.trace.error is not None
    assert late.trace.error.kind == "timeout"
    assert again.status is carob.CaseStatus.PASS


async def test_errors_are_retried_and_listeners_hear_of_it() -> None:
    heard: list[carob.Event] = []
    async with carob.open_runner(
        "python:agent.py:answer", retries=2, backoff=0.001, listeners=[heard.append]
    ) as runner:
        record = await runner.run(case("fail 3"))
    assert record.status is carob.CaseStatus.PASS
    assert len(record.attempts) == 2
    kinds = [type(event).__name__ for event in heard]
    assert kinds == ["CaseStarted", "CaseRetried", "CaseStarted", "CaseRetried", "CaseStarted", "CaseFinished"]


@pytest.mark.parametrize("workers", [0, 1])
async def test_no_secret_is_in_a_record(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hush-hush-1")
    Path("carob.toml").write_text(
        'secrets = ["TOKEN"]\ntarget = "mine"\n[targets.mine]\nuse = "python:agent.py:answer"\n'
    )
    async with carob.open_runner(workers=workers) as runner:
        record = await runner.run(case())
    assert record.trace.final_message.endswith("hello [removed]")
    assert b"hush-hush" not in encode(record)


async def test_cases_run_at_once_and_no_more_than_asked_for() -> None:
    running, most = 0, 0

    async def agent(prompt: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return f"hello {prompt}"

    async with carob.open_runner(agent, concurrency=3) as runner:
        records = await asyncio.gather(*(runner.run(case(f"no. {n}")) for n in range(9)))
    assert most == 3
    assert [record.trace.final_message for record in records] == [f"hello no. {n}" for n in range(9)]
    assert [record.index for record in records] == list(range(9))


async def test_each_case_has_a_conversation_of_its_own() -> None:
    def agent(prompt: str, conversation: Any) -> str:
        return f"hello, {len(conversation.messages)} before"

    async with carob.open_runner(agent, concurrency=2) as runner:
        records = await asyncio.gather(*(runner.run(case()) for _ in range(4)))
    assert {record.trace.final_message for record in records} == {"hello, 0 before"}


async def test_workers_are_other_processes() -> None:
    async with carob.open_runner("python:agent.py:answer", workers=1) as runner:
        record = await runner.run(case())
    assert f"pid {os.getpid()} " not in record.trace.final_message


async def test_the_records_make_a_journal(tmp_path: Path) -> None:
    suite = suite_of(case(), structs.replace(case(must_say_any=["goodbye"]), id="B"))
    header = structs.replace((await carob.arun(suite, hello)).journal.header, repeat=2, total=4)
    async with carob.open_runner(hello, suite=suite, concurrency=4) as runner:
        runs = [(index, one, repeat) for index, one in enumerate(suite.cases) for repeat in range(2)]
        records = await asyncio.gather(*(runner.run(one, index=at, repeat=nth) for at, one, nth in runs))
    begin(str(tmp_path / "own.jsonl"), header, map(encode, records))
    journal = carob.Journal(tmp_path / "own.jsonl")
    assert [(record.case.id, record.repeat) for record in journal.records()] == [("A", 0), ("A", 1), ("B", 0), ("B", 1)]
    assert journal.faults == ()
    assert carob.rescore(journal).summary.passed == 1


async def test_a_skipped_case_is_not_run() -> None:
    async with carob.open_runner("python:agent.py:answer") as runner:
        record = await runner.run(structs.replace(case(), skip="not today"))
    assert record.status is carob.CaseStatus.SKIP


async def test_the_words_of_the_page_are_those_of_the_target() -> None:
    Path("carob.toml").write_text(UI)
    Path("traces.jsonl").write_text('{"case_id": "A", "final_message": "hello", "page": "- heading \\"Hi\\""}\n')
    async with carob.open_runner() as runner:
        record = await runner.run(case(ui=["Greets."]))
    assert record.status is carob.CaseStatus.PASS, record.verdict


async def test_a_target_that_cannot_be_opened_is_told_before_any_case() -> None:
    with pytest.raises(carob.ConfigError, match="no file"):
        async with carob.open_runner("python:gone.py:answer"):
            pytest.fail("it is open")


async def test_a_closed_runner_runs_nothing() -> None:
    async with carob.open_runner(hello) as runner:
        pass
    with pytest.raises(carob.UsageError, match="closed"):
        await runner.run(case())


class Desk:
    """A target that counts how often it is open, and lets a case in or not."""

    def __init__(self, error: carob.TargetError | None = None) -> None:
        self.limits = carob.Limits()
        self.options: dict[str, object] = {}
        self.open_now = 0
        self._error = error

    async def open(self) -> None:
        self.open_now += 1

    async def run(self, case: carob.Case, context: carob.RunContext) -> carob.Trace:
        assert self.open_now == 1
        if self._error is not None:
            raise self._error
        return carob.Trace(case_id=case.id, final_message="hello")

    async def close(self) -> None:
        self.open_now -= 1


async def test_the_target_is_closed_whatever_happens() -> None:
    desk = Desk()

    async def use() -> None:
        async with carob.open_runner(desk) as runner:
            assert (await runner.run(case())).status is carob.CaseStatus.PASS
            raise LookupError

    with pytest.raises(LookupError):
        await use()
    assert desk.open_now == 0


async def test_access_denied_is_an_error_of_the_configuration() -> None:
    async with carob.open_runner(Desk(carob.TargetError("denied", "401 Unauthorized"))) as runner:
        with pytest.raises(carob.ConfigError, match="401 Unauthorized"):
            await runner.run(case())


async def test_a_case_of_another_project_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    asked = case()
    monkeypatch.chdir(elsewhere)
    async with carob.open_runner(hello) as runner:
        with pytest.raises(carob.UsageError, match="another project"):
            await runner.run(asked)
    async with carob.open_runner(hello, suite=suite_of(asked)) as runner:
        assert (await runner.run(asked)).status is carob.CaseStatus.PASS
