"""`carob rescore`: recorded answers judged again, without an agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.support import Carob, case, eval_set, journal_of, process, results, traces, write


@pytest.fixture
def journal(carob: Carob) -> str:
    """A run of A (passed), B (failed) and C (errored)."""
    suite = write("suite.json", eval_set(case("A", category="x"), case("B"), case("C")))
    carob("run", suite, "-t", traces(A="Hello.", B="Good day.", C={"error": "down"}), "--results-dir", "first")
    Path("suite.json").unlink()
    return str(journal_of("first"))


def report(folder: str = "carob-results") -> Any:
    return json.loads(results(folder)[".json"][-1].read_bytes())


def test_by_its_own_cases(carob: Carob, journal: str) -> None:
    before = Path(journal).read_bytes()
    ran = carob("rescore", journal)
    assert (ran.code, ran.statuses) == (1, {"A": "PASS", "B": "FAIL", "C": "ERROR"})
    assert Path(journal).read_bytes() == before
    first, again = report("first"), report()
    for entry in (first, again):
        entry.pop("generated_at")
    assert first == again
    head = json.loads(journal_of().read_text().splitlines()[0])
    assert head["derived_from"] == journal


def test_a_record_that_stands_there_twice_counts_once(carob: Carob, journal: str) -> None:
    lines = Path(journal).read_text().splitlines(keepends=True)
    Path(journal).write_text("".join([*lines[:2], *lines[1:]]))
    ran = carob("rescore", journal)
    assert "1 passed, 1 failed, 1 error" in ran.out
    assert report()["summary"]["total"] == 3


@pytest.mark.parametrize(
    ("cases", "statuses", "left_out"),
    [
        pytest.param([case("A"), case("B"), case("C")], "A:PASS B:FAIL C:ERROR", "", id="the-same"),
        pytest.param(
            [case("B", expected={"must_say_any": ["day"]}), case("A", expected={"must_not_say": ["hello"]})],
            "B:PASS A:FAIL",
            "C",
            id="other-expectations-and-order",
        ),
        pytest.param([case("A"), case("D")], "A:PASS D:ERROR", "B, C", id="missing-and-extra"),
        pytest.param([case("A", prompt="something else")], "A:ERROR", "B, C", id="another-prompt"),
        pytest.param([case("A", setup_prompts=["x"])], "A:ERROR", "B, C", id="another-setup"),
        pytest.param([case("Z")], "Z:ERROR", "A, B, C", id="nothing-in-common"),
    ],
)
def test_by_a_suite(carob: Carob, journal: str, cases: list[dict[str, Any]], statuses: str, left_out: str) -> None:
    ran = carob("rescore", journal, "--suite", write("today.json", eval_set(*cases)))
    assert " ".join(f"{name}:{status}" for name, status in ran.statuses.items()) == statuses
    assert ran.code == (1 if "FAIL" in statuses or "ERROR" in statuses else 0)
    notice = f"carob: recorded but not in the suite, ignored: {left_out}\n" if left_out else ""
    assert ran.err == notice
    assert journal_of().name.startswith("today-")
    assert [entry["id"] for entry in report()["cases"]] == list(ran.statuses)
    assert (report()["eval_file"], report()["summary"]["total"]) == ("today.json", len(cases))


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        pytest.param("D", "not-recorded: the journal has no trace of this case", id="missing"),
        pytest.param("A", "not-recorded: the trace was recorded with another prompt", id="another-prompt"),
    ],
)
def test_what_was_not_recorded_is_said(carob: Carob, journal: str, expected: str, why: str) -> None:
    ran = carob("rescore", journal, "--suite", write("today.json", eval_set(case(expected, prompt="new"))))
    assert why in ran.out


def test_warnings_of_the_suite_are_shown(carob: Carob, journal: str) -> None:
    old = eval_set(case("A", expected={"must_match_regex": ["hel+o"]}), case("B"), case("C"), version="0.1")
    ran = carob("rescore", journal, "--suite", write("old.json", old))
    assert "warning: this field is new in version 0.2" in ran.err


def test_repeats_that_were_not_recorded_are_errors(carob: Carob) -> None:
    write("suite.json", eval_set(case("A")))
    carob("run", "suite.json", "-t", "python:agent.py:greet", "--repeat", "3", "--results-dir", "first")
    ran = carob("rescore", str(journal_of("first")), "--suite", write("two.json", eval_set(case("A"), case("B"))))
    assert (ran.code, ran.statuses) == (1, {"A": "PASS", "B": "ERROR"})
    assert "B  0.00s  0 of 3 passed" in ran.out
    assert ran.out.count("not-recorded: the journal has no trace of this case") == 3


def interrupted_journal(carob: Carob) -> str:
    write("suite.json", eval_set(case("A"), case("B")))
    carob("run", "suite.json", "-t", "python:agent.py:mute", "--fail-fast", "--results-dir", "first")
    lines = journal_of("first").read_text().splitlines(keepends=True)
    return write("killed.jsonl", "".join(lines[:2]) + lines[1][:100])


def test_a_run_that_was_killed_is_no_success_afterwards(carob: Carob) -> None:
    killed = interrupted_journal(carob)
    hello = write("easy.json", eval_set(case("A", expected={"must_say_any": ["nothing"]})))
    ran = carob("rescore", killed)
    assert (ran.code, ran.statuses) == (2, {"A": "FAIL"})
    assert "INCOMPLETE: 1 of 2 cases finished (the run did not end)" in ran.out
    assert carob("rescore", killed, "--suite", hello).code == 0
    ran = carob("rescore", killed, "--suite", "suite.json")
    assert (ran.code, ran.statuses) == (1, {"A": "FAIL", "B": "ERROR"})
    assert "INCOMPLETE" not in ran.out


VOCABULARY = """
[targets.app]
use = "replay:traces.jsonl"
[targets.app.ui_vocabulary]
"It shines" = [{ role = "img", name = "sun" }]
"""


def test_the_vocabulary_of_the_recorded_target_reads_the_new_suite(carob: Carob) -> None:
    write("carob.toml", VOCABULARY)
    traces(A={"final_message": "hello", "page": '- img "Sun"'})
    carob("run", write("suite.json", eval_set()), "-t", "app", "--results-dir", "first")
    Path("carob.toml").unlink()
    shines = write("shines.json", eval_set(case(expected={"ui": ["It shines"]})))
    assert carob("rescore", str(journal_of("first")), "--suite", shines).statuses == {"A": "PASS"}


HEADER = '{"kind":"header","run_id":"r","suite":"s.json","suite_format":"eval-set","suite_sha256":"","target":"t",'
HEADER += '"started_at":"2026-01-01T00:00:00+00:00","total":1}\n'
RECORD = '{"kind":"case","index":0,"case":{"id":"A","prompt":"p","checks":[["%s",%s,"x"]]},'
RECORD += '"trace":{"case_id":"A","final_message":"hi"},"verdict":{"status":"PASS"}}\n'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param("", "the journal is empty", id="empty"),
        pytest.param("{}", "not a journal", id="a-suite"),
        pytest.param("\ufeff" + HEADER, "not a journal", id="bom"),
        pytest.param(HEADER.encode("utf-16"), "not a journal", id="utf-16"),
        pytest.param('{"kind":"case"}\n', "the first line is not a header", id="no-header"),
        pytest.param('{"kind":"header"}\n', "its header cannot be read: Object missing", id="half-a-header"),
        pytest.param(b'{"kind":"\xff"}\n', "not a journal", id="not-utf-8"),
        pytest.param('{"kind":"header","format":2}\n', "format 2; this Carob reads 1", id="newer-format"),
        pytest.param(HEADER + "{\n", "j.jsonl:2: this line cannot be read", id="not-json-inside"),
        pytest.param(HEADER + HEADER, "j.jsonl:2: this line is neither a case nor a footer", id="two-headers"),
        pytest.param(HEADER + '{"kind":"case","index":-1}\n', "j.jsonl:2: this line cannot be read", id="bad-index"),
        pytest.param(HEADER + '{"kind":"case","index":0}\n', "a record cannot be read", id="half-a-record"),
        pytest.param(
            HEADER + '{"kind":"case","index":0,"x":' + "[" * 100_000 + "}\n", "cannot be read", id="nested-too-deeply"
        ),
        pytest.param(HEADER + RECORD % ("must_say", "{}"), "no check is called 'must_say'", id="unknown-check"),
        pytest.param(
            HEADER + RECORD % ("must_say_any", '{"phrases":1}'), "a check of case 'A' cannot be read", id="bad-check"
        ),
    ],
)
def test_a_journal_that_cannot_be_read(carob: Carob, content: str | bytes, says: str) -> None:
    ran = carob("rescore", write("j.jsonl", content))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert ran.err.startswith("carob: ")
    assert says in ran.err
    assert not Path("carob-results").exists() or not list(Path("carob-results").iterdir())


def test_a_journal_that_went_through_another_tool(carob: Carob, journal: str) -> None:
    lines = [json.dumps(json.loads(line)) for line in Path(journal).read_text().splitlines()]
    ran = carob("rescore", write("spaced.jsonl", "\n".join(lines) + "\n"))
    assert ran.statuses == {"A": "PASS", "B": "FAIL", "C": "ERROR"}


def test_a_journal_is_a_recording_too(carob: Carob, journal: str) -> None:
    write("suite.json", eval_set(case("A", category="x"), case("B"), case("C")))
    ran = carob("run", "suite.json", "-t", f"replay:{journal}")
    assert ran.statuses == {"A": "PASS", "B": "FAIL", "C": "ERROR"}


@pytest.mark.parametrize("option", ["--suite", "--results-dir"])
def test_an_option_without_a_value(option: str) -> None:
    ran = process("rescore", "x.jsonl", option)
    assert (ran.returncode, ran.stdout) == (4, "")
    assert f"Option '{option}' requires an argument" in ran.stderr


def test_a_recorded_selection_holds_for_the_suite_too(carob: Carob) -> None:
    suite = write("suite.json", eval_set(case("A"), case("B"), case("C")))
    carob("run", suite, "-t", traces(A="Hello.", C="Hello."), "--cases", "A,C", "--results-dir", "first")
    carob("rescore", str(journal_of("first")), "--suite", suite)
    assert [(entry["id"], entry["status"]) for entry in report()["cases"]] == [("A", "PASS"), ("C", "PASS")]
