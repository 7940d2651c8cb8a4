"""A lab on each database."""

from collections.abc import AsyncIterator

import pytest

from dyno_agent.database import DynoContext, create_database, drop_database
from dyno_agent.policy import DEFAULT_NOW


@pytest.fixture
async def lab(database_url: str | None) -> AsyncIterator[DynoContext]:
    """A fresh lab, once on each database."""
    context = await create_database("test", database_url, DEFAULT_NOW)
    yield context
    await drop_database(context)


@pytest.fixture
async def sqlite_lab() -> AsyncIterator[DynoContext]:
    """A fresh lab on SQLite, for what does not depend on the database."""
    context = await create_database("test", None, DEFAULT_NOW)
    yield context
    await drop_database(context)
