"""Going on from a journal: what is kept, what is run again, and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carob.cli.main import run
from carob.journal.reader import Journal
from carob.model.run import CaseRecord

from .support import case, journals, records, statuses, target, write_suite

Carob = Callable[..., tuple[int, str, str]]
CASES = [case("a", "answer sync"), case("b", "wrong sync"), case("c", "raise sync"), case("d", "answer async")]


@pytest.fixture
def carob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Carob:
    """The command line in this process, in a folder of its own; its agent notes its calls."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))

    def command(*arguments: object) -> tuple[int, str, str]:
        (tmp_path / "calls").write_text("")
        code = run([*map(str, arguments)])
        out, err = capfd.readouterr()
        return code, out, err

    return command


@pytest.fixture
def first(tmp_path: Path, carob: Carob) -> Path:
    """The journal of a finished run."""
    write_suite(tmp_path / "suite.json", CASES)
    carob("run", "suite.json", "--target", target("agent"), "--workers", 0, "--results-dir", "out")
    return journals(tmp_path / "out")[-1]


def cut_off(journal: Path, lines: int, torn: bytes = b"") -> Path:
    """The journal as a kill after so many cases leaves it."""
    kept = b"".join(journal.read_bytes().splitlines(keepends=True)[: lines + 1])
    journal.write_bytes(kept + torn)
    return journal


def called(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().split()


def newest(tmp_path: Path) -> dict[str, CaseRecord]:
    return records(journals(tmp_path / "out")[-1])


def resume(carob: Carob, journal: Path, *options: object) -> tuple[int, str, str]:
    return carob("run", "--resume", journal, "--workers", 0, *options)


def test_only_what_is_missing_is_run(tmp_path: Path, carob: Carob, first: Path) -> None:
    code, out, err = resume(carob, cut_off(first, 2))
    assert code == 1
    assert called(tmp_path) == ["c", "d"]
    assert statuses(journals(tmp_path / "out")[-1]) == {"a": "PASS", "b": "FAIL", "c": "ERROR", "d": "PASS"}
    assert "carob: kept 2 finished cases\ncarob: new or not finished, run now: c, d\n" in err
    assert "2 passed, 1 failed, 1 error" in out


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ((), {"concurrency": 3, "workers": 2, "retries": 1, "run_timeout": 40.0}),
        (("--concurrency", 1, "--workers", 0), {"workers": 0, "retries": 1, "run_timeout": 40.0}),
    ],
)
@pytest.mark.parametrize("form", ["--resume", "--failed"])
def test_a_run_goes_on_as_wide_as_it_was(
    tmp_path: Path, carob: Carob, form: str, given: tuple[object, ...], kept: dict[str, object]
) -> None:
    write_suite(tmp_path / "suite.json", CASES)
    wide = ("--concurrency", 3, "--workers", 2, "--timeout", 9, "--run-timeout", 40, "--retries", 1)
    carob("run", "suite.json", "--target", target("agent"), "--results-dir", "out", *wide)
    carob("run", form, cut_off(journals(tmp_path / "out")[-1], 1), *given)
    options = Journal(journals(tmp_path / "out")[-1]).header.options
    assert (options["pace"], options["timeout"]) == (kept, 9.0)
    assert len(newest(tmp_path)) == len(CASES)


def test_a_pace_that_was_edited_is_refused(tmp_path: Path, carob: Carob, first: Path) -> None:
    first.write_bytes(first.read_bytes().replace(b'"pace":{"workers":0}', b'"pace":{"workers":"two"}', 1))
    code, _, err = carob("run", "--resume", first)
    assert (code, "`workers`: expected" in err) == (4, True)


@pytest.mark.parametrize(
    "torn",
    [b'{"kind":"case","index":2,"ca', b"{", b'{"kind":"case","index":2,"case":{"id":"c"}}', b"\xff\xfe\x00"],
    ids=["half", "a-byte", "without-its-line-end", "garbage"],
)
def test_a_torn_last_line_is_dropped(tmp_path: Path, carob: Carob, first: Path, torn: bytes) -> None:
    code, _, err = resume(carob, cut_off(first, 2, torn))
    assert code == 1
    assert called(tmp_path) == ["c", "d"]
    assert "carob: the last line of the journal is incomplete and was dropped" in err
    assert len(newest(tmp_path)) == 4


