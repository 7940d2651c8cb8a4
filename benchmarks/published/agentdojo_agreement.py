"""Published runs of AgentDojo, judged by contracts that ask for what its utility and security functions ask for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import carob
from carob.features.importers.agentdojo import find_about, read_run

CONTRACTS = Path(__file__).with_name("policies") / "agentdojo"
CHECKER = Path(__file__).with_name("agentdojo_checker.py")
SUITES = ("banking", "slack", "travel", "workspace")
VERSIONS = {"travel": ("v1", "v1.1")}
"""Of the benchmark: the contracts are those of the first; only the tasks of travel are others in the second."""
NO_END = "the last call has no result in the file: Carob waits for it, AgentDojo's environment has it"
LATER = "the task of another version of AgentDojo asks for less"
AS_CHECKER = "AgentDojo's own checker says what Carob says of these calls: the published verdict is another"
OTHER = {
    "expected_contains": "words that are spelled in another way",
    "tool_calls": "another call, same environment",
    "only_effects": "another call, same environment",
}
UNEXPLAINED = "not explained"


class JudgedRun(NamedTuple):
    """What a function of AgentDojo and what a contract says of a run. `published`: the task was done, or prevented."""

    about: Mapping[str, Any]
    form: Mapping[str, Any]
    of_attacker: bool
    published: bool
    verdict: carob.Verdict
    kind: str = ""

    @property
    def agrees(self) -> bool:
        return (self.verdict.status == "PASS") is self.published

    def __str__(self) -> str:
        reasons = [str(check) for check in self.verdict.checks if check.status is not carob.Status.PASSED]
        name = f"{self.about['model']} {self.about['suite_name']} {self.about['name']}"
        return f"{name}: published {self.published}, Carob {self.verdict.status}: {'; '.join(reasons[:1])}"


def judge_files(files: Iterable[Path], python: str = "") -> list[JudgedRun]:
    """The verdicts on the task of the user and, of attacked runs, on that of the attacker. Differences have a kind."""
    contracts = read_contracts()
    judged = [one for path in files for one in _judge_file(path, contracts)]
    different = [one for one in judged if not one.agrees]
    own = _check(different, python) if python else [[] for _ in different]
    return [
        *(one for one in judged if one.agrees),
        *(_classify(one, verdicts) for one, verdicts in zip(different, own, strict=True)),
    ]


def read_contracts() -> Mapping[str, Mapping[str, carob.Case]]:
    files = (*SUITES, "security")
    return {name: {c.id: c for c in carob.load_suite(CONTRACTS / f"{name}.carob.yaml").cases} for name in files}


def _judge_file(path: Path, contracts: Mapping[str, Mapping[str, carob.Case]]) -> Iterator[JudgedRun]:
    for line in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if not run.get("messages"):
            continue
        about, form = find_about(run), read_run(run["messages"])
        verdict = carob.judge(contracts[about["suite_name"]][about["user_task_id"]], form)
        yield JudgedRun(about, form, False, about["success"], verdict)
        if about["injection_task_id"]:
            verdict = carob.judge(contracts["security"][about["suite_name"]], form)
            yield JudgedRun(about, form, True, not about["security"], verdict)


def _classify(judged: JudgedRun, own: Sequence[bool | None]) -> JudgedRun:
    failed = [check.name for check in judged.verdict.checks if check.status is not carob.Status.PASSED]
    if any(call.get("unfinished") for call in judged.form["tool_calls"]):
        return judged._replace(kind=NO_END)
    if own and own[0] is (judged.verdict.status == "PASS"):
        return judged._replace(kind=LATER if own[-1] is judged.published else AS_CHECKER)
    return judged._replace(kind=next((OTHER[name] for name in failed if name in OTHER), UNEXPLAINED))


def _check(judged: Sequence[JudgedRun], python: str) -> list[list[bool | None]]:
    """What AgentDojo's own functions say, version by version: whether the task was done, or prevented."""
    runs = [
        {
            "versions": VERSIONS.get(one.about["suite_name"], ("v1",)),
            "suite": one.about["suite_name"],
            "task": one.about["user_task_id"],
            "attack": one.about["injection_task_id"],
            "calls": [[call["name"], call["arguments"]] for call in one.form["tool_calls"]],
            "answer": one.form["final_message"],
        }
        for one in judged
    ]
    # -P: this folder has an agentdojo.py of its own.
    text = "\n".join(map(json.dumps, runs))
    done = subprocess.run([python, "-P", CHECKER], input=text, capture_output=True, text=True, check=True)
    lines = [line.removeprefix("VERDICT ") for line in done.stdout.splitlines() if line.startswith("VERDICT ")]
    found = []
    for one, line in zip(judged, lines, strict=True):
        verdicts = json.loads(line)
        prevented = [None if security is None else not security for _, security, _ in verdicts]
        found.append(prevented if one.of_attacker else [utility for utility, _, _ in verdicts])
    return found
