"""query_database: one read-only SELECT, and the database is what says no to everything else."""

import json

import pytest

from dyno_agent import queries
from dyno_agent.database import DynoContext
from dyno_agent.policy import QUERY_ROW_LIMIT
from dyno_agent.queries import QueryRefused, select_rows

STATE = (
    "SELECT (SELECT count(*) FROM allocations) AS allocations, (SELECT count(*) FROM dynos WHERE enabled) AS enabled, "
    "(SELECT count(*) FROM vehicles) AS vehicles"
)

REFUSED_ANYWHERE = {
    "delete": "DELETE FROM allocations",
    "delete that answers": "DELETE FROM allocations RETURNING id",
    "update": "UPDATE dynos SET enabled = true",
    "insert": "INSERT INTO maintenance VALUES (99, 1, '2026-01-01', '2026-01-02', 'x')",
    "drop": "DROP TABLE vehicles",
    "create": "CREATE TABLE loot (x int)",
    "second statement": "SELECT 1; DROP TABLE dynos",
    "second statement after a comment": "SELECT 1 /* ; */; DELETE FROM allocations",
    "only a comment": "-- SELECT 1",
    "nothing": "   ",
    "transaction": "COMMIT",
    "syntax": "SELEC name FROM dynos",
    "unknown table": "SELECT * FROM secrets",
    "too long": "SELECT '" + "x" * 30_000 + "'",
}
REFUSED_BY_SQLITE = {
    "attach": "ATTACH DATABASE '/etc/passwd' AS other",
    "pragma": "PRAGMA writable_schema = ON",
    "pragma as a function": "SELECT * FROM pragma_database_list",
    "extension": "SELECT load_extension('x')",
    "vacuum": "VACUUM INTO '/tmp/stolen.sqlite'",
    "huge value": "SELECT length(randomblob(100000000))",
}
REFUSED_BY_POSTGRESQL = {
    "write in a with": "WITH gone AS (DELETE FROM allocations RETURNING id) SELECT count(*) FROM gone",
    "copy": "COPY dynos TO PROGRAM 'cat'",
    "set": "SET transaction_read_only = off",
    "set by a function": "SELECT set_config('transaction_read_only', 'off', false)",
    "lock": "SELECT * FROM dynos FOR UPDATE",
    "sequence": "SELECT nextval('allocations_id_seq')",
    "select into": "SELECT * INTO loot FROM vehicles",
    "file": "SELECT pg_read_file('/etc/passwd')",
    "do": "DO $$ BEGIN DELETE FROM allocations; END $$",
}


async def assert_refused(lab: DynoContext, sql: str) -> None:
    before = await select_rows(lab, STATE)
    with pytest.raises(QueryRefused) as caught:
        await select_rows(lab, sql)
    assert "\n" not in str(caught.value)
    assert await select_rows(lab, STATE) == before


@pytest.mark.parametrize("sql", REFUSED_ANYWHERE.values(), ids=REFUSED_ANYWHERE)
async def test_anything_but_a_select_is_refused(lab: DynoContext, sql: str) -> None:
    await assert_refused(lab, sql)


@pytest.mark.parametrize("sql", REFUSED_BY_SQLITE.values(), ids=REFUSED_BY_SQLITE)
async def test_the_ways_around_it_on_sqlite(sqlite_lab: DynoContext, sql: str) -> None:
    await assert_refused(sqlite_lab, sql)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("sql", REFUSED_BY_POSTGRESQL.values(), ids=REFUSED_BY_POSTGRESQL)
async def test_the_ways_around_it_on_postgresql(lab: DynoContext, sql: str) -> None:
    await assert_refused(lab, sql)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        pytest.param("SELECT name FROM dynos WHERE id = 1", [{"name": "DYNO-01"}], id="plain"),
        pytest.param("select count(*) as n from vehicles;", [{"n": 18}], id="semicolon"),
        pytest.param("WITH v AS (SELECT * FROM vehicles) SELECT count(*) AS n FROM v", [{"n": 18}], id="with"),
        pytest.param("SELECT 'DELETE FROM dynos; --' AS words", [{"words": "DELETE FROM dynos; --"}], id="words"),
        pytest.param("SELECT id FROM vehicles WHERE vin LIKE '%42'", [{"id": 42}], id="percent sign"),
        pytest.param("SELECT enabled FROM dynos WHERE id = 6", [{"enabled": 0}], id="boolean"),
        pytest.param("SELECT avg(id) AS n FROM dynos", [{"n": 4.5}], id="fraction"),
        pytest.param("SELECT name FROM dynos WHERE id = -1", [], id="no rows"),
        pytest.param("SELECT NULL AS word", [{"word": None}], id="null"),
    ],
)
async def test_a_select_gives_its_rows(lab: DynoContext, sql: str, rows: list[dict[str, object]]) -> None:
    assert json.dumps((await select_rows(lab, sql)).rows) == json.dumps(rows)


async def test_rows_and_cells_are_bounded(lab: DynoContext) -> None:
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) SELECT x FROM n"
    selection = await select_rows(lab, many)
    assert [row["x"] for row in selection.rows] == list(range(1, QUERY_ROW_LIMIT + 1))
    assert selection.truncated
    long = await select_rows(lab, f"SELECT '{'x' * 5000}' AS words")
    assert len(long.rows[0]["words"]) == queries.MAX_CELL_CHARACTERS + 1
    assert not long.truncated


async def test_an_endless_query_is_stopped(lab: DynoContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "QUERY_SECONDS", 0.2)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    with pytest.raises(QueryRefused, match=r"interrupted|timeout"):
        await select_rows(lab, endless)
