"""Hooks around a conversation: a fresh lab before it, nothing left behind after it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dyno_agent.database import DynoContext, create_database, drop_database
from dyno_agent.policy import DEFAULT_NOW
from dyno_agent.queries import select_rows
from dyno_agent.settings import environment_setting, parse_now


async def setup(case_id: str) -> dict[str, Any]:
    """Make a seeded database for one conversation and give the graph's context.

    `DYNO_DATABASE_URL` (a PostgreSQL database) and `DYNO_NOW` (the lab's clock) are read here, at each call.
    """
    now = environment_setting("DYNO_NOW")
    context = await create_database(
        case_id, environment_setting("DYNO_DATABASE_URL"), parse_now(now) if now else DEFAULT_NOW
    )
    return asdict(context)


async def teardown(context: Mapping[str, Any]) -> None:
    """Remove the database that `setup` made."""
    await drop_database(DynoContext(**context))


async def database_rows(context: Mapping[str, Any], sql: str) -> list[dict[str, Any]]:
    """The rows of one SELECT on the conversation's database: what the agent left there."""
    return (await select_rows(DynoContext(**context), sql)).rows
