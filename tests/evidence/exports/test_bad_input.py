"""Exports that are torn, mixed, without content, or by clocks that differ: a clear report, and nothing passed."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from carob.errors import CarobError
from carob.evidence.exports import files
from carob.evidence.exports.reading import read_conversations
from carob.evidence.exports.record import RecordedConversation
from carob.system.installing import install_extra
from evidence.exports.sources import FILES, SOURCES, otlp_spans, read_lines, write_lines
from evidence.exports.test_sources import outcomes, turns

CHAT = FILES / "openai-chat.jsonl"


def read(*paths: Path, format: str = "") -> list[RecordedConversation]:
    return [*read_conversations(paths, format=format)]


def refusal(*paths: Path, format: str = "") -> str:
    with pytest.raises(CarobError) as raised:
        read(*paths, format=format)
    return str(raised.value)


def change_runs(change: Callable[[dict[str, Any]], dict[str, Any] | None], path: Path) -> RecordedConversation:
    """The first session of LangSmith, with each run changed, or left out."""
    rows = [changed for run in read_lines("langsmith.jsonl") if (changed := change(run)) is not None]
    return read(write_lines(path / "runs.jsonl", rows))[0]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", '{"id": 1}\n{"messages": [', "it has 'id'"),
        ("a.json", '{"spans": {', "neither JSON nor lines of JSON"),
        ("a.json", '{\n "question": 1, "answer": 2\n}', "it has 'question' and 'answer'. See `carob help exports`"),
        ("a.json", '{"run_type": "llm", "id": "1"}', "What comes closest: langsmith (without dotted_order)"),
        ("a.json", '{"resourceSpans": [{"scopeSpans": 5}]}', "a row of otlp cannot be read"),
        ("a.csv", 'id,trace_id\n"1', "a.csv:2: not a table of UTF-8 text: unexpected end of data"),
        ("a.csv", "id,trace_id\n1\n", "a.csv:2: the row has 1 cells, the header 2. Export it again"),
        ("a.parquet", "PAR1 and nothing else", "not a whole Parquet file"),
        ("a.parquet", "", "not a whole Parquet file"),
        ("a.db", "SQLite format 3\0 and nothing else", "the database cannot be read"),
        ("a.pb", "\x08\x96\x01 words", "neither JSON, nor CSV, Parquet, SQLite or OTLP in protobuf"),
        ("a.jsonl", '{"id": "1", "sessionId": "s", "observations": ["o-1"]}', "ask the API for the trace with"),
        ("a.jsonl", '{"id": "1", "parentObservationId": null, "type": "SPAN"}', "`trace_id` is missing"),
        ("a.jsonl", '{"info": {"trace_id": "1"}, "data": {"spans": 5}}', "`spans` is not a list"),
        ("a.jsonl", '{"messages": "[]", "resourceSpans": []}', "its keys fit several formats of exports"),
        ("a.jsonl.gz", "no gzip", "it cannot be read: Not a gzipped file"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path: Path, name: str, content: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert says in refusal(path)
    assert refusal(path).startswith(str(path))


def test_other_databases_and_databases_from_standard_input_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE todo (id)")
    assert "not the tracking store of mlflow" in refusal(path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert "a database of SQLite is read from a file of this machine alone" in refusal(Path("-"))


def test_a_document_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "DOCUMENT_CAP", 1000)
    path = tmp_path / "whole.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "x" * 2000}]}, indent=1))
    assert "the most that is read of one document" in refusal(path)


def test_requests_in_protobuf_that_were_cut_off_are_refused(tmp_path: Path) -> None:
    request = (FILES / "langfuse-otlp.pb").read_bytes()
    request = request if request[0] == 0x0A else request[4 : 4 + int.from_bytes(request[:4])]
    path = tmp_path / "spans.pb"
    path.write_bytes(2 * (len(request).to_bytes(4) + request))
    assert read(path)
    path.write_bytes(path.read_bytes()[:-1])
    assert "the file is cut off within a request" in refusal(path)


def test_one_conversation_may_be_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(read_lines("openai-chat.jsonl")[0]["messages"], indent=1))
    ((one,), first) = read(path), read(CHAT)[0]
    assert [turn.input for turn in turns(one.trace)] == [turn.input for turn in turns(first.trace)]
    assert [call.name for call in one.trace.tool_calls] == [call.name for call in first.trace.tool_calls]


def test_handoffs_are_calls(tmp_path: Path) -> None:
    rows = read_lines("openai-agents.jsonl")
    model = next(row for row in rows if row.get("span_data", {}).get("type") == "generation")
    handoff = {**model, "id": "span_h", "span_data": {"type": "handoff", "to_agent": "Billing Desk"}}
    found = read(write_lines(tmp_path / "agents.jsonl", [*rows, handoff]))[0]
    assert "transfer_to_billing_desk" in [call.name for call in found.trace.tool_calls]


def test_maps_may_be_lists_of_pairs(tmp_path: Path) -> None:
    rows = read_lines("mlflow.jsonl")
    listed = [json.loads(json.dumps(row)) for row in rows]
    for row in listed:
        row["info"]["trace_metadata"] = [*row["info"]["trace_metadata"].items()]
    found = [(one.id, one.user, one.trace) for one in read(write_lines(tmp_path / "pairs.jsonl", listed))]
    assert found == [(one.id, one.user, one.trace) for one in read(write_lines(tmp_path / "objects.jsonl", rows))]


def test_calls_of_langfuse_may_have_columns_of_their_own(tmp_path: Path) -> None:
    about = {"id": "o", "trace_id": "t", "parent_observation_id": "", "type": "GENERATION", "name": "chat"}
    times = {"start_time": "2026-11-19T01:00:00Z", "end_time": "2026-11-19T01:00:01Z"}
    row = {
        **about,
        **times,
        "input": [{"role": "user", "content": "Where is A-1?"}],
        "output": "I look it up.",
        "tool_calls": ['{"id": "c", "arguments": "{\\"order\\": \\"A-1\\"}"}'],
        "tool_call_names": ["lookup_order"],
    }
    (found,) = read(write_lines(tmp_path / "observations.jsonl", [row]))
    assert [(call.name, call.arguments) for call in found.trace.tool_calls] == [("lookup_order", {"order": "A-1"})]


def test_numbers_are_names_of_users(tmp_path: Path) -> None:
    rows = [{**row, "user": 7, "user_id": True} for row in read_lines("openai-chat.jsonl")]
    assert {one.user for one in read(write_lines(tmp_path / "chat.jsonl", rows))} == {"7"}


def test_traces_of_no_agent_and_no_model_are_no_conversations(tmp_path: Path) -> None:
    """A service that sends spans of its own to the same place."""
    spans = [{"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "GET /"}]
    request = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    own = write_lines(tmp_path / "own.jsonl", [request])
    assert read(own) == []
    both = write_lines(tmp_path / "both.jsonl", [request, *read_lines("langfuse-otlp.jsonl")])
    assert [one.id for one in read(both)] == [one.id for one in read(FILES / "langfuse-otlp.jsonl")]


def test_what_a_journal_says_of_itself_is_no_conversation(tmp_path: Path) -> None:
    case = {"id": "a", "prompt": "Hi"}
    trace = {"case_id": "a", "input": "Hi", "final_message": "Hello."}
    rows = [
        {"kind": "header", "format": 1},
        {"kind": "case", "case": {**case, "skip": "not today"}, "trace": trace},
        {"kind": "case", "case": case, "trace": trace},
        {"kind": "footer"},
    ]
    assert [one.trace.final_message for one in read(write_lines(tmp_path / "journal.jsonl", rows))] == ["Hello."]


def test_a_parquet_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.parquet"
    path.write_bytes((FILES / "phoenix.parquet").read_bytes()[:9_000])
    assert "not a whole Parquet file" in refusal(path)


def test_the_line_that_installs_pyarrow_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert f"{install_extra('parquet')} [no-parquet]" in refusal(FILES / "phoenix.parquet")


def test_a_line_that_is_too_long_is_refused_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LINE_CAP", 1 << 20)
    path = tmp_path / "long.jsonl"
    path.write_text(CHAT.read_text() + json.dumps({"messages": [{"role": "user", "content": "x" * (2 << 20)}]}) + "\n")
    assert f"{path}:3: the line is longer than 1 MiB" in refusal(path)


def test_a_folder_of_several_formats_is_read_file_by_file(tmp_path: Path) -> None:
    for name in ("openai-chat.jsonl", "langsmith.jsonl", "phoenix.parquet", "mlflow.db"):
        (tmp_path / name).write_bytes((FILES / name).read_bytes())
    (tmp_path / "README.md").write_text("# About")
    (tmp_path / "_manifest.json").write_text("{}")
    found = sorted((one.format, one.id) for one in read(tmp_path))
    assert found == [(name, f"s-{n}") for name in ("langsmith", "mlflow", "openai-chat", "phoenix") for n in (1, 2)]
    (tmp_path / "notes.json").write_text('{"todo": []}')
    assert "notes.json:1: not a format of exports that Carob knows; it has 'todo'" in refusal(tmp_path)


def test_a_file_that_is_no_export_of_the_named_format_is_refused() -> None:
    assert "it has 'id', 'user', 'model' and 'messages'" in refusal(CHAT, format="langsmith")
    assert "there is no format of exports 'langsmit'" in refusal(CHAT, format="langsmit")
    assert "Did you mean 'langsmith'?" in refusal(CHAT, format="langsmit")


def test_rows_of_two_formats_in_one_file_are_both_read(tmp_path: Path) -> None:
    mixed = write_lines(tmp_path / "mixed.jsonl", [*read_lines("langsmith.jsonl"), *read_lines("openai-chat.jsonl")])
    assert [one.format for one in read(mixed)] == ["openai-chat", "openai-chat", "langsmith", "langsmith"]


def test_standard_input_and_packed_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "chat.jsonl.gz"
    packed.write_bytes(gzip.compress(CHAT.read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CHAT.read_bytes())))
    assert [one.trace for one in read(Path("-"))] == [one.trace for one in read(packed)]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.jsonl").startswith(f"{tmp_path / 'none.jsonl'}: it cannot be read: No such file")


def test_without_a_session_earlier_turns_are_setup(tmp_path: Path) -> None:
    """They are evidence for what comes later, and are not judged again with each trace that repeats them."""

    def forget(run: dict[str, Any]) -> dict[str, Any]:
        return {**run, "extra": {**run["extra"], "metadata": {}}}

    rows = [forget(run) for run in read_lines("langsmith.jsonl")]
    first, second, third = read(write_lines(tmp_path / "runs.jsonl", rows))
    assert [one.has_session for one in (first, second, third)] == [False, False, False]
    assert (second.trace.input, second.trace.setup_prompts) == ("Cancel A-2, please.", ("Where is A-1?",))
    assert [call.name for call in second.trace.setup_calls] == ["lookup_order"]
    assert [call.name for call in second.trace.tool_calls] == ["cancel_order"]
    assert outcomes(second.trace)[0] == "held"  # it was looked up before, in the setup


def test_a_turn_that_only_messages_show_is_a_turn_of_its_session(tmp_path: Path) -> None:
    """A window of time cut the first trace of the session off."""
    first = read_lines("langsmith.jsonl")[0]["trace_id"]
    cut = change_runs(lambda run: None if run["trace_id"] == first else run, tmp_path)
    assert [turn.input for turn in turns(cut.trace)] == ["Where is A-1?", "Cancel A-2, please."]
    assert [call.name for call in cut.trace.tool_calls] == ["lookup_order", "cancel_order"]
    assert outcomes(cut.trace)[0] == "held"


def test_spans_without_content_prove_nothing(tmp_path: Path) -> None:
    bare = change_runs(
        lambda run: {**run, "inputs": {}, "outputs": None if run["run_type"] != "tool" else {}}, tmp_path
    )
    for turn in turns(bare.trace):
        assert "does not carry its messages" in turn.unobserved["tools"]
        assert "what the user said" in turn.unobserved["input"]
        assert "contains the answer" in turn.unobserved["final_message"]
    assert [call.name for call in bare.trace.tool_calls] == ["lookup_order", "cancel_order"]
    assert outcomes(bare.trace)[4] == "unknown"
    assert "broken" not in outcomes(bare.trace)[1:2]


def test_a_run_that_has_only_begun_proves_no_end(tmp_path: Path) -> None:
    """LangSmith posts a run as it begins, and patches it."""
    begun = change_runs(
        lambda run: {k: v for k, v in run.items() if run["run_type"] != "tool" or k not in ("end_time", "outputs")},
        tmp_path,
    )
    assert all("only the beginning of" in turn.unobserved["tools"] for turn in turns(begun.trace))


def test_a_span_that_failed_beats_a_trace_that_says_ok() -> None:
    rows = read_lines("mlflow.jsonl")
    assert {row["info"]["state"] for row in rows} == {"OK"}
    (session, *_) = read(FILES / "mlflow.jsonl")
    assert session.trace.tool_calls[1].success is False


def test_clocks_that_differ_do_not_reorder_calls(tmp_path: Path) -> None:
    """The tools ran on a machine whose clock is a minute behind, the cancellation first by it."""

    def shift(run: dict[str, Any]) -> dict[str, Any]:
        if run["run_type"] != "tool":
            return run
        minute = 10 if run["name"] == "cancel_order" else 20
        times = {
            "start_time": f"2026-11-19T00:{minute}:00+00:00",
            "end_time": f"2026-11-19T00:{minute - 1:02}:00+00:00",
        }
        return {**run, **times}

    skewed = change_runs(shift, tmp_path)
    assert [call.name for call in skewed.trace.tool_calls] == ["lookup_order", "cancel_order"]
    assert all(call.started_at is None for call in skewed.trace.tool_calls)
    assert [turn.input for turn in turns(skewed.trace)] == ["Where is A-1?", "Cancel A-2, please."]


def test_a_request_without_a_span_is_no_proof_that_it_ran(tmp_path: Path) -> None:
    def lose(run: dict[str, Any]) -> dict[str, Any] | None:
        is_after = run["run_type"] == "llm" and len(run["inputs"]["messages"]) in (3, 7)
        return None if run["name"] == "cancel_order" or is_after else run

    lost = change_runs(lose, tmp_path)
    cancelled = lost.trace.tool_calls[-1]
    assert (cancelled.name, cancelled.called, cancelled.success) == ("cancel_order", False, None)
    assert "no span shows what happened to the call" in turns(lost.trace)[-1].unobserved["tools"]


def test_lists_of_messages_that_repeat_count_once() -> None:
    """The eight calls of the model have 2 to 8 messages each; their requests would be counted up to four times."""
    for source in SOURCES:
        if source.is_real:
            (session, *_) = sorted(read(source.write(FILES)), key=lambda one: one.id)
            assert len(session.trace.tool_calls) == 2, source.name


def test_a_pretty_printed_document_of_otlp_is_read(tmp_path: Path) -> None:
    path = tmp_path / "otlp.json"
    path.write_text(json.dumps(read_lines("langfuse-otlp.jsonl")[0], indent=2))
    assert [one.id for one in read(path)] == ["s-1", "s-2"]


def test_the_arguments_that_traceloop_wraps_are_read_as_they_are() -> None:
    """A rule that forbids a call by its arguments passed although the call was made."""
    wrapped = [
        values["traceloop.entity.input"]
        for _, values in otlp_spans("traceloop-otlp.jsonl")
        if "gen_ai.tool.name" in values
    ]
    assert json.loads(wrapped[0]) == {"args": [], "kwargs": {"order": "A-1"}}
    (session, *_) = read(FILES / "traceloop-otlp.jsonl")
    assert session.trace.tool_calls[1].arguments == {"order": "A-2", "reason": "late"}
    assert outcomes(session.trace)[6] == "broken"