def test_a_line_torn_in_the_middle_is_an_error(carob: Carob, first: Path) -> None:
    lines = first.read_bytes().splitlines(keepends=True)
    first.write_bytes(b"".join([*lines[:2], lines[2][:30] + b"\n", *lines[3:]]))
    code, _, err = resume(carob, first)
    assert code == 4
    assert f"{first}:3" in err


def test_a_record_that_lacks_its_case_is_an_error(carob: Carob, first: Path) -> None:
    first.write_bytes(first.read_bytes() + b'{"kind":"case","index":7}\n')
    code, _, err = resume(carob, first)
    assert code == 4
    assert "a record cannot be read" in err


def test_nothing_is_missing(tmp_path: Path, carob: Carob, first: Path) -> None:
    code, out, err = resume(carob, first)
    assert code == 1
    assert called(tmp_path) == []
    assert "kept 4 finished cases" in err
    assert "2 passed, 1 failed, 1 error" in out


@pytest.mark.parametrize(
    ("cases", "ran", "said"),
    [
        pytest.param(
            [CASES[0], case("b", "answer sync"), *CASES[2:]],
            ["b"],
            "changed since, run again: b",
            id="changed-prompt",
        ),
        pytest.param(
            [CASES[0], case("b", "wrong sync", must_not_say=["no"]), *CASES[2:]],
            ["b"],
            "changed since, run again: b",
            id="changed-check",
        ),
        pytest.param([CASES[3], CASES[2], CASES[1], CASES[0]], [], "kept 4 finished cases", id="another-order"),
        pytest.param(CASES[1:], [], "no longer in the suite or not selected, left out: a", id="removed"),
        pytest.param(
            [case("new", "answer sync"), *CASES], ["new"], "new or not finished, run now: new", id="added-in-front"
        ),
        pytest.param([case("A", "answer sync"), *CASES[1:]], ["A"], "left out: a", id="renamed"),
    ],
)
def test_a_changed_suite(
    tmp_path: Path, carob: Carob, first: Path, cases: list[Any], ran: list[str], said: str
) -> None:
    write_suite(tmp_path / "suite.json", cases)
    _, _, err = resume(carob, first)
    assert called(tmp_path) == ran
    assert "carob: suite.json has changed since; unchanged cases are kept" in err
    assert said in err
    assert list(newest(tmp_path)) == [each["id"] for each in cases]
    assert [record.index for record in newest(tmp_path).values()] == list(range(len(cases)))


def test_changed_options_of_the_target(tmp_path: Path, carob: Carob) -> None:
    write_suite(tmp_path / "suite.json", CASES)
    toml = f'[targets.staging]\nuse = "{target("agent")}"\nenv = {{ MODEL = "one" }}\n'
    (tmp_path / "carob.toml").write_text(toml)
    carob("run", "suite.json", "--target", "staging", "--workers", 0, "--results-dir", "out")
    (tmp_path / "carob.toml").write_text(toml.replace('"one"', '"two"'))
    code, _, err = resume(carob, journals(tmp_path / "out")[-1])
    assert code == 1
    assert called(tmp_path) == ["a", "b", "c", "d"]
    assert "the target's options changed since, run again: a, b, c, d" in err


def test_another_name_of_the_target_is_no_change(tmp_path: Path, carob: Carob) -> None:
    write_suite(tmp_path / "suite.json", CASES)
    (tmp_path / "carob.toml").write_text(f'[targets.old]\nuse = "{target("agent")}"\n')
    carob("run", "suite.json", "--target", "old", "--workers", 0, "--results-dir", "out")
    (tmp_path / "carob.toml").write_text(f'[targets.new]\nuse = "{target("agent")}"\n')
    _, _, err = resume(carob, journals(tmp_path / "out")[-1], "--target", "new")
    assert called(tmp_path) == []
    assert "kept 4 finished cases" in err


def test_another_timeout_is_no_change(tmp_path: Path, carob: Carob, first: Path) -> None:
    resume(carob, first, "--timeout", 7)
    assert called(tmp_path) == []


