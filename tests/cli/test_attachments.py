"""Files that belong to a case: every report leads to them, wherever it is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from cli.support import Carob, Ran, case, eval_set, journal_of, results, write

SHOT = Path("recorded/files-1/A 1.png")


@pytest.fixture
def target(carob: Carob) -> str:
    """A recording of A, which fails, and B, which passes, each with a file beside it."""
    SHOT.parent.mkdir(parents=True)
    lines = []
    for name, said in (("A", "Good day."), ("B", "Hello.")):
        SHOT.with_name(f"{name} 1.png").write_bytes(name.encode())
        kept = {"screenshot": f"files-1/{name} 1.png"}
        lines.append({"case_id": name, "input": "Hi", "final_message": said, "attachments": kept})
    Path("recorded/traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write("suite.json", eval_set(case("A", prompt="Hi"), case("B", prompt="Hi")))
    return "replay:recorded/traces.jsonl"


def assert_led_to_the_file(ran: Ran, folder: str) -> None:
    assert ran.statuses == {"A": "FAIL", "B": "PASS"}
    (shown_path,) = re.findall(r"see +screenshot: (.+)", ran.out)
    (linked,) = re.findall(r"See: \[screenshot\]\((.+)\)", results(folder)[".md"][-1].read_text())
    entries = json.loads(results(folder)[".json"][-1].read_bytes())["cases"]
    for file in (
        Path(shown_path),
        Path(folder, unquote(linked)),
        Path(folder, entries[0]["attachments"]["screenshot"]),
    ):
        assert file.samefile(SHOT)
    assert Path(folder, entries[1]["attachments"]["screenshot"]).read_bytes() == b"B"


@pytest.mark.parametrize("folder", ["recorded", "out", "deep/down"])
def test_from_a_run_a_rescore_and_a_resumed_run(carob: Carob, target: str, folder: str) -> None:
    assert_led_to_the_file(carob("run", "suite.json", "-t", target, "--results-dir", folder), folder)
    journal = next(file for file in results(folder)[".jsonl"] if file.name.startswith("suite"))
    assert_led_to_the_file(carob("rescore", str(journal), "--results-dir", "elsewhere/again"), "elsewhere/again")
    carob("run", "--resume", str(journal), "--results-dir", "third")
    assert_led_to_the_file(carob("rescore", str(journal_of("third")), "--results-dir", "third"), "third")


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("//evil.example/x.png", "screenshot (//evil.example/x.png)"),
        ("/etc/passwd", "screenshot (/etc/passwd)"),
        ("https://evil.example/x.png", "[screenshot](https%3A//evil.example/x.png)"),
        ("javascript:alert(1)", "[screenshot](javascript%3Aalert%281%29)"),
        ('x) ![i](y "z', "[screenshot](x%29%20%21%5Bi%5D%28y%20%22z)"),
    ],
)
def test_a_recording_leads_nowhere_else(carob: Carob, file: str, shown: str) -> None:
    trace = {"case_id": "A", "input": "Hi", "final_message": "no", "attachments": {"screenshot": file}}
    Path("traces.jsonl").write_text(json.dumps(trace))
    write("suite.json", eval_set(case("A", prompt="Hi")))
    carob("run", "suite.json", "-t", "replay:traces.jsonl", "--results-dir", ".")
    assert f"See: {shown}\n" in results(".")[".md"][-1].read_text()
