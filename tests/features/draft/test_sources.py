"""What a draft is made of: journals, recordings, spans, an agent that is asked; and what it refuses."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import carob
from carob.cli.main import run as command_line
from carob.errors import UsageError
from carob.features.draft.session import Probing, read_prompts
from carob.model.trace import ToolCall, Trace
from carob.targets.config import TargetConfig
from carob.targets.recordings.exports import ExportedTraces
from recordings import shipped

ASKED = {"q": "Where is A-17?"}


def agent(prompt: str) -> dict[str, Any]:
    call = {"name": "get_order", "arguments": {"order": "A-17"}, "result": {"total": 48.5}}
    return {"final_message": "It came to 48.5 EUR.", "tool_calls": [call]}


def calls_of(text: str) -> list[str]:
    return [entry["tool"] for case in yaml.safe_load(text)["cases"] for entry in case["expected"].get("tool_calls", ())]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    suite = {"carob": 1, "cases": [{"id": "q", "prompt": ASKED["q"], "expected": {"outcome": "completed"}}]}
    carob.run(suite, agent, repeat=5, results_dir=tmp_path)
    return next(tmp_path.glob("*.jsonl"))


def test_a_journal_a_folder_and_its_lines_as_a_recording_give_the_same_cases(journal: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    recording = tmp_path / "elsewhere" / "recorded.jsonl"
    recording.parent.mkdir()
    recording.write_text("".join(json.dumps(one["trace"]) + "\n" for one in lines if one["kind"] == "case"))
    drafts = [carob.draft(source).yaml.partition("cases:")[2] for source in (journal, journal.parent, recording)]
    assert drafts[0] == drafts[1] == drafts[2]
    assert "order: A-17  # from the prompt, 5 of 5 runs" in drafts[0]


def test_trajectories_of_tau_bench_are_conversations(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "book_seat", "arguments": '{"seat": "12A"}'}}
    talk = [
        {"role": "user", "content": "Seat 12A please."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "name": "book_seat", "content": '{"ok": true}'},
        {"role": "assistant", "content": "Booked."},
        {"role": "user", "content": "Thanks. ###STOP###"},
    ]
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([{"task_id": 3, "trial": n, "reward": 1, "info": {}, "traj": talk} for n in range(4)]))
    (first, *others) = ExportedTraces(str(file))
    assert (first.case_id, len(others), [turn.input for turn in first.turns]) == ("task-3", 3, ["Seat 12A please."])
    assert "book_seat" in calls_of(carob.draft(file).yaml)


def test_spans_are_read_without_cases(tmp_path: Path) -> None:
    def attribute(key: str, value: str) -> dict[str, Any]:
        return {"key": key, "value": {"stringValue": value}}

    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": ASKED["q"]}]}])
    answered = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "It is on its way."}]}])
    span = {
        "traceId": "0" * 31 + "1",
        "spanId": "0" * 15 + "1",
        "name": "chat",
        "startTimeUnixNano": "1800000000000000000",
        "endTimeUnixNano": "1800000001000000000",
        "attributes": [
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.input.messages", said),
            attribute("gen_ai.output.messages", answered),
        ],
    }
    file = tmp_path / "spans.jsonl"
    file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n")
    (trace,) = ExportedTraces(str(file))
    assert (trace.input, trace.final_message) == (ASKED["q"], "It is on its way.")


def test_the_command_writes_a_suite_that_passes(
    journal: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line(["draft", str(journal), "-o", "drafted.yaml"]) == 0
    assert "1 case from 5 of 5 traces" in capfd.readouterr().err
    result = carob.run("drafted.yaml", agent, results_dir="results")
    assert result.ok
    assert result.journal.header.draft is True
    assert "this suite is a draft" in next(Path("results").glob("*.md")).read_text()
    assert json.loads(next(Path("results").glob("*.json")).read_text())["draft"] is True
    again = carob.run("drafted.yaml", "replay:drafted.traces.jsonl", results_dir="others")
    assert again.ok
    assert command_line(["draft", str(journal), "-o", "drafted.yaml"]) == 4
    assert "it already exists" in capfd.readouterr().err


def test_a_run_of_an_approved_suite_is_no_draft(journal: Path) -> None:
    assert b'"draft"' not in journal.read_bytes().splitlines()[0]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("shop.tape.yaml", "tape: 1\n", "not a tape: `carob_tape` is missing"),
        (
            "s.yaml",
            "carob: 1\ncases: [{id: a, prompt: hi, expected: {outcome: completed}}]\n",
            "Run it first: carob run",
        ),
        (
            "s.json",
            '{"version": "0.1", "cases": [{"id": "a", "prompt": "hi", "expected": {}}]}',
            "it is a suite (eval-set)",
        ),
        ("empty.jsonl", "", "there is no trace to draft from"),
        ("none.jsonl", None, "cannot be read"),
        ("words.txt", "hello\n", "neither JSON, nor CSV"),
    ],
)
def test_a_bad_source_is_one_clear_line(
    name: str, text: str | None, says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert command_line(["draft", str(tmp_path / name)]) == 4
    error = capfd.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1


def test_without_a_source_nothing_is_drafted(capfd: pytest.CaptureFixture[str]) -> None:
    assert command_line(["draft"]) == 4
    assert "there is nothing to draft from" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "prompts"),
    [
        ("p.txt", "Hi\n\n# not this\n Where is it? \n", ["Hi", "Where is it?"]),
        ("p.csv", 'id,prompt\n1,Hi\n2,"Where, then?"\n', ["Hi", "Where, then?"]),
        ("p.csv", "Hi\nHello\n", ["Hi", "Hello"]),
    ],
)
def test_prompts_are_lines_or_a_column(name: str, text: str, prompts: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_prompts(tmp_path / name) == prompts


@pytest.mark.parametrize("text", ["#\n", "# none\n\n", "id,prompt\n1\n"])
def test_a_file_without_a_prompt_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(UsageError, match="it has no prompt"):
        read_prompts(tmp_path / "p.csv")


def test_a_function_is_not_asked_before_its_effects_are_allowed() -> None:
    prompts: list[str] = []

    def opaque(prompt: str) -> str:
        prompts.append(prompt)
        return "Done."

    for target in (opaque, TargetConfig(kind="command", spec="true")):
        with pytest.raises(UsageError, match="cannot stub the tools of this target"):
            carob.draft(target=target, prompts=["Hi"])
    assert prompts == []
    assert carob.draft(target=opaque, prompts=["Hi"], repeat=2, allow_effects=True).summary.traces == 2
    assert prompts == ["Hi", "Hi"]


def test_tools_that_change_something_are_stubbed_while_an_agent_is_asked() -> None:
    prompts = ["Book vehicle 42 for a brake test on 2026-03-20.", "Is vehicle 3 already booked?"]
    draft = carob.draft(target=shipped("dyno"), prompts=prompts, repeat=1, workers=0)
    tree = yaml.safe_load(draft.yaml)
    assert tree["stubs"] == {"auto_allocate_vehicle": {"result": {"status": "ok"}}}
    assert set(calls_of(draft.yaml)) == {"auto_allocate_vehicle", "check_vehicle_allocation"}
    assert carob.run(draft.yaml, shipped("dyno"), workers=0).ok


@pytest.mark.parametrize(("said", "draft"), [({"draft": True}, True), ({"draft": False}, False), ({}, False)])
def test_a_suite_says_whether_it_is_a_draft(said: dict[str, bool], draft: bool) -> None:
    case = {"id": "a", "prompt": "Hi", "expected": {"ended": True}}
    assert carob.load_suite({"carob": 1, **said, "cases": [case]}).draft is draft


@pytest.mark.parametrize(
    ("schemas", "calls", "stubbed"),
    [
        ({"refund": {}, "look": {}}, ["look"], ["refund"]),
        ({}, ["look"], ["*"]),
        ({}, [], []),
    ],
)
async def test_where_the_tools_of_an_agent_are_not_known_all_are_stubbed(
    schemas: dict[str, Any], calls: list[str], stubbed: list[str]
) -> None:
    trace = Trace(case_id="q", tool_schemas=schemas, tool_calls=tuple(map(ToolCall, calls)))

    class Asked(Probing):
        @asynccontextmanager
        async def run_prompts(self, repeat: Any, stubs: Any) -> Any:
            yield SimpleNamespace(records=lambda: [SimpleNamespace(trace=trace)])

    probing = Asked(None, {}, SimpleNamespace(), {})  # type: ignore[arg-type]
    assert [*await probing.find_stubs({"refund": ("refunded",)})] == stubbed
