"""Databases of conversations: seeded alike, apart from each other, and guarded by their own constraints."""

import json
import tempfile
from datetime import date, datetime
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dyno_agent.database import DynoContext, create_database, drop_database, reading, writing
from dyno_agent.models import Allocation
from dyno_agent.policy import DEFAULT_NOW
from dyno_agent.queries import select_rows
from dyno_agent.settings import ConfigurationError, parse_database_url, parse_now

SIXTH, SEVENTH, NINTH = (date(2026, 5, day) for day in (6, 7, 9))


def booking(**other: object) -> dict[str, object]:
    """A booking that clashes with nothing in the seed."""
    plain = {"vehicle_id": 4, "dyno_id": 1, "test_type": "brake", "status": "scheduled", "imported": False}
    return {**plain, "start_date": date(2026, 5, 4), "end_date": date(2026, 5, 6), **other}


async def test_the_seed_is_the_same_on_both_databases(postgres_url: str) -> None:
    states = []
    for url in (None, postgres_url):
        context = await create_database("same", url, DEFAULT_NOW)
        tables = ("dynos", "vehicles", "maintenance", "allocations")
        states.append([(await select_rows(context, f"SELECT * FROM {table} ORDER BY id")).rows for table in tables])
        await drop_database(context)
    sqlite, postgresql = states
    assert json.dumps(sqlite) == json.dumps(postgresql)
    assert all(sqlite)


async def test_dates_are_counted_from_the_clock(database_url: str | None) -> None:
    context = await create_database("later", database_url, datetime(2031, 1, 1))
    rows = (await select_rows(context, "SELECT start_date FROM maintenance WHERE dyno_id = 2")).rows
    await drop_database(context)
    assert rows == [{"start_date": "2031-01-01"}]


async def test_conversations_do_not_see_each_other(database_url: str | None) -> None:
    one = await create_database("case", database_url, DEFAULT_NOW)
    other = await create_database("case", database_url, DEFAULT_NOW)
    async with writing(one) as connection:
        await connection.execute(insert(Allocation).values(**booking()))
    counts = []
    for context in (one, other):
        async with reading(context) as connection:
            counts.append((await connection.execute(select(func.count()).select_from(Allocation))).scalar_one())
        await drop_database(context)
    assert counts[0] == counts[1] + 1


async def test_nothing_is_left_of_a_sqlite_lab() -> None:
    context = await create_database("gone", None, DEFAULT_NOW)
    path = context.sqlite_path
    assert path is not None
    assert path.exists()
    await drop_database(context)
    assert not path.parent.exists()


async def test_nothing_is_left_of_a_postgresql_lab(postgres_url: str) -> None:
    context = await create_database("gone", postgres_url, DEFAULT_NOW)
    sql = f"SELECT nspname FROM pg_namespace WHERE nspname = '{context.schema}'"
    keeper = await create_database("keeper", postgres_url, DEFAULT_NOW)
    before = (await select_rows(keeper, sql)).rows
    await drop_database(context)
    after = (await select_rows(keeper, sql)).rows
    await drop_database(keeper)
    assert before == [{"nspname": context.schema}]
    assert after == []


@pytest.mark.parametrize(
    ("second", "refused"),
    [
        pytest.param(booking(vehicle_id=5), True, id="same dyno, same days"),
        pytest.param(booking(dyno_id=3), True, id="same vehicle, other dyno"),
        pytest.param(booking(vehicle_id=5, start_date=SIXTH, end_date=NINTH), True, id="last day"),
        pytest.param(booking(vehicle_id=5, start_date=date(2026, 5, 1), end_date=date(2026, 5, 30)), True, id="around"),
        pytest.param(booking(vehicle_id=5, start_date=SEVENTH, end_date=NINTH), False, id="day after"),
        pytest.param(booking(vehicle_id=5, dyno_id=3), False, id="other vehicle, other dyno"),
        pytest.param(booking(vehicle_id=5, status="cancelled"), False, id="cancelled"),
        pytest.param(booking(vehicle_id=5, imported=True), False, id="imported"),
        pytest.param(booking(vehicle_id=5, dyno_id=99), True, id="no such dyno"),
        pytest.param(booking(vehicle_id=5, dyno_id=3, status="maybe"), True, id="no such status"),
        pytest.param(booking(vehicle_id=5, dyno_id=3, end_date=date(2026, 5, 1)), True, id="ends before it starts"),
    ],
)
async def test_the_database_itself_refuses_a_double_booking(
    lab: DynoContext, second: dict[str, object], refused: bool
) -> None:
    async with writing(lab) as connection:
        await connection.execute(insert(Allocation).values(**booking()))
    if refused:
        with pytest.raises(IntegrityError):
            async with writing(lab) as connection:
                await connection.execute(insert(Allocation).values(**second))
    else:
        async with writing(lab) as connection:
            await connection.execute(insert(Allocation).values(**second))


async def test_an_update_into_a_double_booking_is_refused(lab: DynoContext) -> None:
    async with writing(lab) as connection:
        await connection.execute(insert(Allocation).values(**booking()))
        await connection.execute(insert(Allocation).values(**booking(vehicle_id=5, status="cancelled")))
    with pytest.raises(IntegrityError):
        async with writing(lab) as connection:
            await connection.execute(update(Allocation).where(Allocation.vehicle_id == 5).values(status="scheduled"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("mysql://localhost/lab", "names 'mysql'", id="other database"),
        pytest.param("not a url", "is no URL", id="no url"),
    ],
)
def test_a_bad_database_url_is_refused_in_one_line(url: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        parse_database_url(url)
    assert "\n" not in str(caught.value)


def test_the_clock_is_read_without_its_time_zone() -> None:
    assert parse_now("2026-03-02T09:00:00+05:00") == DEFAULT_NOW
    with pytest.raises(ConfigurationError, match="DYNO_NOW"):
        parse_now("yesterday")


async def test_a_case_id_cannot_leave_its_folder_or_schema(database_url: str | None) -> None:
    context = await create_database('../../x"; DROP SCHEMA public; --' + "y" * 500, database_url, DEFAULT_NOW)
    rows = (await select_rows(context, "SELECT count(*) AS n FROM dynos")).rows
    await drop_database(context)
    assert rows == [{"n": 8}]
    assert context.sqlite_path is None or context.sqlite_path.parent.parent == Path(tempfile.gettempdir())
