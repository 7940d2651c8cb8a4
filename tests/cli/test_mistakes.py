"""Mistakes that people make, each with the part of the answer that leads to the fix; the table is mistakes.yaml."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.support import Carob, write

ROWS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())
CALL = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
SAID = [{"role": "user", "content": "Pay."}, {"role": "assistant", "content": "Done.", "tool_calls": [CALL]}]
SHORT = {"case_id": "A", "final_message": "hello", "tool_calls": [{"name": "pay", "arguments": {}, "result": "ok"}]}
FILLED = "{id: a, each: {call: pay, arguments: {o: {$as: o}}}, needs: {before: {user: ['{o}']}}}"
LINES = {
    "rec.jsonl": [{"messages": SAID}] * 2,
    "one.jsonl": [{"id": "a", "prompt": "Hi"}, {"id": "b", "prompt": "Ho"}],
    "short.jsonl": [SHORT],
    "openai.jsonl": [{**SHORT, "tool_calls": [CALL]}],
    "journal.jsonl": [{"kind": "header", "format": 1}, {"kind": "case"}],
}


@pytest.fixture
def files() -> None:
    for name, lines in LINES.items():
        write(name, "".join(f"{json.dumps(line)}\n" for line in lines))
    Path("short.jsonl.gz").write_bytes(gzip.compress(Path("short.jsonl").read_bytes()))
    write("rules.yaml", "carob: 1\nrules: [{id: once, each: {call: pay}, at_most: 1}]\n")
    write("filled.yaml", f"carob: 1\nrules: [{FILLED}]\n")
    write("s.yaml", "carob: 1\ncases: [{id: A, prompt: Hi, expected: {must_say_any: [hello]}}]\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["line"])
def test_a_mistake_is_answered_with_the_fix(carob: Carob, row: dict[str, Any]) -> None:
    if "config" in row:
        write("carob.toml", row["config"])
    if "after" in row:
        carob(*row["after"].split())
    before = set(Path().rglob("*.jsonl"))
    ran = carob(*row["line"].split())
    assert (ran.code, row["fix"] in ran.out + ran.err) == (row.get("code", 4), True), (ran.out, ran.err)
    assert ran.code == 0 or set(Path().rglob("*.jsonl")) == before
