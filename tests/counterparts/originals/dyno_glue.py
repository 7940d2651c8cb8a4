"""The graph of phaa/dyno-agent, with a scripted model and a database that has no tables."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

os.environ |= {"PRODUCTION": "false", "DATABASE_URL": "sqlite+aiosqlite:///none.db"}

import agents.config  # type: ignore[import-not-found]  # of the clone

agents.config.VLLM_URL = os.environ["OPENAI_BASE_URL"]

from agents.graph import build_graph  # type: ignore[import-not-found]  # noqa: E402 - it reads the address above


class NoTables:
    """A database session: every question finds nothing."""

    async def execute(self, *_: object) -> Any:
        return SimpleNamespace(fetchall=list)


async def make_graph() -> Any:
    return await build_graph()


def setup() -> Any:
    return SimpleNamespace(db=NoTables())
