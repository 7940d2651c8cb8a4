"""One read-only SELECT, held to that by the database: no list of forbidden words stands in the way or can be fooled."""

import asyncio
import math
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy.exc import DBAPIError

from dyno_agent.database import DynoContext, reading
from dyno_agent.policy import QUERY_ROW_LIMIT, QUERY_SECONDS

MAX_CELL_CHARACTERS = 200
_MAX_VALUE_BYTES = 1_000_000
_MAX_SQL_BYTES = 20_000
_STEPS_BETWEEN_CLOCK_READS = 10_000
_HARMLESS_ACTIONS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)


class QueryRefused(Exception):
    """The database did not run the statement; the message is the database's own reason in one line."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of a SELECT, and whether there were more than the limit."""

    rows: list[dict[str, Any]]
    truncated: bool


async def select_rows(context: DynoContext, sql: str) -> Selection:
    """Run one SELECT and give at most `QUERY_ROW_LIMIT` rows."""
    if len(sql.encode()) > _MAX_SQL_BYTES:
        raise QueryRefused(f"the statement is longer than {_MAX_SQL_BYTES} bytes")
    path = context.sqlite_path
    if path is not None:
        # The URI form takes a percent-encoded path.
        return await asyncio.to_thread(_select_on_sqlite, f"{path.absolute().as_uri()}?mode=ro", sql)
    return await _select_on_postgresql(context, sql)


def _select_on_sqlite(uri: str, sql: str) -> Selection:
    deadline = time.monotonic() + QUERY_SECONDS
    with closing(sqlite3.connect(uri, uri=True, timeout=QUERY_SECONDS)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA query_only = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        connection.set_authorizer(_only_reading)
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CLOCK_READS)
        try:
            cursor = connection.execute(sql)
            if cursor.description is None:
                raise QueryRefused("there is no SELECT in it")
            found = cursor.fetchmany(QUERY_ROW_LIMIT + 1)
        # Python 3.11 reports a second statement as sqlite3.Warning, later versions as sqlite3.ProgrammingError.
        except (sqlite3.Error, sqlite3.Warning) as problem:
            raise QueryRefused(_one_line(str(problem))) from problem
    return _selection(dict(row) for row in found)


def _only_reading(
    action: int, _first: str | None, second: str | None, _database: str | None, _trigger: str | None
) -> int:
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _HARMLESS_ACTIONS else sqlite3.SQLITE_DENY


async def _select_on_postgresql(context: DynoContext, sql: str) -> Selection:
    async with reading(context) as connection:
        await connection.exec_driver_sql(f"SET LOCAL statement_timeout = {math.ceil(QUERY_SECONDS * 1000)}")
        try:
            # DECLARE takes nothing but a SELECT and a prepared statement holds one command: the server checks both.
            await connection.exec_driver_sql(f"DECLARE asked NO SCROLL CURSOR FOR {sql}")
            result = await connection.exec_driver_sql(f"FETCH {QUERY_ROW_LIMIT + 1} FROM asked")
            found = result.mappings().all()
        except DBAPIError as problem:
            raise QueryRefused(_one_line(_server_words(problem))) from problem
    return _selection(dict(row) for row in found)


def _server_words(problem: DBAPIError) -> str:
    """The server's sentence without the name of the driver's exception class, which SQLAlchemy puts before it."""
    return str(problem.orig).partition(">: ")[2] or str(problem.orig)


def _selection(found: Iterable[Mapping[Any, Any]]) -> Selection:
    rows = [{str(name): _cell(value) for name, value in row.items()} for row in found]
    return Selection(rows[:QUERY_ROW_LIMIT], truncated=len(rows) > QUERY_ROW_LIMIT)


def _cell(value: Any) -> Any:
    """A value that JSON can hold, the same from both databases and never long."""
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Decimal):
        return float(value)
    return _bounded(value.hex() if isinstance(value, bytes) else str(value))


def _bounded(words: str) -> str:
    return words if len(words) <= MAX_CELL_CHARACTERS else words[:MAX_CELL_CHARACTERS] + "…"


def _one_line(words: str) -> str:
    return _bounded(" ".join(words.split()))
