"""The rules of the dyno agent: it keeps them, and they catch bugs that no case of its suite does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

import carob
from carob.evidence.merge import merge_turns
from carob.journal.reader import Journal
from carob.model.run import CaseRecord
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import OWN_RULE, CaseStatus, Status
from carob.scoring import verdicts
from carob1_fields import SUITES
from catalogs import CATALOG
from recordings import ROOT, shipped


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for name in ("DYNO_DATABASE_URL", "DYNO_MODEL", "DYNO_NOW"):
            patch.delenv(name, raising=False)
        folder = tmp_path_factory.mktemp("dyno")
        return carob.run(SUITES["dyno"], shipped("dyno"), results_dir=folder, timeout=120).journal


def write_sql(call: ToolCall) -> list[ToolCall]:
    """The query changes the database."""
    sql = str((call.arguments or {}).get("sql", "")).replace("SELECT count(*) AS n FROM", "DELETE FROM")
    return [structs.replace(call, arguments={"sql": sql})] if call.name == "query_database" else [call]


def book_twice(call: ToolCall) -> list[ToolCall]:
    """The same test is booked a second time."""
    again = structs.replace(call, id=None, message="again")
    return [call, again] if call.name == "auto_allocate_vehicle" and call.success else [call]


def book_another(call: ToolCall) -> list[ToolCall]:
    """A vehicle is booked that was not asked for."""
    other = ToolCall("auto_allocate_vehicle", {"vehicle_id": 77, "test_type": "brake"}, success=False, message="b")
    return [call, other] if call.name != "auto_allocate_vehicle" else [call]


Bug = Callable[[ToolCall], list[ToolCall]]
BUGS: dict[Bug, str] = {
    write_sql: "read-only",
    book_twice: "book-once",
    book_another: "book-what-was-asked-for",
}


def plant(bug: Bug, trace: Trace) -> Trace:
    turns = [
        structs.replace(turn, tool_calls=tuple(new for call in turn.tool_calls for new in bug(call)))
        for turn in trace.turns or (trace,)
    ]
    return merge_turns(turns) if trace.turns else turns[0]


def find_failed(record: CaseRecord, trace: Trace) -> list[tuple[str, str]]:
    results = verdicts.case_results(record.case, trace, CATALOG)
    return [(result.name, result.expected.split(":")[0]) for result in results if result.status is Status.FAILED]


def test_the_agent_keeps_its_rules(journal: Journal) -> None:
    assert {record.status for record in journal.records()} == {CaseStatus.PASS}


def find_failures(bug: Bug, journal: Journal) -> list[list[tuple[str, str]]]:
    return [find_failed(record, plant(bug, record.trace)) for record in journal.records()]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_bug_breaks_its_rule(bug: Bug, journal: Journal) -> None:
    assert any((OWN_RULE, BUGS[bug]) in failed for failed in find_failures(bug, journal))


def test_a_bug_that_no_case_catches_breaks_a_rule(journal: Journal) -> None:
    """The case asks for a query that holds a condition, and one that deletes holds it as well."""
    assert [failed for failed in find_failures(write_sql, journal) if failed] == [[(OWN_RULE, "read-only")]]
