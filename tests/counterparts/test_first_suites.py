"""From nothing to a drafted suite, for agents of three frameworks: what it takes, what the draft catches and misses.

Each shop is software of others in an environment of its own, asked by `carob init` as it is. The model is scripted:
it says the same in many phrasings, and for each planted bug it does one thing wrong. `-s` prints the figures.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from counterparts.environments import ROOT, python_with
from counterparts.shops.scripts import IN_TOOLS, PROMPTS, WRONG, right
from scripted_model import ScriptedModel, serve
from scripted_model.script import Script

HERE = Path(__file__).parent / "shops"
CAROB = ROOT / ".venv" / "bin" / "carob"
DRAFTED_WITH = (0, 16, 32, 48, 4)
FURTHER = [number for number in range(60) if number not in DRAFTED_WITH][::2][:20]
LEAST_KILLED, LEAST_CAUGHT = 0.9, 0.85


class Shop(NamedTuple):
    """An agent on a framework; a `service` runs in its own environment, the others are loaded by Carob."""

    name: str
    needs: tuple[str, ...]
    service: bool


SHOPS = (
    Shop("langchain", ("--editable", f"{ROOT}[langgraph]", "langchain>=1.0", "langchain-openai>=1.1"), False),
    Shop("pydantic_ai", ("pydantic-ai-slim[openai,ag-ui]==2.66.0", "uvicorn>=0.34"), True),
    Shop("openai_agents", ("openai-agents>=0.6", "fastapi>=0.115", "uvicorn>=0.34"), True),
)


class Project:
    """A shop that runs, in a folder of its own."""

    def __init__(self, folder: Path, model: ScriptedModel, carob: Path, env: Mapping[str, str]) -> None:
        self.folder, self.model, self._carob, self._env = folder, model, carob, env

    def carob(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [self._carob, *words]
        return subprocess.run(command, cwd=self.folder, env=self._env, capture_output=True, text=True, check=False)

    def statuses(self, rules: list[dict[str, object]], bug: str = "", *, repeat: int = 1) -> list[str]:
        """How the runs of the cases end with a model that says this, and a bug in the tools."""
        self.model.script = Script.load({"rules": rules})
        (self.folder / "bug").write_text(bug)
        done = self.carob("run", self.suite.name, "--results-dir", "runs", "--workers", "0", "--repeat", str(repeat))
        assert done.returncode in (0, 1), done.stdout + done.stderr
        lines = [line.split() for line in done.stdout.splitlines() if repeat == 1 or " #" in line]
        statuses = [line[0] for line in lines if line and line[0] in ("PASS", "FAIL", "PARTIAL", "ERROR")]
        assert len(statuses) >= len(PROMPTS) * repeat, done.stdout + done.stderr
        return statuses

    @property
    def suite(self) -> Path:
        (suite,) = self.folder.glob("*.carob.yaml")
        return suite


@contextmanager
def opened(shop: Shop, folder: Path) -> Iterator[Project]:
    python = python_with(f"first_{shop.name}", *shop.needs)
    shutil.copytree(HERE / shop.name, folder)
    shutil.copy(HERE / "shop.py", folder)
    with serve({"rules": right(*DRAFTED_WITH)}) as model, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        environ = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none", "PORT": str(port)}
        (folder / ".env").write_text(f"PORT={port}\n")
        env = {**os.environ, **environ}
        carob = CAROB if shop.service else python.parent / "carob"
        process = None
        if shop.service:
            process = subprocess.Popen([python, "agent.py"], cwd=folder, env=env, stderr=subprocess.DEVNULL)
        try:
            _wait_for(port) if process else None
            yield Project(folder, model, carob, env)
        finally:
            if process:
                process.terminate()
                process.wait()


def _wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the shop did not start")


@pytest.mark.limit(900)
@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.name)
def test_a_first_suite_from_nothing(shop: Shop, tmp_path: Path) -> None:
    with opened(shop, tmp_path / "shop") as project:
        began = time.monotonic()
        prompts = [word for prompt in PROMPTS for word in ("--prompt", prompt)]
        done = project.carob("init", "--yes", "--allow-effects", *prompts)
        seconds = time.monotonic() - began
        assert done.returncode == 0, done.stdout + done.stderr
        text = project.suite.read_text()
        facts, every = map(float, re.search(r"# Audit: ([\d.]+) .*?, ([\d.]+) ", text).groups())  # type: ignore[union-attr]
        further = project.statuses(right(*FURTHER), repeat=len(FURTHER))
        caught = {bug: project.statuses([*rules, *right(7)]) for bug, rules in WRONG.items()}
        limit = re.search(r"max_seconds: (\d+)", text)
        slow = f"tool-is-slow:{int(limit[1]) + 2 if limit else 1}"
        caught |= {bug: project.statuses(right(7), bug) for bug in (*IN_TOOLS, slow)}
    missed = [bug for bug, ended in caught.items() if set(ended) == {"PASS"}]
    figures = {
        "shop": shop.name,
        "seconds of carob init": round(seconds, 1),
        "edits": 0,
        "cases": text.count("\n  - id: "),
        "audit, without wording": facts,
        "audit, all": every,
        "right runs that passed": f"{further.count('PASS')} of {len(FURTHER) * len(PROMPTS)}",
        "bugs caught": f"{len(caught) - len(missed)} of {len(caught)}",
        "bugs missed": missed,
    }
    print(json.dumps(figures, indent=2))
    print(text) if os.environ.get("SHOW_DRAFT") else None
    assert set(further) == {"PASS"}
    assert facts >= LEAST_KILLED
    assert len(missed) <= len(caught) * (1 - LEAST_CAUGHT), missed
