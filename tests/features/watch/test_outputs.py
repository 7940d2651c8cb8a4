"""What comes out: figures, the journal, events; no secret, no personal data, nothing of a user as a label."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import CarobError, UsageError
from carob.features.watch import journal
from carob.features.watch.export import ReportExporter, read_headers
from carob.journal.append_log import LogLimits
from carob.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply
from features.watch.watched import FORGETS_TO_LOOK, PLAIN, UNASKED, Watched, turn

Start = Callable[..., Watched]
MAIL, SECRET = "bob@mail.example.org", "hunter2-hunter2-hunter2"


def with_words(spans: list[dict[str, Any]], old: str, new: str) -> list[dict[str, Any]]:
    changed: list[dict[str, Any]] = json.loads(json.dumps(spans).replace(old, new))
    return changed


def records(watched: Watched) -> list[carob.CaseRecord]:
    return [record for path in watched.journals() for record in carob.Journal(path).records()]


def test_the_journal_has_what_broke_a_rule_and_can_be_judged_again(start: Start) -> None:
    watched = start()
    for number in (PLAIN, FORGETS_TO_LOOK, UNASKED):
        watched.send(*turn(number))
    watched.wait()
    assert [record.case.id for record in records(watched)] == ["s-8", "s-10"]
    [path] = watched.journals()
    assert carob.Journal(path).faults == ()
    watched.close()
    assert carob.Journal(path).summary.failed == 2
    assert not carob.Journal(path).summary.incomplete
    again = carob.rescore(path)
    assert again.summary.failed == 2


def test_a_journal_without_a_conversation_is_removed(start: Start) -> None:
    watched = start()
    watched.send(*turn(PLAIN))
    watched.wait()
    assert len(watched.journals()) == 1
    watched.close()
    assert watched.journals() == []


def test_personal_data_is_masked_and_secrets_are_removed(start: Start) -> None:
    """In the journal, on the console and in events; amounts and ids stay."""
    watched = start(environ={"DESK_API_KEY": SECRET})
    unasked = with_words(turn(UNASKED), "hm, A-10", f"hm, A-10, {MAIL}, {SECRET}")
    watched.send(*unasked)
    watched.wait()
    said = watched.journals()[0].read_text() + "".join(watched.lines) + str(watched.collector.events)
    assert MAIL not in said
    assert SECRET not in said
    assert "person1@example.com" in said
    assert "A-10" in said


def test_personal_data_can_be_kept(start: Start) -> None:
    watched = start(keep_personal_data=True)
    watched.send(*with_words(turn(UNASKED), "hm, A-10", f"hm, A-10, {MAIL}"))
    watched.wait()
    assert MAIL in watched.journals()[0].read_text()


def test_a_conversation_that_is_judged_again_is_in_the_journal_again(start: Start) -> None:
    """Also when it keeps all rules by now: what was written before is not the last word."""
    watched = start()
    spans = turn(PLAIN)
    watched.send(*spans[:1], *spans[2:])
    watched.wait()
    watched.send(spans[1])
    watched.wait()
    assert [(r.case.id, r.verdict.status.value) for r in records(watched)] == [("s-2", "PARTIAL"), ("s-2 #2", "PASS")]


def test_a_journal_that_is_full_is_followed_by_another(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = start()
    monkeypatch.setattr(watched.watch._journal, "_most", 2)
    for number in range(5, 80, 5):
        if number % 7:
            watched.send(*turn(number))
            watched.wait()
    assert len(watched.journals()) == 7
    for path in watched.journals()[:-1]:
        ended = carob.Journal(path)
        assert (len(ended), ended.faults, ended.summary.incomplete) == (2, (), "")
    kept = sum(path.stat().st_size for path in watched.journals()[3:-1])
    monkeypatch.setattr(watched.watch._journal, "_limits", LogLimits(total=kept))
    watched.wait(40)
    assert len(watched.journals()) == 4


def test_starting_again_removes_nothing(start: Start) -> None:
    """A start without a conversation leaves no file either."""
    for number in (UNASKED, UNASKED + 10):
        watched = start()
        watched.send(*turn(number))
        watched.wait()
        for _ in range(9):
            watched = start()
    assert [record.case.id for record in records(watched)] == ["s-10", "s-20"]
    assert len(watched.journals()) == 3


def test_a_full_disk_holds_a_conversation_back_until_its_line_is_written(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    watched = start()
    with monkeypatch.context() as full:
        full.setattr(os, "write", refuse)
        watched.send(*turn(UNASKED))
        watched.send(*turn(PLAIN))
        watched.wait()
        watched.wait()
    assert watched.verdicts("s-10") == []
    assert watched.verdicts("s-2"), "what needs no line does not wait"
    assert watched.figure("carob_watch_failures_total", what="journal") == 2
    assert "No space left" in watched.lines[0]
    watched.wait()
    assert watched.verdicts("s-10")[0]["explicit-yes"] == "broken"
    assert [record.case.id for record in records(watched)] == ["s-10"]
    assert watched.figure("carob_rule_verdicts_total", rule="explicit-yes", verdict="broken") == 1


def test_what_could_not_be_written_at_the_end_is_written_at_the_next_start(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = start()
    watched.send(*turn(UNASKED))
    with monkeypatch.context() as full:
        full.setattr(journal.AppendLog, "append", lambda *_: os.read(-1, 1))
        watched.close()
    assert not watched.watch.ended_well
    watched = start()
    watched.wait()
    assert [record.case.id for record in records(watched)] == ["s-10"]


def test_the_last_line_of_a_killed_process_is_not_written_twice(start: Start, tmp_path: Path) -> None:
    """It was killed after the line of the journal, and before it noted that."""
    watched = start()
    watched.send(*turn(UNASKED))
    watched.wait()
    watched.close()
    with sqlite3.connect(tmp_path / "watch" / "spans.sqlite") as database:
        database.execute("UPDATE conversations SET revision = 0, due = 0, outcomes = '{}', is_kept = 0")
    database.close()
    watched = start()
    watched.wait()
    assert [record.case.id for record in records(watched)] == ["s-10"]


def test_a_journal_that_was_removed_is_begun_again(start: Start) -> None:
    watched = start()
    watched.wait(0)
    watched.journals()[0].unlink()
    watched.wait(40)
    watched.send(*turn(UNASKED))
    watched.wait()
    assert [record.case.id for record in records(watched)] == ["s-10"]


def test_labels_are_rules_and_words_of_carob(start: Start) -> None:
    watched = start()
    hostile = 'x"} 1\nevil{a="b'
    watched.send(*turn(UNASKED, session=hostile))
    watched.wait()
    text = watched.watch.figures()
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{\w+="[\w-]+"(,\w+="[\w-]+")*\})? \d+', line), line
    assert "evil" not in text


def test_rules_are_read_again(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is broken keeps the rules of before and says so, once; what comes later is judged by the new ones."""
    monkeypatch.setattr("carob.features.watch.rules.SECONDS", 0.0)
    watched = start()
    text = watched.policy.read_text()
    for broken in ("carob: 1\nrules: [{id: x, each: {cal: y}}]\n", "carob: [", ""):
        watched.policy.write_text(broken)
        watched.wait(0)
        watched.wait(0)
    assert watched.figure("carob_watch_rules_current") == 0
    assert watched.figure("carob_watch_rules_failures_total") == 3
    assert len(watched.lines) == 3
    assert all("those of before are kept: " in line for line in watched.lines)
    watched.send(*turn(FORGETS_TO_LOOK))
    watched.wait()
    assert watched.verdicts("s-8")[0]["look-first"] == "broken"
    watched.policy.write_text(text.replace("look-first", "look-before"))
    watched.send(*turn(FORGETS_TO_LOOK + 14))
    watched.wait()
    assert watched.verdicts("s-22")[0]["look-before"] == "broken"
    assert watched.figure("carob_watch_rules_current") == 1
    watched.policy.unlink()
    watched.wait(0)
    assert watched.figure("carob_watch_rules_current") == 0
    assert watched.figure("carob_rule_verdicts_total", rule="look-before", verdict="broken") == 1