@pytest.mark.parametrize(
    ("status", "ran"),
    [("error,fail", ["b", "c"]), ("error", ["c"]), ("PASS", ["a", "d"]), ("partial", [])],
)
def test_rerun_by_status(tmp_path: Path, carob: Carob, first: Path, status: str, ran: list[str]) -> None:
    _, _, err = carob("run", "--failed", first, "--status", status, "--workers", 0)
    assert called(tmp_path) == ran
    assert len(newest(tmp_path)) == 4
    assert ("run again for their status" in err) == bool(ran)


def test_rerun_by_several_statuses(tmp_path: Path, carob: Carob, first: Path) -> None:
    carob("run", "--failed", first, "--status", "error", "--status", "pass", "--workers", 0)
    assert called(tmp_path) == ["a", "c", "d"]


def test_rerun_without_a_status_takes_what_failed(tmp_path: Path, carob: Carob, first: Path) -> None:
    carob("run", "--failed", first, "--workers", 0)
    assert called(tmp_path) == ["b", "c"]


ALTERNATING = """
from itertools import count
n = count()
def answer(prompt):
    return "fine" if prompt == "good" or next(n) % 2 == 0 else "tired"
"""


@pytest.mark.parametrize(
    ("rate", "status", "kept"),
    [
        pytest.param(1.0, "error,fail", ["good"], id="a-flaky-case-is-run-again-as-a-whole"),
        pytest.param(0.5, "error,fail", ["good", "mood"], id="one-that-passed-by-its-rate-is-kept-as-a-whole"),
        pytest.param(0.5, "pass", [], id="and-counts-as-passed"),
        pytest.param(1.0, "pass", ["mood"], id="a-flaky-case-did-not-pass"),
    ],
)
def test_rerun_decides_over_all_repeats(
    tmp_path: Path, carob: Carob, rate: float, status: str, kept: list[str]
) -> None:
    (tmp_path / "moody.py").write_text(ALTERNATING)
    write_suite(tmp_path / "suite.json", [case("good", "good"), case("mood", "mood", min_pass_rate=rate)])
    given = ("--workers", 0, "--results-dir", "out")
    carob("run", "suite.json", "--target", "python:moody:answer", "--repeat", 4, *given)
    (before,) = journals(tmp_path / "out")
    _, out, err = carob("run", "--failed", before, "--status", status, *given)
    assert f"kept {4 * len(kept)} finished runs" in err
    ran = {line.split()[1] for line in out.splitlines() if "#" in line}
    assert ran == {"good", "mood"} - set(kept)
    assert "2 of 4 passed" in out
    assert len(Journal(journals(tmp_path / "out")[-1])) == 8


def test_rerun_of_an_unknown_status(carob: Carob, first: Path) -> None:
    code, _, err = carob("run", "--failed", first, "--status", "broken")
    assert code == 4
    assert "use one or more of pass, fail, partial, error" in err


def test_the_selection_is_remembered(tmp_path: Path, carob: Carob) -> None:
    write_suite(tmp_path / "suite.json", CASES)
    carob("run", "suite.json", "--cases", "a,d", "--target", target("agent"), "--workers", 0, "--results-dir", "out")
    resume(carob, cut_off(journals(tmp_path / "out")[-1], 1))
    assert called(tmp_path) == ["d"]
    assert list(newest(tmp_path)) == ["a", "d"]


@pytest.mark.parametrize(
    ("left", "code", "said"),
    [
        pytest.param(CASES[1:], 0, "kept 1 finished case", id="one-of-two"),
        pytest.param(CASES[1:3], 5, "no case is selected", id="both"),
    ],
)
def test_a_selected_case_that_is_gone(tmp_path: Path, carob: Carob, left: list[Any], code: int, said: str) -> None:
    write_suite(tmp_path / "suite.json", CASES)
    carob("run", "suite.json", "--cases", "a,d", "--target", target("agent"), "--workers", 0, "--results-dir", "out")
    write_suite(tmp_path / "suite.json", left)
    got, _, err = resume(carob, journals(tmp_path / "out")[-1])
    assert got == code
    assert "carob: no longer in suite.json: a" in err
    assert said in err


