"""Running Carob from tests: suites of prompts, the command line in a process of its own, and what is left of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

import carob
from carob.engine.events import Listener
from carob.journal.reader import Journal
from carob.model.run import CaseRecord
from carob.targets.config import TargetConfig

HERE = Path(__file__).parent
AGENTS = HERE / "agents.py"
CAROB = [sys.executable, "-c", "from carob.cli.main import main; main()"]
MARK = "CAROB_TEST_MARK"
PATIENCE = 120.0


def target(function: str) -> str:
    return f"python:{AGENTS}:{function}"


def case(case_id: str, prompt: str, **expected: Any) -> dict[str, Any]:
    return {"id": case_id, "prompt": prompt, "expected": {"must_say_any": ["fine"], **expected}}


def write_suite(path: Path, cases: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text(json.dumps({"version": "0.3", "cases": list(cases)}))
    return path


def suite_of(folder: Path, prompts: Sequence[str]) -> Path:
    """A suite with a case for each prompt, named by its place and its first word."""
    cases = [case(f"{number:03}-{prompt.split()[0]}", prompt) for number, prompt in enumerate(prompts)]
    return write_suite(folder / "suite.json", cases)


def journals(folder: Path) -> list[Path]:
    """Every journal with something in it, in the order in which they were made."""
    return sorted(
        (path for path in folder.glob("*.jsonl") if path.stat().st_size), key=lambda path: path.stat().st_mtime_ns
    )


def records(path: Path) -> dict[str, CaseRecord]:
    found = list(Journal(path).records())
    by_id = {record.case.id: record for record in found}
    assert len(by_id) == len(found), "a case stands in the journal twice"
    return by_id


def statuses(path: Path) -> dict[str, str]:
    return {case_id: record.status.value for case_id, record in records(path).items()}


class Started:
    """The command line in a process of its own, whose every descendant bears a mark."""

    def __init__(
        self, *arguments: object, cwd: Path, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
    ) -> None:
        self.mark = uuid4().hex
        self.process = subprocess.Popen(
            [*prefix, *CAROB, *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **(env or {}), MARK: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it and all that it left behind, which would keep its pipes open."""
        self.process.kill()
        for pid in marked(self.mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.communicate(timeout=PATIENCE)

    def ended(self, within: float = PATIENCE) -> tuple[int, str, str]:
        """Its exit code and what it printed."""
        out, err = self.process.communicate(timeout=within)
        return self.process.returncode, out, err

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def left_behind(self, within: float = 10.0) -> list[int]:
        """The processes that outlive it; they get a moment to be reaped."""
        until = time.monotonic() + within
        while (alive := marked(self.mark)) and time.monotonic() < until:
            time.sleep(0.02)
        return alive


def marked(mark: str) -> list[int]:
    """The processes whose environment bears this mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environ = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}={mark}".encode() in environ:
                found.append(int(entry.name))
    return found


def until(condition: Callable[[], Any], within: float = PATIENCE) -> Any:
    """What the condition gives as soon as that is something."""
    deadline = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.005)
    return found


def finished_lines(folder: Path) -> int:
    """How many cases the newest journal holds."""
    found = journals(folder)
    return found[-1].read_bytes().count(b'\n{"kind":"case"') if found else 0


TIMINGS = {
    "duration_ms",
    "started_at",
    "ended_at",
    "timings",
    "finished_at",
    "generated_at",
    "run_id",
    "shuffle",
    "pace",
}


def timeless(value: Any) -> Any:
    """The same without what differs from run to run."""
    if isinstance(value, dict):
        return {key: timeless(entry) for key, entry in value.items() if key not in TIMINGS}
    return [timeless(entry) for entry in value] if isinstance(value, list) else value


def verdicts(folder: Path) -> tuple[bytes, bytes, bytes]:
    """The journal in suite order, the JSON and the Markdown report of the only run in a folder, without times."""
    (journal,) = journals(folder)
    header, *lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    lines.sort(key=lambda line: (line["kind"] == "footer", line.get("index"), line.get("repeat", 0)))
    (report,) = folder.glob("minimum-eval-results-*.json")
    (markdown,) = folder.glob("minimum-eval-results-*.md")
    shown = [line for line in markdown.read_bytes().splitlines() if not line.startswith(b"- Generated at")]
    return (
        msgspec.json.encode(timeless([header, *lines])),
        msgspec.json.encode(timeless(json.loads(report.read_bytes()))),
        b"\n".join(shown),
    )


async def carried_out(
    folder: Path,
    prompts: Sequence[str],
    *,
    function: str = "agent",
    config: Mapping[str, Any] | None = None,
    listeners: Sequence[Listener] = (),
    **options: Any,
) -> dict[str, CaseRecord]:
    """The record of each case, by the second word of its id or by its place, after a run in worker processes."""
    suite = suite_of(folder, prompts)
    chosen = TargetConfig(kind="python", spec=f"{AGENTS}:{function}", root=folder, **(config or {}))
    given = {"workers": 1, "timeout": 30.0, "results_dir": folder / "out", **options}
    async with asyncio.timeout(PATIENCE):
        result = await carob.arun(suite, chosen, listeners=listeners, **given)
    return {record.case.id: record for record in result.records}


def kind(record: CaseRecord) -> str:
    """The kind of error, or the status where there was none."""
    return record.trace.error.kind if record.trace.error else record.status.value
