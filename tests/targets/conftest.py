from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from carob.model.suite import Case
from carob.model.trace import Trace
from carob.targets.base import RunContext, Target
from carob.targets.catalog import build
from carob.targets.config import TargetConfig

HERE = Path(__file__).parent


def case(prompt: str = "say hi", case_id: str = "one", **rest: Any) -> Case:
    return Case(id=case_id, prompt=prompt, checks=(), **rest)


@asynccontextmanager
async def opened(kind: str, spec: str, root: Path = HERE, **rest: Any) -> AsyncIterator[Target]:
    target = build(TargetConfig(kind=kind, spec=spec, root=root, **rest))
    await target.open()
    try:
        yield target
    finally:
        await target.close()


async def ask(target: Target, prompt: str, **rest: Any) -> Trace:
    return await target.run(case(prompt, **rest), RunContext())


Ask = Callable[..., Awaitable[Trace]]
PROGRAM = f"{sys.executable} {HERE / 'behaviours.py'}"


@pytest.fixture(autouse=True)
def _same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets put directories on sys.path; tests get them off again."""
    monkeypatch.setattr(sys, "path", list(sys.path))
