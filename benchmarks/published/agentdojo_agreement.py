"""Published runs of AgentDojo, judged by contracts that ask for what its utility and security functions ask for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
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
    utility, security = [], []
    for run in runs:
        about, form = find_about(run), read_run(run["messages"])
        name = f"{about['model']} {about['suite_name']} {about['name']}"
        verdict = karat.judge(contracts[about["suite_name"]][about["user_task_id"]], form)
        utility.append(_classify(JudgedRun(name, about["success"], verdict), about, form, python))
        if about["injection_task_id"]:
            verdict = karat.judge(contracts["security"][about["suite_name"]], form)
            security.append(_classify(JudgedRun(name, not about["security"], verdict, "attacker"), about, form, python))
    return utility, security


def _classify(judged: JudgedRun, about: Mapping[str, Any], form: Mapping[str, Any], python: str) -> JudgedRun:
    if judged.agrees:
        return judged._replace(kind="")
    failed = [check.name for check in judged.verdict.checks if check.status is not karat.Status.PASSED]
    if any(call.get("unfinished") for call in form["tool_calls"]):
        return judged._replace(kind=NO_END)
    own = _check(about, form, python, of_attacker=judged.kind == "attacker") if python else []
    if own and own[0] is (judged.verdict.status == "PASS"):
        return judged._replace(kind=LATER if own[-1] is judged.published else AS_CHECKER)
    return judged._replace(kind=next((OTHER[name] for name in failed if name in OTHER), UNEXPLAINED))


def _check(about: Mapping[str, Any], form: Mapping[str, Any], python: str, *, of_attacker: bool) -> list[bool | None]:
    """What AgentDojo's own functions say, version by version: whether the task was done, or prevented."""
    run = {
        "versions": VERSIONS.get(about["suite_name"], ("v1",)),
        "suite": about["suite_name"],
        "task": about["user_task_id"],
        "attack": about["injection_task_id"],
        "calls": [[call["name"], call["arguments"]] for call in form["tool_calls"]],
        "answer": form["final_message"],
    }
    # -P: this folder has an agentdojo.py of its own.
    done = subprocess.run([python, "-P", CHECKER], input=json.dumps(run), capture_output=True, text=True, check=True)
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("VERDICT ")]
    found = json.loads(line.removeprefix("VERDICT "))
    if of_attacker:
        return [None if security is None else not security for _, security, _ in found]
    return [utility for utility, _, _ in found]
