"""Exports in the place of an agent, and as what a suite is drafted from: by the reader of all exports."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import carob
from carob.evidence.exports.catalog import FORMATS
from carob.targets.recordings.exports import is_export
from evidence.exports.sources import FILES, SOURCES, Source, read_lines, write_lines

EXPECTED = {
    "s-1": {"tool_calls_none": ["delete_order"], "must_say_any": ["locked"]},
    "s-2": {"tool_calls_none": ["cancel_order"], "must_say_any": ["open"]},
}
CASES = [
    {
        "id": "s-1",
        "turns": [{"prompt": "Where is A-1?"}, {"prompt": "Cancel A-2, please.", "expected": EXPECTED["s-1"]}],
    },
    {"id": "s-2", "prompt": "Compare A-3 and A-4.", "expected": EXPECTED["s-2"]},
]
REPLAYED = [source for source in SOURCES if source.is_real and not source.name.endswith("-otlp")]
"""OTLP on lines is replayed by the attributes of its spans: tests/evidence/spans/test_recordings.py."""


def run(target: Path, folder: Path, cases: list[dict] = CASES) -> dict[str, str]:
    result = carob.run({"carob": 1, "cases": cases}, f"replay:{target}", results_dir=folder / "runs", workers=0)
    return {record.case.id: str(record.verdict.status) for record in result.journal.records()}


@pytest.mark.parametrize("source", REPLAYED, ids=lambda source: source.name)
def test_an_export_is_replayed(source: Source, tmp_path: Path) -> None:
    path = source.write(tmp_path)
    assert run(path, tmp_path) == {"s-1": "PASS", "s-2": "PASS"}
    wrong = [{**CASES[1], "expected": {"tool_calls_none": ["lookup_order"]}}]
    assert run(path, tmp_path, wrong) == {"s-2": "FAIL"}


def test_a_case_without_the_id_is_known_by_its_prompts_alone(tmp_path: Path) -> None:
    named = [{**CASES[1], "id": "compare"}]
    assert run(FILES / "langsmith.jsonl", tmp_path, named) == {"compare": "PASS"}
    rows = read_lines("openai-chat.jsonl")
    twice = write_lines(tmp_path / "twice.jsonl", [*rows, {**rows[1], "id": "s-3"}])
    assert run(twice, tmp_path, named) == {"compare": "ERROR"}
    assert run(twice, tmp_path, [{**CASES[1], "prompt": "Compare all."}]) == {"s-2": "ERROR"}


@pytest.mark.parametrize("name", ["langsmith.jsonl", "phoenix-rest.json", "mlflow.db", "phoenix.parquet"])
def test_a_suite_is_drafted_from_an_export(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    shutil.copy(FILES / name, folder)
    from_file, from_folder = (carob.draft(source).yaml for source in (FILES / name, folder))
    assert from_file == from_folder
    assert "prompt: Compare A-3 and A-4." in from_file
    assert "order: A-3  # from the prompt" in from_file


def test_what_is_no_export_is_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps({"case_id": "a", "final_message": "Hello"}) + "\n")
    assert not is_export(path)
    assert run(path, tmp_path, [{"id": "a", "prompt": "Hi", "expected": {"must_say_any": ["hello"]}}]) == {"a": "PASS"}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("runs.jsonl", b'{"run_type": "tool", "id": 3}', "What comes closest: langsmith (without dotted_order)"),
        ("cut.parquet", (FILES / "phoenix.parquet").read_bytes()[:8000], "not a whole Parquet file"),
        ("own.jsonl", b'{"case_id": "a", "final_mesage": "Hi"}', "unknown key 'final_mesage'. Did you mean"),
    ],
)
def test_a_file_that_is_nearly_an_export_is_refused_as_one(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for read in (lambda: carob.draft(path), lambda: run(path, tmp_path)):
        with pytest.raises(carob.CarobError, match=re.escape(says)):
            read()


def test_every_format_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "exports.md").read_text()
    assert all(f"| `{format.name}` |" in page for format in FORMATS)
