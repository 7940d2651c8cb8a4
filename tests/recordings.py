"""Runs of the shipped suites against their agents, each made once however many tests and workers ask for it."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import carob
from carob.journal.reader import Journal
from carob.plugins.project import find_project
from carob.targets.config import TargetConfig, read_config, resolve

ROOT = Path(__file__).parents[1]
DYNO = ("eval/golden_sets/agent_decisions_v1.0.0.json", "eval/golden_sets/agent_qa_v1.0.0.json")
CANVAS = (
    ".claude/evals/minimum-eval-set.v0.1.json",
    ".claude/evals/synthesis-eval-set.v0.2.json",
    ".claude/evals/synthesis-eval-set.v0.3.json",
)
CHROMIUM = next((path for name in ("chromium-headless-shell", "chromium") if (path := shutil.which(name))), None)

Recorded = Callable[[str], Journal]


def shipped(name: str, **options: Any) -> TargetConfig:
    """A target of this repository's carob.toml, with some options changed."""
    config = resolve(name, read_config(find_project(ROOT)), ROOT)
    return structs.replace(config, options={**config.options, **options})


def canvas(**options: Any) -> TargetConfig:
    """The canvas app without the pictures that nobody looks at here, and without its patience."""
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium-headless-shell")
    return shipped("canvas", screenshots=False, wait_ms=90_000, **options)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Recorded:
    """The journal of a shipped suite: recorded by who asks first, while others wait for it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "recordings"
    shared.mkdir(exist_ok=True)

    def of(suite: str) -> Journal:
        folder = shared / Path(suite).stem
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                _record(suite, folder)
        (journal,) = folder.glob("*.jsonl")
        return Journal(journal)

    return of


def _record(suite: str, folder: Path) -> None:
    """Into another folder first: what is there under its name is whole."""
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    target = canvas() if suite in CANVAS else shipped("dyno")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DYNO_DATABASE_URL", "DYNO_MODEL", "DYNO_NOW"):
            patch.delenv(name, raising=False)
        carob.run(ROOT / suite, target, results_dir=unfinished, concurrency=4, timeout=240)
    unfinished.rename(folder)
