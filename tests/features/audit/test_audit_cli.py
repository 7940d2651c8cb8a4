"""`carob audit` on the command line: verdict, exit code, files, and journals that cannot be audited."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.support import Carob, process, traces, write
from features.audit import sample
from features.audit.support import case

SAYS = {"A": "The colour of the sky is blue, 7 days a week.", "B": "In the kitchen."}
SUITE = {
    "version": "0.3",
    "cases": [case({"must_say_any": ["blue"]}, "A", "Which?"), case({"must_say_any": ["kitchen"]}, "B", "Where?")],
}


def recorded_by(carob: Carob, tree: Any = SUITE, answers: dict[str, Any] = SAYS, *more: str) -> str:
    """The journal of a run of this suite."""
    suite = write("suite.json", tree)
    carob("run", suite, "--target", traces(**answers), "--results-dir", "runs", "--workers", "0", *more)
    (journal,) = Path("runs").glob("suite-*Z.jsonl")
    return str(journal)


def test_a_suite_that_looks_at_little_is_not_proved(carob: Carob) -> None:
    journal = recorded_by(carob)
    ran = carob("audit", journal)
    assert (ran.code, ran.err) == (1, "")
    assert "nothing in A looks at numbers: add must_ground_numbers with `from_tool`" in ran.out
    assert "NOT PROVED: the kill rate 0." in ran.out


@pytest.mark.parametrize(
    ("bound", "code", "verdict"),
    [
        pytest.param("0", 0, "PROVED: the kill rate", id="no-bound"),
        pytest.param("0.3", 0, "PROVED: the kill rate", id="met"),
        pytest.param("1", 1, "NOT PROVED: the kill rate", id="not-met"),
    ],
)
def test_the_exit_code_follows_the_verdict(carob: Carob, bound: str, code: int, verdict: str) -> None:
    ran = carob("audit", recorded_by(carob), "--min-kill", bound)
    assert (ran.code, f"\n{verdict}" in ran.out) == (code, True)


def test_a_control_that_passes_is_not_outvoted(carob: Carob) -> None:
    tree = {**SUITE, "cases": [*SUITE["cases"], case({"outcome": "response_only"}, "C", "What else?")]}  # type: ignore[misc]
    ran = carob("audit", recorded_by(carob, tree, {**SAYS, "C": "Nothing else."}), "--min-kill", "0")
    assert ran.code == 1
    assert "  C     passes with an agent that repeats the prompt" in ran.out
    assert "NOT PROVED: 2 controls pass" in ran.out


def test_a_good_suite_is_proved_and_its_files_appear(carob: Carob) -> None:
    tree = {"version": "0.3", "cases": list(sample.CASES)}
    journal = Path(recorded_by(carob, tree, sample.ANSWERS))
    ran = carob("audit", str(journal))
    assert (ran.code, ran.err) == (0, "")
    stem = journal.with_suffix("")
    read = json.loads(Path(f"{stem}.audit.json").read_bytes())
    assert read["verdict"] == {"min_kill": 0.9, "met": True, "unmet": []}
    assert Path(f"{stem}.audit.md").read_text().startswith("# Audit\n\n**PROVED: ")
    assert ran.out.endswith(f"  {stem}.audit.json\n  {stem}.audit.md\n")


def test_the_same_journal_and_seed_give_the_same_bytes(carob: Carob) -> None:
    journal = recorded_by(carob, {"version": "0.3", "cases": list(sample.CASES)}, sample.ANSWERS)
    outputs = [carob("audit", journal, "--seed", "3", "--results-dir", folder).out for folder in ("one", "two")]
    assert outputs[0].replace("one/", "two/") == outputs[1]
    for end in ("json", "md"):
        (first,), (second,) = (list(Path(folder).glob(f"*.audit.{end}")) for folder in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()


def test_an_earlier_report_is_never_overwritten(carob: Carob) -> None:
    journal = recorded_by(carob)
    carob("audit", journal)
    ran = carob("audit", journal)
    assert ran.out.splitlines()[-2].endswith(".audit-2.json")
    assert len(list(Path("runs").glob("*.audit*.json"))) == 2


def test_nothing_passed(carob: Carob) -> None:
    ran = carob("audit", recorded_by(carob, SUITE, {"A": "Green.", "B": "No idea."}))
    assert ran.code == 1
    assert "NOT PROVED: no case passed, so nothing could be audited" in ran.out
    assert "  A     FAIL, a check failed" in ran.out


def test_the_suite_that_was_run_is_accepted(carob: Carob) -> None:
    assert carob("audit", recorded_by(carob), "--suite", "suite.json", "--min-kill", "0").code == 0


def test_a_mended_suite_is_audited_after_a_rescore(carob: Carob) -> None:
    """What the complaint about a changed suite says to do leads to an audit."""
    journal = recorded_by(carob)
    mended = {**SUITE["cases"][0], "expected": {"must_say_any": ["blue"], "must_ground_numbers": ["7"]}}  # type: ignore[index]
    write("suite.json", {**SUITE, "cases": [mended, SUITE["cases"][1]]})  # type: ignore[index]
    ran = carob("audit", journal, "--suite", "suite.json")
    assert ran.code == 4
    assert (
        "suite.json has changed since this run. Judge it by the current suite, and audit the result: "
        f"carob rescore {journal}" in ran.err
    )
    carob("rescore", journal, "--suite", "suite.json", "--results-dir", "again")
    (again,) = Path("again").glob("suite-*Z.jsonl")
    ran = carob("audit", str(again), "--suite", "suite.json", "--min-kill", "0")
    assert ran.code == 0
    assert "looks at numbers" not in ran.out


Spoil = Callable[[list[str]], list[str]]


def without_traces(lines: list[str]) -> list[str]:
    rows = [json.loads(line) for line in lines]
    return [json.dumps({key: value for key, value in row.items() if key != "trace"}) for row in rows]


def newer(lines: list[str]) -> list[str]:
    return [lines[0].replace('"format":1', '"format":99'), *lines[1:]]


def empty_traces(lines: list[str]) -> list[str]:
    return [json.dumps({**json.loads(line), "trace": {}}) if '"kind":"case"' in line else line for line in lines]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        pytest.param(without_traces, "a record cannot be read: ", id="without-traces"),
        pytest.param(empty_traces, "the journal was changed: 2 records edited ('A', 'B')", id="empty-traces"),
        pytest.param(newer, "the journal has format 99; this Carob reads 1. Use a newer Carob.", id="newer"),
        pytest.param(lambda lines: [*lines[:-1], lines[-1][:20]], "its last line is cut off. Finish it first",
                     id="torn-in-the-footer"),
        pytest.param(lambda lines: [*lines[:2], lines[2][:99]], "the journal is incomplete", id="torn-in-a-case"),
        pytest.param(lambda lines: lines[:-1], "the run is not complete: the run did not end", id="killed"),
        pytest.param(lambda lines: [lines[0], lines[-1]], "the journal was changed: 2 lines lost", id="no-case"),
        pytest.param(lambda lines: [], "the journal is empty.", id="empty"),
        pytest.param(lambda lines: lines[1:], "not a journal", id="without-header"),
        pytest.param(lambda lines: [lines[0], "{", *lines[1:]], "this line cannot be read", id="spoiled-line"),
        pytest.param(lambda lines: [line.replace('"phrases":["blue"]', '"phrases":7') for line in lines],
                     "the journal was changed: 1 record edited ('A')", id="spoiled-check"),
    ],
)  # fmt: skip
def test_journals_that_cannot_be_audited(carob: Carob, spoil: Spoil, says: str) -> None:
    lines = Path(recorded_by(carob)).read_text().splitlines()
    spoiled = spoil(lines)
    cut = "" if spoiled and len(spoiled[-1]) in (20, 99) else "\n"
    Path("bad.jsonl").write_text("\n".join(spoiled) + (cut if spoiled else ""))
    ran = carob("audit", "bad.jsonl")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert says in ran.err
    assert not list(Path().glob("bad.audit*"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["no.jsonl"], "no.jsonl: it cannot be read: No such file or directory.", id="no-file"),
        pytest.param(["agent.py"], "not a journal.", id="not-a-journal"),
        pytest.param(["x.jsonl", "--min-kill", "1.5"], "'1.5' is not a share, such as 0.95 or 95%.", id="bound"),
        pytest.param(["x.jsonl", "--seed", "many"], "'many' is not a whole number.", id="seed"),
        pytest.param(["x.jsonl", "--suite", "no.json"], "no.json: no such file.", id="no-suite"),
    ],
)
def test_misuse(carob: Carob, arguments: list[str], says: str) -> None:
    ran = carob("audit", *arguments)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert says in ran.err


def test_a_journal_of_another_suite(carob: Carob) -> None:
    other = write("other.json", {"version": "0.3", "cases": [case({"must_say_any": ["x"]}, "Z")]})
    ran = carob("audit", recorded_by(carob), "--suite", other)
    assert (ran.code, ran.out) == (4, "")
    assert "the journal is of another suite, suite.json: other.json has no case 'A', 'B'." in ran.err


def test_an_interrupted_run_is_not_audited(carob: Carob) -> None:
    ran = carob("audit", recorded_by(carob, SUITE, {"A": "Green.", "B": "?"}, "--fail-fast"))
    assert ran.code == 4
    assert "the run is not complete: " in ran.err
    assert "Finish it first: carob run --resume runs/suite-" in ran.err


def test_a_place_that_cannot_be_written(carob: Carob) -> None:
    journal = recorded_by(carob)
    Path("file").write_text("")
    ran = carob("audit", journal, "--results-dir", "file/below")
    assert ran.code == 3
    assert "choose another folder with --results-dir" in ran.err


def test_in_a_process_of_its_own(carob: Carob) -> None:
    journal = recorded_by(carob)
    ran = process("audit", journal, "--min-kill", "0.99")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "\x1b" not in ran.stdout
