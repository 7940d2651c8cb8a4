"""Which cases are run and listed, what is skipped or known to fail, and how to go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carob.errors import ExitCode
from cli.support import HELLO, Carob, report_of, traces, write

CASES: dict[str, dict[str, Any]] = {
    "refund-fr": {"tags": ["smoke", "money"]},
    "refund-de": {"tags": ["money"]},
    "greet": {"tags": ["smoke"]},
}


def suite(path: str = "desk.json", **cases: dict[str, Any]) -> str:
    listed = [{"id": name, "prompt": name, "expected": HELLO, **keys} for name, keys in (cases or CASES).items()]
    return write(path, {"carob": 1, "cases": listed})


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        pytest.param(["--cases", "refund-*"], ["refund-fr", "refund-de"], id="glob"),
        pytest.param(["--tag", "smoke"], ["refund-fr", "greet"], id="tag"),
        pytest.param(["--tag", "smoke", "-k", "not refund"], ["greet"], id="tag-and-keyword"),
        pytest.param(["-k", "money and (fr or it)"], ["refund-fr"], id="keyword"),
    ],
)
def test_run_and_list_choose_alike(carob: Carob, arguments: list[str], chosen: list[str]) -> None:
    target = traces(**dict.fromkeys(CASES, "hello"))
    listed = carob("run", "--list", suite(), *arguments)
    assert [line.split("\t")[0] for line in listed.out.splitlines()] == chosen
    ran = carob("run", "desk.json", "--target", target, "--workers", "0", *arguments)
    assert (ran.code, list(ran.statuses)) == (ExitCode.OK, chosen)


def test_a_keyword_that_cannot_be_read(carob: Carob) -> None:
    for command in (["run", "--list", suite()], ["run", suite(), "--target", traces(greet="hello")]):
        ran = carob(*command, "-k", "a and")
        assert (ran.code, ran.out) == (ExitCode.USAGE, "")
        assert ran.err.startswith("carob: -k 'a and', column 6: expected a name")
        assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("cases", "code", "counts"),
    [
        pytest.param({"a": {"skip": "later"}}, ExitCode.NOTHING_SELECTED, "0 passed, 1 skipped", id="all-skipped"),
        pytest.param({"a": {"skip": "later"}, "b": {}}, ExitCode.OK, "1 passed, 1 skipped", id="one-skipped"),
        pytest.param({"b": {}, "c": {"xfail": "known"}}, ExitCode.OK, "1 passed, 1 known to fail", id="known-to-fail"),
        pytest.param({"c": {"xfail": "known"}}, ExitCode.OK, "0 passed, 1 known to fail", id="all-known-to-fail"),
        pytest.param({"b": {"xfail": "known"}}, ExitCode.FAILED, "0 passed, 1 failed", id="passes-after-all"),
    ],
)
def test_skipped_and_known_to_fail(carob: Carob, cases: dict[str, Any], code: ExitCode, counts: str) -> None:
    target = traces(b="hello", c="no")
    ran = carob("run", suite(**cases), "--target", target, "--workers", "0")
    assert (ran.code, counts in ran.out) == (code, True)
    apart = {"skip": "skipped" in counts, "xfail": "known to fail" in counts}
    summary = report_of()["summary"]
    assert {key: bool(summary.get(key)) for key in apart} == apart
    assert counts in next(Path("carob-results").glob("*.md")).read_text()


def test_a_skipped_case_needs_no_target(carob: Carob) -> None:
    ran = carob("run", suite(a={"skip": "later"}), "--target", "python:nowhere:nothing")
    assert (ran.code, ran.out.split()[:2]) == (ExitCode.NOTHING_SELECTED, ["SKIP", "a"])
    again = carob("rescore", *map(str, Path("carob-results").glob("*.jsonl")))
    assert again.code == ExitCode.NOTHING_SELECTED


def test_a_case_that_is_no_longer_skipped_was_not_recorded(carob: Carob) -> None:
    carob("run", suite(a={"skip": "later"}, b={}), "--target", traces(a="hello", b="hello"), "--workers", "0")
    (journal,) = Path("carob-results").glob("*.jsonl")
    ran = carob("rescore", str(journal), "--suite", suite("other.json", a={}, b={}))
    assert (ran.code, ran.statuses) == (ExitCode.FAILED, {"a": "ERROR", "b": "PASS"})
    assert "skipped: it was not run: later" in ran.out


def test_the_last_run_is_run_again(carob: Carob) -> None:
    recording = traces(**{"refund-fr": "no", "refund-de": "hello", "greet": "hello"})
    first = carob("run", suite(), "--target", recording, "--workers", "0", "--cases", "refund-*")
    assert (first.code, first.statuses) == (ExitCode.FAILED, {"refund-fr": "FAIL", "refund-de": "PASS"})
    traces(**dict.fromkeys(CASES, "hello"))
    again = carob("run", "--failed", "--workers", "0")
    assert (again.code, again.statuses) == (ExitCode.OK, {"refund-fr": "PASS"})
    assert "run again for their status: refund-fr" in again.err


def test_where_no_run_is_kept(carob: Carob) -> None:
    ran = carob("run", "--failed")
    assert (ran.code, "there is no such run here" in ran.err) == (ExitCode.USAGE, True)


def test_a_run_that_stopped_tells_how_to_go_on(carob: Carob) -> None:
    recording = traces(**dict.fromkeys(CASES, "no"))
    ran = carob("run", suite(), "--target", recording, "--workers", "0", "--fail-fast")
    (journal,) = Path("carob-results").glob("*.jsonl")
    assert f"\n  run the rest       carob run --resume {journal}\n" in ran.out
    held = json.loads(journal.read_text().splitlines()[0])["options"]["selection"]
    assert held == {}
