"""Suites, recordings and agents for the command line, and what one command line came to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SCRIPT = Path(sys.executable).with_name("carob")
HELLO = {"must_say_any": ["hello"]}

AGENT = """\
import asyncio
import time


def greet(prompt):
    return f"Hello, {prompt}"


async def greet_later(prompt):
    await asyncio.sleep(0)
    return {"final_message": f"Hello, {prompt}", "tool_calls": [{"name": "wave", "success": True}]}


def mute(prompt):
    return "Nothing."


def crash(prompt):
    raise ValueError("the model is down")


async def hang(prompt):
    await asyncio.sleep(600)


def block(prompt):
    with open("started", "w"):
        pass
    time.sleep(600)
"""

PROGRAM = """\
#!/usr/bin/env python3
import json, sys

request = json.load(sys.stdin)
print("a line of log")
for setup in request.get("setup_prompts", []):
    print(json.dumps({"final_message": "ok"}))
print(json.dumps({"type": "tool_call", "name": "wave", "result": {"success": True}}))
print(json.dumps({"final_message": "hello, " + request["prompt"]}))
"""


class Ran(NamedTuple):
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def statuses(self) -> dict[str, str]:
        """The status that was printed for each case."""
        words = [line.split() for line in self.out.splitlines()]
        return {line[1]: line[0] for line in words if line and line[0] in ("PASS", "FAIL", "PARTIAL", "ERROR")}


Carob = Callable[..., Ran]
"""A command line that runs in this process: what the fixture `carob` gives."""


def case(case_id: str = "A", **keys: Any) -> dict[str, Any]:
    return {"id": case_id, "prompt": f"prompt of {case_id}", "expected": HELLO, **keys}


def eval_set(*cases: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"version": "0.3", "cases": list(cases or (case(),)), **keys}


def write(path: str | Path, content: object) -> str:
    """Write text or bytes as they are, a list of traces as JSON lines, anything else as JSON."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        place.write_bytes(content)
    elif isinstance(content, str):
        place.write_text(content, "utf-8")
    elif place.suffix == ".jsonl" and isinstance(content, list):
        place.write_text("".join(f"{json.dumps(line)}\n" for line in content))
    else:
        place.write_text(json.dumps(content))
    return str(path)


def traces(path: str = "traces.jsonl", **messages: Any) -> str:
    """A recording: the final message of each case, or a dict with more; the spec of its target."""
    lines = [
        {"case_id": case_id, **(said if isinstance(said, dict) else {"final_message": said})}
        for case_id, said in messages.items()
    ]
    return f"replay:{write(path, lines)}"


def program(path: str = "agent") -> str:
    """An agent that is a program; the spec of its target."""
    write(path, PROGRAM.replace("/usr/bin/env python3", sys.executable))
    Path(path).chmod(0o755)
    return f"command:./{path}"


def process(
    *arguments: str | bytes, env: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """The console script in a process of its own."""
    environ = {**os.environ, **(env or {})}
    return subprocess.run(
        [SCRIPT, *arguments], env=environ, text=True, capture_output=True, timeout=120, check=False, **options
    )


def results(folder: str = "carob-results") -> dict[str, list[Path]]:
    """The files of a results folder by suffix, the oldest first."""
    by_suffix: dict[str, list[Path]] = {".jsonl": [], ".json": [], ".md": []}
    for path in sorted(Path(folder).iterdir(), key=lambda path: (len(path.name), path.name)):
        by_suffix.setdefault(path.suffix, []).append(path)
    return by_suffix


def journal_of(folder: str = "carob-results") -> Path:
    (journal,) = results(folder)[".jsonl"]
    return journal


def report_of(folder: str = "carob-results") -> Any:
    """The only JSON report of a folder."""
    (report,) = results(folder)[".json"]
    return json.loads(report.read_bytes())
