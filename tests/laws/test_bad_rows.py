"""One bad row is one bad row: its conversation is unknown, with its place, and every other one is judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import carob
from carob.features.check.model import CheckReport
from carob.features.check.report import about_lines
from features.check.conversations import conversation, write_lines, write_policy

COUNT, EVERY = 2_000, 50
BAD = COUNT // EVERY


def spoil(lines: list[bytes], ways: list[Callable[[bytes], bytes]]) -> bytes:
    """The lines, of which each fiftieth is spoiled, in one way after the other."""
    spoiled = [
        ways[number // EVERY % len(ways)](line) if number % EVERY == 7 else line for number, line in enumerate(lines)
    ]
    return b"".join(line + b"\n" for line in spoiled)


def chat(number: int) -> bytes:
    return json.dumps(conversation(f"c{number}")).encode()


def span(number: int, **changed: Any) -> dict[str, Any]:
    """The span of a tool, alone in its trace."""
    values = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "cancel_order",
        "gen_ai.conversation.id": f"c{number}",
        "gen_ai.tool.call.arguments": '{"order": "A-17"}',
    }
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    return {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "execute_tool cancel_order",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000001000000000",
        "attributes": attributes,
        **changed,
    }


def request(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


CHATS: list[Callable[[bytes], bytes]] = [
    lambda line: line.replace(b"Cancel my order.", rb"Cancel \ud83d my order."),
    lambda line: line[: len(line) // 2],
    lambda line: line.replace(b"Cancel my order.", b"Cancel \xff my order."),
    lambda line: b"17",
    lambda line: line.replace(b'"messages": [', b'"messages": 7, "others": ['),
]
SPANS: list[Callable[[bytes], bytes]] = [
    lambda line: line.replace(b"A-17", rb"A-\ud83d"),
    lambda line: line.replace(b"1700000001000000000", b"99999999999999999999"),
    lambda line: line.replace(b'"1700000001000000000"', b'"yesterday"'),
    lambda line: line[: len(line) // 2],
]


def check(path: Path, folder: Path, **how: Any) -> CheckReport:
    return carob.check_conversations(path, write_policy(folder), **how)


def test_chats(tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_bytes(spoil([chat(number) for number in range(COUNT)], CHATS))
    report = check(path, tmp_path, max_broken=0.01)
    assert (report.judged, report.unknown, report.unread, report.clean) == (COUNT, BAD, BAD, COUNT - BAD)
    lines = range(8, COUNT, EVERY)
    assert [place.split(": ")[0] for place in report.unread_at] == [f"{path}:{line}" for line in lines]
    assert all(rule.figures.unknown == BAD for rule in report.rules)
    assert report.exit_code == 1  # a gate counts what could not be read
    assert check(path, tmp_path, workers=2).unread == BAD
    assert check(path, tmp_path, since="1h").unread == BAD


def test_a_document_of_rows(tmp_path: Path) -> None:
    rows = [chat(number) for number in range(20)]
    rows[3] = CHATS[0](rows[3])
    (tmp_path / "talks.json").write_bytes(b'{"data": [%s]}' % b",\n".join(rows))
    report = check(tmp_path / "talks.json", tmp_path)
    assert (report.judged, report.unread, report.clean) == (20, 1, 19)
    assert report.unread_at[0].startswith(f"{tmp_path}/talks.json [4]: ")


def test_a_table(tmp_path: Path) -> None:
    cells = [json.dumps(conversation(f"c{n}")["messages"]).replace('"', '""') for n in range(20)]
    rows = [f'c{number},"{cell}"'.encode() for number, cell in enumerate(cells)]
    rows[4], rows[9] = rows[4] + b",more", rows[9].replace(b"Cancel", b"\xff")
    (tmp_path / "talks.csv").write_bytes(b"id,messages\n" + b"\n".join(rows) + b"\n")
    report = check(tmp_path / "talks.csv", tmp_path)
    assert (report.judged, report.unread, report.clean) == (20, 2, 18)


@pytest.mark.parametrize("first", [0, 3])
def test_a_file_among_others_and_the_first_row(tmp_path: Path, first: int) -> None:
    rows = [chat(number) for number in range(6)]
    rows[first] = CHATS[1](rows[first])
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"\n".join(rows))
    (folder / "b.json").write_bytes(chat(9)[:-20])
    report = check(folder, tmp_path)
    assert (report.judged, report.unread, report.clean) == (7, 2, 5)


def test_files_without_recordings_are_named(tmp_path: Path) -> None:
    """What Carob wrote may be next to recordings, and nothing is passed over in silence."""
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(chat(1))
    (folder / "notes\x1b[31m.txt").write_text("By hand.")
    check(folder / "a.jsonl", tmp_path, outputs=[folder / "b.csv", folder / "c.json", folder / "d.parquet"])
    report = check(folder, tmp_path)
    names = ["b.csv", "c.json", "d.parquet", "notes\x1b[31m.txt"]
    assert [Path(path).name for path in report.passed_over] == names
    assert (report.judged, report.clean) == (1, 1)
    assert f"no recordings in {folder}/b.csv, " in "\n".join(about_lines(report))
    assert "\x1b" not in "\n".join(about_lines(report))
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": "Cancel.", "expected": {"tool_calls_any": ["cancel_order"]}}]}
    assert carob.coverage(suite, folder).conversations == 1


def test_spans_in_json(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(spoil([request(span(number)) for number in range(COUNT)], SPANS))
    report = check(path, tmp_path)
    assert (report.judged, report.unread) == (COUNT, BAD)
    assert len({place.split(": ")[0] for place in report.unread_at}) == BAD


def test_spans_of_one_request(tmp_path: Path) -> None:
    spans = [json.dumps(span(number)).encode() for number in range(30)]
    spans[3], spans[11], spans[17] = (way(spans[n]) for way, n in zip(SPANS[:3], (3, 11, 17), strict=True))
    (tmp_path / "spans.json").write_bytes(b'{"resourceSpans": [{"scopeSpans": [{"spans": [%s]}]}]}' % b",".join(spans))
    report = check(tmp_path / "spans.json", tmp_path)
    assert (report.judged, report.unread) == (30, 3)


def in_protobuf(*numbers: int, bad: int = -1, late: int = -1) -> bytes:
    """A request in protobuf, with a text that is not UTF-8 in one span, and a time that cannot be in another."""
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add().spans
    for number in numbers:
        each = spans.add(
            trace_id=(number + 1).to_bytes(16), span_id=(number + 1).to_bytes(8), name="execute_tool cancel_order"
        )
        each.start_time_unix_nano = 17 * 10**17
        each.end_time_unix_nano = 18 * 10**18 if number == late else 17 * 10**17 + 10**9
        for pair in span(number)["attributes"]:
            each.attributes.add(key=pair["key"]).value.string_value = pair["value"]["stringValue"]
        if number == bad:
            each.attributes.add(key="note").value.string_value = "BROKEN"
    return message.SerializeToString().replace(b"BROKEN", b"BRO\xffEN")


def test_spans_in_protobuf(tmp_path: Path) -> None:
    (tmp_path / "spans.binpb").write_bytes(in_protobuf(*range(30), bad=4, late=9))
    report = check(tmp_path / "spans.binpb", tmp_path)
    assert (report.judged, report.unread) == (30, 2)


def test_what_is_nothing_is_still_refused(tmp_path: Path) -> None:
    for name, data in (
        ("a.jsonl", b"no\nno\n"),
        ("b.json", chat(1)[:-9]),
        ("c.binpb", b"\x0a\xff\xff"),
        ("d.json", b"{}"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(carob.CarobError):
            check(tmp_path / name, tmp_path)


def test_a_session_of_an_agent_is_unknown_as_a_whole(tmp_path: Path) -> None:
    given = Path("tests/evidence/exports/files/sessions/claude-code-stream.jsonl")
    lines = (Path(__file__).parents[2] / given).read_bytes().splitlines(keepends=True)
    lines[5] = lines[5][:40] + b"\n"
    (tmp_path / "session.jsonl").write_bytes(b"".join(lines))
    report = check(tmp_path / "session.jsonl", tmp_path)
    assert (report.judged, report.unread, report.unknown) == (1, 1, 1)


def test_drafts(tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_bytes(spoil([chat(number) for number in range(200)], CHATS))
    draft = carob.draft(path)
    assert (draft.summary.traces, draft.summary.covered) == (200, 196)
    assert f"{path}:8" in draft.yaml


def test_recordings(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", ({"case_id": f"c{n}", "final_message": "Hi."} for n in range(200)))
    path.write_bytes(spoil(path.read_bytes().splitlines(), [lambda line: line.replace(b"Hi.", rb"\ud83d"), CHATS[1]]))
    report = check(path, tmp_path)
    assert (report.judged, report.unread) == (200, 4)


def test_results_of_other_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A torn result is counted and named by every command, and the others are read."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results.jsonl"
    rows = [json.dumps({"id": f"simple_{n}", "result": [{"pay": {"order": n}}]}).encode() for n in range(40)]
    rows[7], rows[11] = rows[7][:20], rows[11].replace(b'"result": [', b'"results": [')
    path.write_bytes(b"\n".join(rows))
    report = check(path, tmp_path)
    assert (report.judged, report.unread) == (40, 2)
    assert [place.partition(": ")[0] for place in report.unread_at] == [f"{path}:8", f"{path}:12"]
    suite = {"carob": 1, "cases": [{"id": "simple_0", "prompt": "p", "expected": {"tool_calls_any": ["pay"]}}]}
    coverage = carob.coverage(suite, path)
    assert coverage.conversations == 40
    unread = [part.why for part in coverage.unobserved if part.what == "a row of a recording"]
    assert [f"{path}:{line}: " in why for line, why in zip((8, 12), unread, strict=True)] == [True, True]
    (tmp_path / "grader.py").write_text("def accepts(trace):\n    return True\n")
    audit = carob.audit_grader("python:grader.py:accepts", str(path), asks=1, purposes=["order"])
    assert (audit.audited, audit.unaudited) == (38, 2)
    assert all("could not be read" in one.reason for one in audit.unaudited_examples)
    found = carob.run(suite, f"replay:{path}")
    assert [call.name for record in found for call in record.trace.tool_calls] == ["pay"]
    lost = {"carob": 1, "cases": [{**suite["cases"][0], "id": "simple_7"}]}  # type: ignore[dict-item, index]
    (record,) = carob.run(lost, f"replay:{path}")
    assert "2 rows cannot be read" in record.verdict.reason
