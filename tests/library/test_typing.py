"""What a type checker sees of the library: right calls are accepted, wrong ones are not, each at its line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
import asyncio
from collections.abc import Mapping
from pathlib import Path

import carob
from carob.golden import DecisionValidator, ExecutionContext

suite = carob.load_suite(Path("suite.json"))
carob.load_suite({"version": "0.3", "cases": []})
carob.load_suite([{"id": "A", "input": "?", "expected_contains": ["!"]}])


async def agent(prompt: str) -> str:
    return prompt


def telling(prompt: str, case: carob.Case) -> dict[str, object]:
    return {"final_message": prompt, "tools_called": ["wave"]}


def heard(event: carob.Event) -> None:
    if isinstance(event, carob.CaseFinished):
        print(event.record.status)


def told(seen: carob.CaseRecord | carob.RecordSummary) -> None:
    print(seen.case.id, seen.verdict.status)


class Parrot:
    limits = carob.Limits()
    options: dict[str, object] = {}

    async def open(self) -> None: ...

    async def run(self, case: carob.Case, context: carob.RunContext) -> carob.Trace:
        raise carob.TargetError("agent", "gone")

    async def close(self) -> None: ...


result = carob.run(suite, agent, timeout=3, results_dir="out", cases=["A"], categories=("talk",), listeners=[heard])
carob.run("suite.json", telling, repeat=3, rate="30/min", secrets=["hush"])
carob.run("suite.json", Parrot(), concurrency=4)
carob.run("suite.json", "staging", workers=2, options={"model": "small"}, executor="ray")
carob.run("suite.json")
carob.resume(result.journal, suite, agent, retries=2)
carob.rerun("journal.jsonl", status=["error"])
ok: bool = result.ok
code: carob.ExitCode = result.exit_code
statuses: list[carob.CaseStatus] = [record.status for record in result]
checks: tuple[carob.CheckResult, ...] = carob.judge(suite.cases[0], result.records[0].trace).checks
passed: int = carob.rescore(result.journal, suite, workers=2, each=told).summary.passed
rate: float = carob.audit(result.journal, seed=1).summary.rate.value
smells: tuple[carob.Diagnostic, ...] = carob.lint("suite.json", ignore=["newer-field"]).smells
context = ExecutionContext("A", "?", "!", ["wave"], "!")
valid: tuple[bool, list[str]] = DecisionValidator.validate(context, {"tools_used": ["wave"]})


runs: int = len(carob.history(suite="suite.json").runs)
carob.set_baseline("@last")


async def single(case: carob.Case) -> carob.CaseStatus:
    async with carob.open_runner("staging", suite=suite, workers=2, retries=1, options={"model": "small"}) as runner:
        record: carob.CaseRecord = await runner.run(case, index=3, repeat=1)
    return record.status


async def later(stop: asyncio.Event) -> carob.RunResult:
    await carob.aaudit((await carob.arescore("journal.jsonl")).journal)
    await carob.arerun("journal.jsonl", stop=stop)
    return await carob.arun(await carob.aload_suite("suite.json"), agent, stop=stop)
"""
WRONG = [
    ("carob.run(suite, agent, timeuot=3)", 'Unexpected keyword argument "timeuot"; did you mean "timeout"'),
    ('carob.run(suite, agent, concurrency="many")', '"concurrency" has incompatible type "str"; expected "int"'),
    ("carob.run(suite, 7)", 'Argument 2 has incompatible type "int"'),
    ("carob.run(suite, print)", "Argument 2 has incompatible type"),
    ("carob.run(suite, agent, selection={})", 'Unexpected keyword argument "selection"'),
    ('carob.run(suite, agent, executor="threads")', '"executor" has incompatible type'),
    ('carob.rerun("journal.jsonl", status=["failed"])', "List item 0 has incompatible type"),
    ("carob.run(3, agent)", 'Argument 1 has incompatible type "int"'),
    ("carob.open_runner(agent, repeat=3)", 'Unexpected keyword argument "repeat"'),
    ("carob.runn(suite, agent)", 'has no attribute "runn"'),
    ("carob.arun(suite, agent).ok", 'has no attribute "ok"'),
]
USE = """
import carob

suite = carob.load_suite("suite.json")


def agent(prompt: str) -> str:
    return prompt


"""


@pytest.mark.thorough
def test_the_library_is_typed(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(USE + "".join(f"{call}\n" for call, _ in WRONG))
    first = USE.count("\n") + 1
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "right.py", "wrong.py"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300).stdout
    errors = re.findall(r"^(\w+\.py):(\d+): error: (.*)$", told, re.MULTILINE)
    assert [error for error in errors if error[0] == "right.py"] == []
    by_line = {int(line): message for file, line, message in errors if file == "wrong.py"}
    for line, (call, said) in enumerate(WRONG, first):
        assert said in by_line.pop(line, "nothing"), call
    assert by_line == {}
