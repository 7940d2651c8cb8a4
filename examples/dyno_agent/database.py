"""One database per conversation: a SQLite file from a template, or a PostgreSQL schema of its own."""

import re
import sqlite3
import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path

from sqlalchemy import URL, NullPool, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from dyno_agent import seed
from dyno_agent.policy import DEFAULT_NOW
from dyno_agent.settings import ConfigurationError, parse_database_url, parse_now

BUSY_SECONDS = 10.0
"""How long one booking waits for another on SQLite before it gives up."""


@dataclass(frozen=True, slots=True)
class DynoContext:
    """What one conversation works on: its database and its clock. Plain values, so that it travels anywhere."""

    database_url: str
    schema: str | None = None
    now: str = DEFAULT_NOW.isoformat()

    @property
    def clock(self) -> datetime:
        return parse_now(self.now)

    @property
    def today(self) -> date:
        return self.clock.date()

    @property
    def sqlite_path(self) -> Path | None:
        """The file of the conversation; None on PostgreSQL."""
        url = make_url(self.database_url)
        return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


async def create_database(name: str, database_url: str | None, now: datetime) -> DynoContext:
    """Make a fresh, seeded database for one conversation; `name` only makes it recognisable."""
    label = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:24]
    if database_url is None:
        folder = Path(tempfile.mkdtemp(prefix=f"dyno-{label}-"))
        path = folder / "lab.sqlite"
        path.write_bytes(_sqlite_template(now.date()))
        return DynoContext(URL.create("sqlite+aiosqlite", database=str(path)).render_as_string(), None, now.isoformat())
    return await _create_schema(label, parse_database_url(database_url), now)


async def _create_schema(label: str, url: URL, now: datetime) -> DynoContext:
    from asyncpg import PostgresError  # type: ignore[import-untyped]

    name = f"dyno_{label}_{uuid.uuid4().hex[:12]}"
    context = DynoContext(url.render_as_string(hide_password=False), name, now.isoformat())
    try:
        async with open_engine(context) as engine, engine.begin() as connection:
            await connection.execute(text(f"CREATE SCHEMA {name}"))
            await connection.run_sync(seed.plant, now.date())
    except (OSError, PostgresError, DBAPIError) as problem:
        reason = str(problem).partition("\n")[0]
        raise ConfigurationError(f"DYNO_DATABASE_URL ({url.render_as_string()}) cannot be used: {reason}") from problem
    return context


async def drop_database(context: DynoContext) -> None:
    """Remove what `create_database` made."""
    path = context.sqlite_path
    if path is not None:
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        path.parent.rmdir()
        return
    async with open_engine(context) as engine, engine.begin() as connection:
        await connection.execute(text(f"DROP SCHEMA {context.schema} CASCADE"))


@asynccontextmanager
async def open_engine(context: DynoContext) -> AsyncIterator[AsyncEngine]:
    """An engine for one piece of work: nothing is pooled, so that nothing is left open behind a conversation."""
    if context.sqlite_path is not None:
        engine = create_async_engine(context.database_url, poolclass=NullPool, connect_args={"timeout": BUSY_SECONDS})
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    else:
        settings = {"search_path": context.schema or "public"}
        engine = create_async_engine(
            context.database_url, poolclass=NullPool, connect_args={"server_settings": settings}
        )
    try:
        yield engine
    finally:
        await engine.dispose()


@asynccontextmanager
async def reading(context: DynoContext) -> AsyncIterator[AsyncConnection]:
    """A connection whose transaction sees one state of the lab."""
    async with open_engine(context) as engine:
        if context.sqlite_path is not None:
            _begin_with(engine, "BEGIN")
        else:
            engine = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        async with engine.connect() as connection:
            yield connection


@asynccontextmanager
async def writing(context: DynoContext) -> AsyncIterator[AsyncConnection]:
    """A transaction that takes the right to write before it reads, so that what it reads stays true until it ends."""
    async with open_engine(context) as engine:
        if context.sqlite_path is not None:
            _begin_with(engine, "BEGIN IMMEDIATE")
        async with engine.begin() as connection:
            yield connection


def _begin_with(engine: AsyncEngine, statement: str) -> None:
    event.listen(engine.sync_engine, "begin", lambda connection: connection.exec_driver_sql(statement))


def _prepare_sqlite(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    # The driver's own, late BEGIN would let two bookings read the same free dyno before either writes.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


@lru_cache(maxsize=8)
def _sqlite_template(today: date) -> bytes:
    """The seeded database as the bytes of its file, built once per process and day."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        seed.plant(connection, today)
    raw = engine.raw_connection()
    try:
        memory = raw.driver_connection
        assert isinstance(memory, sqlite3.Connection)
        return memory.serialize()
    finally:
        raw.close()
        engine.dispose()
