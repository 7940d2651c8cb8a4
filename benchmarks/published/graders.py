"""Graders of others, audited by `carob audit --grader` on published runs that they accept."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.published_graders import DOJO_VERSION, TAU_CLONE
from benchmarks.published.recordings import by_hand, write_recordings
from benchmarks.published.tau_bench import published_file, read_trajectories
from carob.features.importers.agentdojo import find_about, name_run, read_run

CODE = Path(__file__).parents[1] / "programs" / "published_graders.py"
PEERS = {
    "deepeval": (f"deepeval:{CODE}:deepeval_tools", "deepeval:ExactMatchMetric"),
    "inspect": ("inspect:includes", "inspect:f1"),
    "pydantic-evals": ("pydantic-evals:EqualsExpected", f"pydantic-evals:{CODE}:pydantic_trajectory"),
    "agentevals": (f"agentevals:{CODE}:agentevals_superset",),
}
KNOWN = ("travel-user_task_1", "travel-user_task_17", "workspace-user_task_7", "workspace-user_task_17",
         "workspace-user_task_18", "workspace-user_task_20", "workspace-user_task_32")  # fmt: skip
"""Tasks of which AgentDojo itself changed what its function checks."""


def write_dojo_runs(files: Sequence[Path], out: Path) -> int:
    """A clean run of each task that was published as done, the shortest one."""
    shortest: dict[str, tuple[int, dict[str, Any]]] = {}
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            about = find_about(run)
            if (
                not run.get("messages")
                or about.get("injection_task_id")
                or not about.get("success", about.get("utility"))
            ):
                continue
            name = name_run(about)
            metadata = {"suite": about["suite_name"], "task": about["user_task_id"]}
            form = {"case_id": name, "metadata": metadata, **read_run(run["messages"])}
            if not any(call.get("unfinished") for call in form["tool_calls"]):
                size = len(line)
                if name not in shortest or size < shortest[name][0]:
                    shortest[name] = size, form
    out.write_text("".join(json.dumps(form) + "\n" for _, form in shortest.values()), encoding="utf-8")
    return len(shortest)


def write_tau_runs(clone: Path, domain: str, out: Path) -> int:
    """The conversations that got the reward, one of each task."""
    conversations = read_trajectories(published_file(clone, "gpt-4o", domain), domain).conversations
    rewarded = {one.id.rsplit("-", 1)[0]: one for one in reversed(conversations) if one.rewarded}
    write_recordings(out, rewarded.values(), by_hand)
    lines = []
    for one, line in zip(rewarded.values(), out.read_text(encoding="utf-8").splitlines(), strict=True):
        actions = [{"name": action.name, "arguments": action.arguments} for action in one.task.actions]
        metadata = {"domain": domain, "actions": actions, "outputs": list(one.task.outputs)}
        lines.append(json.dumps({**json.loads(line), "metadata": metadata}) + "\n")
    out.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def audit(python: str, spec: str, traces: Path, folder: Path, environment: Mapping[str, str] = {}) -> dict[str, Any]:
    """The JSON report of an audit, made in the Python that has the grader."""
    before = {*folder.glob("*.grader-audit*.json")}
    carob = str(Path(python).with_name("carob"))
    command = [carob, "audit", "--grader", spec, str(traces), "--results-dir", str(folder), "--timeout", "120"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    new = {*folder.glob("*.grader-audit*.json")} - before
    if not new:
        raise RuntimeError(f"{spec}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    report: dict[str, Any] = json.loads(new.pop().read_bytes())
    return report


def audit_dojo(python: str, traces: Path, folder: Path, version: str) -> dict[str, Any]:
    return audit(python, f"python:{CODE}:agentdojo_utility", traces, folder, {DOJO_VERSION: version})


def audit_tau(python: str, clone: Path, traces: Path, folder: Path) -> dict[str, Any]:
    return audit(python, f"python:{CODE}:tau_bench_reward", traces, folder, {TAU_CLONE: str(clone.resolve())})


def grader_table(report: Mapping[str, Any]) -> str:
    """What it accepted, operator by operator."""
    lines = [
        f"\n### {Path(report['grader']).name}: {report['audited']} traces audited, {report['unaudited']} not accepted",
        "",
        "| operator | wrong, accepted | may be right, accepted |",
        "|---|---|---|",
    ]
    for row in report["operators"]:
        tried, caught = row["caught"]["tried"], row["caught"]["killed"]
        uncertain, refused = row["uncertain"], row["uncertain_refused"]
        lines.append(f"| `{row['name']}` | {tried - caught} of {tried} | {uncertain - refused} of {uncertain} |")
    idle = sum(row["wrong"] for row in report["idle"])
    wrong = ", ".join(f"{row['name']} {row['wrong']} of {row['tried']}" for row in report["forms"])
    biases = "; ".join(f"{bias['name']}: {bias['evidence']}" for bias in report["biases"])
    lines += ["", f"idle agents that pass: {idle}; right ones refused: {wrong}; biases: {biases or 'none'};"
                  f" no verdict: {report['faults']}"]  # fmt: skip
    return "\n".join(lines)


def known_lines(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The tasks that AgentDojo changed: the wrong traces that each version of them accepts."""
    for name in KNOWN:
        shown = []
        for report in reports:
            found = next((row for row in report["traces"] if row["trace_id"] == name), None)
            accepted = sum(found["accepted"].values()) if found else 0
            shown.append(f"{accepted} of {found['tried']} accepted" if found else "no run that it accepts")
        yield f"{name}: {', then '.join(shown)}"
