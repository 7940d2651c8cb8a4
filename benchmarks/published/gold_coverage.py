"""The tools and arguments of benchmarks that no gold action of any task touches."""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PROGRAM = Path(__file__).parents[1] / "programs" / "agentdojo_gold.py"


class GoldCoverage(NamedTuple):
    """What the gold actions of a benchmark touch, and what they do not."""

    name: str
    tasks: int
    tools: int
    untouched_tools: tuple[str, ...]
    arguments: int
    untouched_arguments: tuple[str, ...]


def measure(
    name: str, tasks: int, tools: dict[str, list[str]], calls: Iterable[tuple[str, Sequence[str]]]
) -> GoldCoverage:
    """Hold the calls against the tools. The arguments of a tool that is never called are not counted once more."""
    touched: dict[str, set[str]] = {}
    for tool, arguments in calls:
        touched.setdefault(tool, set()).update(arguments)
    called = {tool: arguments for tool, arguments in tools.items() if tool in touched}
    missing = [f"{tool}.{name}" for tool, names in called.items() for name in names if name not in touched[tool]]
    never = tuple(sorted(tools.keys() - touched.keys()))
    return GoldCoverage(name, tasks, len(tools), never, sum(map(len, called.values())), tuple(missing))


def measure_tau2(clone: Path, domain: str = "airline") -> GoldCoverage:
    """tau2: the actions of the tasks, and the methods that are declared as tools."""
    tasks = json.loads((clone / "data/tau2/domains" / domain / "tasks.json").read_text(encoding="utf-8"))
    source = (clone / "src/tau2/domains" / domain / "tools.py").read_text(encoding="utf-8")
    actions = [action for task in tasks for action in (task["evaluation_criteria"] or {}).get("actions") or ()]
    calls = ((action["name"], [*action["arguments"]]) for action in actions)
    return measure(f"tau2 {domain}", len(tasks), dict(_declared_tools(source)), calls)


def _declared_tools(source: str) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any("is_tool" in ast.dump(mark) for mark in node.decorator_list):
            yield node.name, [argument.arg for argument in node.args.args if argument.arg != "self"]


def measure_agentdojo(python: str, version: str = "v1.2.2") -> list[GoldCoverage]:
    """AgentDojo: the ground truth of the tasks of its users, suite by suite."""
    # -P: a folder of this repository has a module that is called like the package.
    done = subprocess.run([python, "-P", str(PROGRAM), version], capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("GOLD "))
    suites = json.loads(line.removeprefix("GOLD "))
    return [measure(f"AgentDojo {name}", one["tasks"], one["tools"], one["calls"]) for name, one in suites.items()]


def gold_table(measured: Sequence[GoldCoverage]) -> str:
    lines = [
        "| benchmark | tasks | tools that no gold action calls | arguments of the other tools that none gives |",
        "|---|---|---|---|",
    ]
    for one in measured:
        tools = f"{len(one.untouched_tools)} of {one.tools}: {', '.join(one.untouched_tools) or 'none'}"
        missing = one.untouched_arguments
        arguments = f"{len(missing)} of {one.arguments}: {', '.join(missing) or 'none'}"
        lines.append(f"| {one.name} | {one.tasks} | {tools} | {arguments} |")
    return "\n".join(lines)
