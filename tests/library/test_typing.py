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

import karat
from karat.golden import DecisionValidator, ExecutionContext

suite = karat.load_suite(Path("suite.json"))
karat.load_suite({"version": "0.3", "cases": []})
karat.load_suite([{"id": "A", "input": "?", "expected_contains": ["!"]}])


async def agent(prompt: str) -> str:
    return prompt


def telling(prompt: str, case: karat.Case) -> dict[str, object]:
    return {"final_message": prompt, "tools_called": ["wave"]}


def heard(event: karat.Event) -> None:
    if isinstance(event, karat.CaseFinished):
        print(event.record.status)


def told(seen: karat.CaseRecord | karat.RecordSummary) -> None:
    print(seen.case.id, seen.verdict.status)


class Parrot:
    limits = karat.Limits()
    options: dict[str, object] = {}

    async def open(self) -> None: ...

    async def run(self, case: karat.Case, context: karat.RunContext) -> karat.Trace:
        raise karat.TargetError("agent", "gone")

    async def close(self) -> None: ...


result = karat.run(suite, agent, timeout=3, results_dir="out", cases=["A"], categories=("talk",), listeners=[heard])
karat.run("suite.json", telling, repeat=3, rate="30/min", secrets=["hush"])
karat.run("suite.json", Parrot(), concurrency=4)
karat.run("suite.json", "staging", workers=2, options={"model": "small"}, executor="ray")
karat.run("suite.json")
karat.resume(result.journal, suite, agent, retries=2)
karat.rerun("journal.jsonl", status=["error"])
ok: bool = result.ok
code: karat.ExitCode = result.exit_code
statuses: list[karat.CaseStatus] = [record.status for record in result]
checks: tuple[karat.CheckResult, ...] = karat.judge(suite.cases[0], result.records[0].trace).checks
passed: int = karat.rescore(result.journal, suite, workers=2, each=told).summary.passed
rate: float = karat.audit(result.journal, seed=1).summary.rate.value
smells: tuple[karat.Diagnostic, ...] = karat.lint("suite.json", ignore=["newer-field"]).smells
context = ExecutionContext("A", "?", "!", ["wave"], "!")
valid: tuple[bool, list[str]] = DecisionValidator.validate(context, {"tools_used": ["wave"]})


runs: int = len(karat.history(suite="suite.json").runs)
karat.set_baseline("@last")


async def single(case: karat.Case) -> karat.CaseStatus:
    async with karat.open_runner("staging", suite=suite, workers=2, retries=1, options={"model": "small"}) as runner:
        record: karat.CaseRecord = await runner.run(case, index=3, repeat=1)
    return record.status


async def later(stop: asyncio.Event) -> karat.RunResult:
    await karat.aaudit((await karat.arescore("journal.jsonl")).journal)
    await karat.arerun("journal.jsonl", stop=stop)
    return await karat.arun(await karat.aload_suite("suite.json"), agent, stop=stop)
"""
WRONG = [
    ("karat.run(suite, agent, timeuot=3)", 'Unexpected keyword argument "timeuot"; did you mean "timeout"'),
    ('karat.run(suite, agent, concurrency="many")', '"concurrency" has incompatible type "str"; expected "int"'),
    ("karat.run(suite, 7)", 'Argument 2 has incompatible type "int"'),
    ("karat.run(suite, print)", "Argument 2 has incompatible type"),
    ("karat.run(suite, agent, selection={})", 'Unexpected keyword argument "selection"'),
    ('karat.run(suite, agent, executor="threads")', '"executor" has incompatible type'),
    ('karat.rerun("journal.jsonl", status=["failed"])', "List item 0 has incompatible type"),
    ("karat.run(3, agent)", 'Argument 1 has incompatible type "int"'),
    ("karat.open_runner(agent, repeat=3)", 'Unexpected keyword argument "repeat"'),
    ("karat.runn(suite, agent)", 'has no attribute "runn"'),
    ("karat.arun(suite, agent).ok", 'has no attribute "ok"'),
]
USE = """
import karat

suite = karat.load_suite("suite.json")


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