def test_of_two_records_of_a_case_none_is_believed(tmp_path: Path, carob: Carob, first: Path) -> None:
    header, a, b, *others = first.read_bytes().splitlines(keepends=True)
    worse = a.replace(b'"status":"PASS"', b'"status":"FAIL"')
    first.write_bytes(b"".join([header, a, b, *others[:-1], worse]))
    resume(carob, first)
    assert called(tmp_path) == ["a"]
    assert newest(tmp_path)["a"].status == "PASS"


def test_more_repeats_go_on_from_fewer(tmp_path: Path, carob: Carob, first: Path) -> None:
    resume(carob, first, "--repeat", 3)
    assert sorted(called(tmp_path)) == sorted(["a", "b", "c", "d"] * 2)
    assert len(Journal(journals(tmp_path / "out")[-1])) == 12


def test_the_old_journal_is_left_as_it_is(tmp_path: Path, carob: Carob, first: Path) -> None:
    before = cut_off(first, 2).read_bytes()
    resume(carob, first)
    assert first.read_bytes() == before
    header = json.loads(journals(tmp_path / "out")[-1].read_bytes().splitlines()[0])
    assert header["derived_from"] == str(first)


def test_ids_of_a_journal_are_shown_harmlessly(tmp_path: Path, carob: Carob, first: Path) -> None:
    first.write_bytes(first.read_bytes().replace(b'"id":"a"', b'"id":"\\u001b[2J"'))
    _, _, err = resume(carob, first)
    assert "\x1b" not in err
    assert "\\u001b[2J" in err


def test_a_long_list_is_cut_short(tmp_path: Path, carob: Carob) -> None:
    write_suite(tmp_path / "suite.json", [case(f"c{n}", "answer sync") for n in range(25)])
    carob("run", "suite.json", "--target", target("agent"), "--workers", 0, "--results-dir", "out")
    _, _, err = resume(carob, cut_off(journals(tmp_path / "out")[-1], 0))
    assert "c8, c9 and 15 more" in err


def test_a_suite_that_is_gone(tmp_path: Path, carob: Carob, first: Path) -> None:
    (tmp_path / "suite.json").unlink()
    code, _, err = resume(carob, first)
    assert code == 4
    assert "is not here. Run this where the suite is, or name it with --suite." in err


def test_secret_options_are_asked_for_again(tmp_path: Path, carob: Carob, first: Path) -> None:
    first.write_bytes(first.read_bytes().replace(b'"overrides":{}', b'"overrides":{"key":"[removed]"}'))
    code, _, err = resume(carob, first)
    assert code == 4
    assert "Give -o key=...." in err


def test_a_verdict_by_another_suite_is_none_by_this_one(tmp_path: Path, carob: Carob) -> None:
    """A rescore keeps what was observed, and its records stand for the cases that they were judged by."""
    write_suite(tmp_path / "suite.json", [case("b", "wrong sync")])
    write_suite(tmp_path / "draft.json", [{**case("b", "wrong sync"), "expected": {"must_match_regex": ["."]}}])
    carob("run", "suite.json", "--target", target("agent"), "--workers", 0, "--results-dir", "1")
    (recorded,) = journals(tmp_path / "1")
    assert carob("rescore", recorded, "--suite", "draft.json", "--results-dir", "2")[0] == 0
    (rescored,) = journals(tmp_path / "2")
    code, _, err = carob("run", "--resume", rescored, "--suite", "suite.json", "--workers", 0, "--results-dir", "3")
    assert (code, called(tmp_path)) == (1, ["b"])
    assert "changed since, run again: b" in err
    code, _, err = carob("run", "--resume", rescored, "--suite", "draft.json", "--workers", 0, "--results-dir", "4")
    assert (code, called(tmp_path)) == (0, [])
    assert "kept 1 finished case" in err


def test_a_journal_that_cannot_be_gone_on_from_leaves_nothing(tmp_path: Path, carob: Carob, first: Path) -> None:
    first.write_bytes(first.read_bytes().replace(b'"status":"PASS"', b'"status":"WAT"'))
    code, _, err = carob("run", "--resume", first, "--workers", 0, "--results-dir", "other")
    assert code == 4
    assert "a record cannot be read" in err
    assert list((tmp_path / "other").iterdir()) == []