class Service:
    """Takes verdicts with these statuses, one after the other, and then 200."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = [*statuses]
        self.requests: list[HttpRequest] = []
        self.server = LoopbackServer(self._serve, "service")
        self.server.open()

    def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        self.requests.append(request)
        connection.send(format_reply(self.statuses.pop(0) if self.statuses else 200, "text/plain"))
        return request.keeps_alive


REPORT = (
    b'{"at":1.5,"conversation":"c","id":"ab","revision":1,"trace":"","span":"","rules":[{"rule":"r","outcome":"held"}]}'
)


def export(service_url: str, environ: dict[str, str] | None = None) -> tuple[ReportExporter, list[tuple[int, bytes]]]:
    rows = [(1, REPORT)]

    def note(number: int) -> None:
        rows[:] = [row for row in rows if row[0] > number]

    return ReportExporter(service_url, environ or {}, lambda most: rows[:most], note, lambda line: None), rows


@pytest.mark.parametrize("status", [503, 429, 500])
def test_a_service_that_is_busy_is_asked_again(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carob.features.watch.export.FIRST_WAIT", 0.05)
    service = Service(status)
    exporter, rows = export(service.server.url)
    exporter.open()
    until = time.monotonic() + 20
    while rows and time.monotonic() < until:
        time.sleep(0.01)
    exporter.close()
    service.server.close()
    assert (rows, exporter.sent, exporter.failures, len(service.requests)) == ([], 1, 1, 2)


def test_a_service_that_will_not_take_them_is_not_asked_again() -> None:
    service = Service(400)
    exporter, rows = export(service.server.url)
    exporter.close()
    service.server.close()
    assert (rows, exporter.sent, exporter.refused, len(service.requests)) == ([], 0, 1, 1)


def test_a_service_that_is_not_there_holds_up_nothing(start: Start) -> None:
    server = LoopbackServer(lambda connection, request: True, "gone")
    server.open()
    url = server.url
    server.close()
    exporter, rows = export(url)
    exporter.open()
    assert threading.active_count() > 1
    exporter.close()
    assert rows == [(1, REPORT)]
    assert exporter.failures


def test_headers_are_those_of_exporters() -> None:
    service = Service()
    exporter, _ = export(service.server.url, {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b,other=2"})
    exporter.close()
    service.server.close()
    assert (service.requests[0].headers["x-key"], service.requests[0].path) == ("a b", "/v1/logs")
    assert read_headers("a=1, b = 2,broken,=") == {"a": "1", "b": "2", "": ""}


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://x", "http://", "http://u:p@x", "http://x:port", "http://x?a"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not an address"):
        export(url)


def test_a_policy_that_is_broken_does_not_begin(tmp_path: Path) -> None:
    with pytest.raises(CarobError):
        carob.open_watch({"carob": 1, "rules": [{"id": "x"}]}, folder=tmp_path, port=0)
