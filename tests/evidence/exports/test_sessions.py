"""What coding agents did, by what their programs wrote: commands, their exit codes, and what was not let through."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carob.errors import CarobError
from carob.evidence.exports.reading import name_format, read_conversations
from carob.evidence.exports.record import RecordedConversation
from carob.evidence.exports.sessions.gemini_cli import read_exit_code
from carob.model.trace import ToolCall
from evidence.exports.sessions import (
    CLEAN,
    PUSH,
    REFUSED,
    SAMPLES,
    SESSIONS,
    TEST,
    Json,
    Sample,
    atif_trajectory,
    write_openhands,
)


def read(path: Path) -> RecordedConversation:
    (conversation,) = read_conversations([path])
    return conversation


def write(folder: Path, *rows: Json) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lines_of(name: str) -> list[Json]:
    return [json.loads(line) for line in (SESSIONS / name).read_text().splitlines()]


def line_of(call: ToolCall) -> str:
    values = call.arguments if isinstance(call.arguments, dict) else {}
    return str(values.get("command", values.get("cmd", "")))


def endings(conversation: RecordedConversation, command: str) -> list[int | str | None]:
    calls = [call for call in conversation.trace.tool_calls if line_of(call) == command]
    return [REFUSED if call.refused else call.exit_code for call in calls]


@pytest.fixture(params=SAMPLES, ids=lambda sample: sample.file)
def sample(request: pytest.FixtureRequest) -> Sample:
    return request.param


def test_a_session_has_the_commands_as_they_ended(sample: Sample) -> None:
    conversation = read(SESSIONS / sample.file)
    assert conversation.format == sample.format == name_format(SESSIONS / sample.file)
    assert {command: endings(conversation, command) for command in sample.ended} == sample.ended
    for call in conversation.trace.tool_calls:
        if call.exit_code is not None:
            assert call.success is (call.exit_code == 0)
        assert call.called is not (call.refused or call.result == "action was not executed")


def test_a_session_has_its_words_and_comes_to_its_end(sample: Sample) -> None:
    conversation = read(SESSIONS / sample.file)
    trace = conversation.trace
    assert trace.error is None
    assert trace.ended_by == "itself"
    assert trace.final_message in ("All tests pass. Done.", "Step 6.")
    assert trace.steps == 7
    assert ("Make the failing test pass." in trace.input) is sample.has_prompt
    assert (trace.why_unobserved("input") is None) is sample.has_prompt
    assert (not trace.possible_calls) is sample.shows_all
    assert trace.turns == ()


def test_an_edit_that_was_made_succeeded(sample: Sample) -> None:
    calls = [
        call for call in read(SESSIONS / sample.file).trace.tool_calls if call.name in ("Write", "write", "write_file")
    ]
    assert [call.success for call in calls] == ([True] if sample.edited else [])


def test_sessions_of_a_folder_are_each_one_conversation() -> None:
    conversations = [*read_conversations([SESSIONS])]
    assert {one.format for one in conversations} == {sample.format for sample in SAMPLES}
    claude = [one for one in conversations if one.format == "claude-code"]
    assert len(claude) == 1  # the stream and the session file are of one session, and no event counts twice
    assert endings(claude[0], TEST) == [1, 0]


def test_a_session_without_a_step_is_an_error(tmp_path: Path) -> None:
    for name, is_step in (
        ("claude-code-session.jsonl", lambda row: row.get("type") == "assistant"),
        ("gemini-cli-session.jsonl", lambda row: row.get("type") == "gemini"),
        ("codex-rollout.jsonl", lambda row: row["type"] == "response_item" and row["payload"].get("role") != "user"),
    ):
        rows = [row for row in lines_of(name) if not is_step(row)]
        trace = read(write(tmp_path, *rows)).trace
        assert trace.error is not None
        assert trace.error.kind == "no-step"
    trajectory = json.loads((SESSIONS / "mini-swe-agent.traj.json").read_text())
    trajectory["messages"] = trajectory["messages"][:2]
    trace = read(write(tmp_path, trajectory)).trace
    assert trace.error is not None
    assert "no step" in trace.error.message


def test_a_session_that_was_cut_off_has_no_answer_and_an_open_call(tmp_path: Path) -> None:
    rows = lines_of("claude-code-session.jsonl")
    last = max(number for number, row in enumerate(rows) if '"type": "tool_use"' in json.dumps(row))
    trace = read(write(tmp_path, *rows[: last + 1])).trace
    assert trace.why_unobserved("final_message")
    assert not trace.tool_calls[-1].called
    assert [possible.text for possible in trace.possible_calls] == ["Bash"]
    assert trace.ended_by == ""


def test_a_model_that_failed_is_an_error(tmp_path: Path) -> None:
    result = {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 529", "session_id": "s"}
    init = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
    failures = [
        ([init, result], "API Error: 529"),
        ([{"type": "thread.started", "thread_id": "t"}, {"type": "turn.failed", "error": {"message": "no"}}], "no"),
        (
            [{"type": "error", "timestamp": 1, "sessionID": "s", "error": {"name": "X", "data": {"message": "off"}}}],
            "off",
        ),
        ([{"info": {"exit_status": "APIError"}, "messages": [], "trajectory_format": "mini-swe-agent-1"}], "APIError"),
    ]
    for rows, message in failures:
        trace = read(write(tmp_path, *rows)).trace
        assert trace.error is not None
        assert trace.error.message == message


def test_a_second_prompt_begins_a_turn_of_the_session(tmp_path: Path) -> None:
    rows = lines_of("claude-code-session.jsonl")
    more = copy.deepcopy([row for row in rows if row["type"] in ("user", "assistant")])
    for number, row in enumerate(more):
        row["uuid"] = f"again-{number}"
        content = row["message"]["content"]
        for block in content if isinstance(content, list) else ():
            for key in ("id", "tool_use_id"):
                if key in block:
                    block[key] += "-again"
        if "id" in row["message"]:
            row["message"]["id"] += "-again"
    more[0]["message"]["content"] = "And again."
    trace = read(write(tmp_path, *rows, *more)).trace
    assert [turn.input for turn in trace.turns] == ["Make the failing test pass.", "And again."]
    assert [len(turn.tool_calls) for turn in trace.turns] == [6, 6]


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("<untrusted_context>\nOutput: ok\nProcess Group PGID: 7\n</untrusted_context>", 0),
        ("Output: no\nExit Code: 2\nProcess Group PGID: 7", 2),
        ("Output: Exit Code: 0\nExit Code: 3\nProcess Group PGID: 7", 3),  # what a command prints is not its exit code
        ("Output: killed\nSignal: 9\nProcess Group PGID: 7", None),
        ("Output: sleeping\nBackground PIDs: 9\nProcess Group PGID: 7", None),
        ("Output: cut off", None),
        ("", None),
    ],
)
def test_gemini_says_an_exit_code_below_the_output_unless_it_is_0(told: str, code: int | None) -> None:
    assert read_exit_code(told)[0] == code


def test_what_a_command_wrote_is_not_its_exit_code_in_codex(tmp_path: Path) -> None:
    rows = [row for row in lines_of("codex-rollout.jsonl") if row["payload"].get("type") != "item_completed"]
    for row in rows:
        output = row["payload"].get("output", "")
        if "Process exited with code 1" in output:
            head, _, _ = output.partition("Output:\n")
            row["payload"]["output"] = f"{head}Output:\nProcess exited with code 0\n"
    assert endings(read(write(tmp_path, *rows)), TEST) == [1, 1]


def test_old_shells_of_codex_have_the_exit_code_beside_the_output(tmp_path: Path) -> None:
    def item(**payload: object) -> Json:
        return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}

    line = ["bash", "-lc", TEST]
    call = item(type="function_call", name="shell", call_id="1", arguments=json.dumps({"command": line}))
    output = json.dumps({"output": "E", "metadata": {"exit_code": 1}})
    trace = read(write(tmp_path, call, item(type="function_call_output", call_id="1", output=output))).trace
    assert [(line_of(each), each.exit_code, each.result) for each in trace.tool_calls] == [(TEST, 1, "E")]


def test_openhands_has_exit_codes_and_rejections(tmp_path: Path) -> None:
    conversation = read(write_openhands(tmp_path))
    assert conversation.id == "conversation-1"
    assert [endings(conversation, command) for command in (TEST, PUSH, CLEAN)] == [[1], [128], [REFUSED]]
    assert conversation.trace.final_message == "All tests pass. Done."


@pytest.mark.parametrize("version", [f"ATIF-v1.{minor}" for minor in range(9)])
def test_atif_has_an_exit_code_where_an_adapter_kept_it(tmp_path: Path, version: str) -> None:
    results: list[Json] = [
        {"content": "E", "extra": {"tool_result_metadata": {"exit_code": 1}}},
        {"content": "Exit code 2\nE"},
        {"content": "Exit code 0\nE"},
        {"content": "fine"},
    ]
    conversation = read(write(tmp_path, atif_trajectory("claude-code", version, *results)))
    assert endings(conversation, TEST) == [1, 2, None, None]
    assert conversation.trace.tool_calls[1].result == "E"


def test_atif_reads_the_text_as_the_agent_writes_it(tmp_path: Path) -> None:
    mini = {"content": json.dumps({"returncode": 1, "output": "E"})}
    codex = {"content": "Wall time: 1 seconds\nProcess exited with code 3\nOutput:\nE"}
    for agent, result, code in (("mini-swe-agent", mini, 1), ("codex", codex, 3), ("codex", mini, None)):
        assert endings(read(write(tmp_path, atif_trajectory(agent, "ATIF-v1.8", result))), TEST) == [code]


def test_the_first_versions_of_mini_swe_agent_have_commands_between_fences(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "…"},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": f"THOUGHT: test\n\n```bash\n{TEST}\n```"},
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\nE\n</output>"},
        {
            "role": "assistant",
            "content": "THOUGHT: It works.\n\n```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```",
        },
    ]
    row = {"info": {"exit_status": "Submitted"}, "messages": messages, "trajectory_format": "mini-swe-agent-1"}
    conversation = read(write(tmp_path, row))
    assert endings(conversation, TEST) == [1]
    assert conversation.trace.tool_calls[0].result == "E"
    assert conversation.trace.final_message == "THOUGHT: It works."


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_value_in_a_session_breaks_a_reader(sample: Sample, data: st.DataObject, tmp_path_factory: object) -> None:
    """Whatever stands where: it is read, or refused with its place."""
    text = (SESSIONS / sample.file).read_text()
    rows = [json.loads(text)] if sample.file.endswith(".json") else lines_of(sample.file)
    for _ in range(3):
        _spoil(rows[data.draw(st.integers(0, len(rows) - 1))], data)
    path = tmp_path_factory.getbasetemp() / f"{sample.file}.jsonl"  # type: ignore[attr-defined]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        assert all(conversation.format for conversation in read_conversations([path]))
    except CarobError as error:
        refused = error
    else:
        return
    assert refused.where.startswith(str(path))


def _spoil(value: object, data: st.DataObject) -> None:
    """Put something else at some place of a value, or take it away."""
    while isinstance(value, dict | list) and value:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = keys[data.draw(st.integers(0, len(keys) - 1))]
        inner = value[key]  # type: ignore[call-overload]
        if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
            value = inner
            continue
        value[key] = data.draw(VALUES)  # type: ignore[index]
        return
