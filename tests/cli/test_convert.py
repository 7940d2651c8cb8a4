"""`carob convert`: printed, or written whole and over nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from carob.cli.main import run
from cli.support import Carob

GOLDEN = [{"id": "Q", "input": "Which dyno?", "expected_contains": ["no"]}]
TABLED = {"id": "{order}", "each": "rows.csv", "prompt": "{order}", "expected": {"must_say_any": ["{order}"]}}


def deep(levels: int) -> str:
    return f'[{{"id": "Q", "input": "p", "expected_contains": ["a"], "x-n": {"[" * levels}{"]" * levels}}}]'


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param("golden.json -o there.yaml", 4, "there.yaml: it already exists. Choose another path", id="there"),
        pytest.param("golden.json -o link.yaml", 4, "link.yaml: it already exists.", id="a-link-to-nowhere"),
        pytest.param("golden.json -o new.json", 4, "new.json: its name does not end in .yaml.", id="suffix"),
        pytest.param("golden.json -o there.yaml/new.yaml", 3, "new.yaml: cannot be written:", id="no-folder"),
        pytest.param("golden.json -o folder.yaml --force", 3, "folder.yaml: cannot be written:", id="a-folder"),
        pytest.param("gone.json", 4, "gone.json: no such file. Check the path.", id="gone"),
        pytest.param("bad.json", 4, "bad.json:1:28 [0].expected_contians: unknown field.", id="no-suite"),
        pytest.param("deep.json", 4, "deep.json: it cannot be written in YAML: nested too deeply", id="deep"),
        pytest.param("table.json -o folder.yaml/new.yaml", 4, "the suite names the table 'rows.csv'", id="table"),
    ],
)
def test_what_cannot_be_written_is_told_in_one_line(convert: Carob, arguments: str, code: int, says: str) -> None:
    ran = convert(*arguments.split())
    assert (ran.code, ran.out) == (code, "")
    assert len(ran.err.splitlines()) == 1
    assert says in ran.err
    assert Path("there.yaml").read_text() == "mine"
    assert {path.name for path in Path().rglob("*")} == BEFORE


BEFORE = {
    "there.yaml",
    "link.yaml",
    "folder.yaml",
    "golden.json",
    "bad.json",
    "deep.json",
    "table.json",
    "rows.csv",
    "agent.py",
}


@pytest.fixture
def convert(carob: Carob) -> Carob:
    Path("there.yaml").write_text("mine")
    Path("link.yaml").symlink_to("nowhere")
    Path("folder.yaml").mkdir()
    Path("golden.json").write_text(json.dumps(GOLDEN))
    Path("bad.json").write_text('[{"id": "Q", "input": "p", "expected_contians": ["a"]}]')
    Path("deep.json").write_text(deep(193))
    Path("rows.csv").write_text("order\n012\n")
    Path("table.json").write_text(json.dumps({"carob": 1, "cases": [TABLED]}))
    return lambda *arguments: carob("convert", *arguments)


def test_the_command_prints_or_writes(carob: Carob, convert: Carob) -> None:
    printed = convert("golden.json")
    assert (printed.code, printed.err) == (0, "")
    assert convert("golden.json", "-o", "there.yaml", "--force") == printed._replace(out="")
    assert Path("there.yaml").read_text() == printed.out
    assert "# Carob 1 from the golden set 'golden.json'" in printed.out
    assert convert("table.json", "-o", "new.yaml").code == 0
    assert "# These files must be next to this one: 'rows.csv'.\n" in Path("new.yaml").read_text()
    assert carob("run", "--list", "new.yaml").out == "012\t\t012\n"


def test_what_is_printed_is_utf8_whatever_the_terminal_is(convert: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("golden.json").write_text(json.dumps([{**GOLDEN[0], "input": "Wie heißt sie? 😀"}]))
    out = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(out, encoding="ascii", errors="backslashreplace"))
    assert run(["convert", "golden.json"]) == 0
    assert "Wie heißt sie? 😀" in out.getvalue().decode()
