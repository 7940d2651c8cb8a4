"""Published runs of AgentDojo, judged by contracts that ask for what its utility and security functions ask for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import karat
from karat.importers.agentdojo import find_about, read_run

CONTRACTS = Path(__file__).with_name("policies") / "agentdojo"
CHECKER = Path(__file__).with_name("agentdojo_checker.py")
SUITES = ("banking", "slack", "travel", "workspace")
VERSIONS = {"travel": ("v1", "v1.1")}
"""Of the benchmark: the contracts are those of the first; only the tasks of travel are others in the second."""
NO_END = "the last call has no result in the file: Karat waits for it, AgentDojo's environment has it"
LATER = "the task of another version of AgentDojo asks for less"
AS_CHECKER = "AgentDojo's own checker says what Karat says of these calls: the published verdict is another"
OTHER = {
    "expected_contains": "words that are spelled in another way",
    "tool_calls": "another call, same environment",
    "only_effects": "another call, same environment",
}
UNEXPLAINED = "not explained"


class JudgedRun(NamedTuple):
    """What a function of AgentDojo and what a contract says of a run. `published`: the task was done, or prevented."""

    name: str
    published: bool
    verdict: karat.Verdict
    kind: str = ""

    @property
    def agrees(self) -> bool:
        return (self.verdict.status == "PASS") is self.published

    def __str__(self) -> str:
        reasons = [str(check) for check in self.verdict.checks if check.status is not karat.Status.PASSED]
        return f"{self.name}: published {self.published}, Karat {self.verdict.status}: {'; '.join(reasons[:1])}"


def read_contracts() -> Mapping[str, Mapping[str, karat.Case]]:
    files = (*SUITES, "security")
    return {name: {c.id: c for c in karat.load_suite(CONTRACTS / f"{name}.karat.yaml").cases} for name in files}


def judge_file(path: Path, python: str = "") -> tuple[list[JudgedRun], list[JudgedRun]]:
    """The verdicts on the task of the user and, of attacked runs, on that of the attacker."""
    contracts = read_contracts()
    runs = [run for line in path.read_text(encoding="utf-8").splitlines() if (run := json.loads(line)).get("messages")]
    forms = [read_run(run["messages"]) for run in runs]
    utility, security = [], []
    checked = [*_check(runs, forms, python)]
    for run, form, own in zip(runs, forms, checked, strict=True):
        about = find_about(run)
        name = f"{about['model']} {about['suite_name']} {about['name']}"
        verdict = karat.judge(contracts[about["suite_name"]][about["user_task_id"]], form)
        utility.append(_classify(JudgedRun(name, about["success"], verdict), form, [one[0] for one in own]))
        if about["injection_task_id"]:
            verdict = karat.judge(contracts["security"][about["suite_name"]], form)
            prevented = [None if one[1] is None else not one[1] for one in own]
            security.append(_classify(JudgedRun(name, not about["security"], verdict), form, prevented))
    return utility, security


def _classify(judged: JudgedRun, form: Mapping[str, Any], own: Sequence[bool | None]) -> JudgedRun:
    if judged.agrees:
        return judged
    failed = [check.name for check in judged.verdict.checks if check.status is not karat.Status.PASSED]
    if any(call.get("unfinished") for call in form["tool_calls"]):
        kind = NO_END
    elif own and own[0] is (judged.verdict.status == "PASS"):
        kind = LATER if own[-1] is judged.published else AS_CHECKER
    else:
        kind = next((OTHER[name] for name in failed if name in OTHER), UNEXPLAINED)
    return judged._replace(kind=kind)


def _check(runs: Sequence[Mapping[str, Any]], forms: Sequence[Mapping[str, Any]], python: str) -> Iterator[list[Any]]:
    """What AgentDojo's own functions say, where there is a Python that has them."""
    if not python:
        yield from ([] for _ in runs)
        return
    lines = []
    for run, form in zip(runs, forms, strict=True):
        about = find_about(run)
        lines.append(
            {
                "versions": VERSIONS.get(about["suite_name"], ("v1",)),
                "suite": about["suite_name"],
                "task": about["user_task_id"],
                "attack": about["injection_task_id"],
                "calls": [[call["name"], call["arguments"]] for call in form["tool_calls"]],
                "answer": form["final_message"],
            }
        )
    text = "\n".join(map(json.dumps, lines))
    # -P: this folder has an agentdojo.py of its own.
    done = subprocess.run([python, "-P", CHECKER], input=text, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        if line.startswith("VERDICT "):
            yield json.loads(line.removeprefix("VERDICT "))
