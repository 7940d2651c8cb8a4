"""Journals that were broken, edited, truncated or doubled: none of them turns a run green."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carob.journal.reader import Journal
from cli.support import Carob, case, eval_set, journal_of, traces, write

Lines = list[Any]
Change = Callable[[Lines], Lines]

HEAD, A, B, C, FOOT = range(5)
"""The lines of the journal: A and C passed, B failed."""


@pytest.fixture
def journal(carob: Carob) -> Path:
    suite = write("suite.json", eval_set(case("A"), case("B"), case("C")))
    ran = carob("run", suite, "-t", traces(A="Hello.", B="Good day.", C="Hello."), "--results-dir", "first")
    assert ran.code == 1
    return journal_of("first")


def without(*numbers: int) -> Change:
    return lambda lines: [line for number, line in enumerate(lines) if number not in numbers]


def twice(number: int) -> Change:
    return lambda lines: [*lines[:number], lines[number], *lines[number:]]


def edited(number: int, edit: Callable[[Any], object]) -> Change:
    def change(lines: Lines) -> Lines:
        edit(lines[number])
        return lines

    return change


def both(*changes: Change) -> Change:
    def change(lines: Lines) -> Lines:
        for step in changes:
            lines = step(lines)
        return lines

    return change


def put(**values: Any) -> Callable[[Any], object]:
    return lambda line: line.update(values)


def passed(line: Any) -> None:
    """The status alone, as a hand would flip it."""
    line["verdict"]["status"] = "PASS"


def all_passed(line: Any) -> None:
    """The status and every check behind it, but not what was seen."""
    passed(line)
    for check in line["verdict"]["checks"]:
        check["status"] = "passed"
        check.pop("at", None)


def unasked(line: Any) -> None:
    """A record that was asked for less: the check that failed is in none of its places."""
    all_passed(line)
    line["case"]["checks"] = [check for check in line["case"]["checks"] if check[0] == "outcome"]
    line["verdict"]["checks"] = line["verdict"]["checks"][:1]


def moved_over(lines: Lines) -> Lines:
    """The line of a case that passed, in the place of the one that failed."""
    return [*lines[:B], {**lines[A], "index": 1}, *lines[C:]]


def footer_of(count: int) -> Callable[[Any], object]:
    return lambda line: line.update(summary={"passed": count, "total": count})


SHAPES = {
    "the failed case is deleted": without(B),
    "a passed case is deleted": without(A),
    "the failed case is deleted and the footer mended": both(without(B), lambda lines: edited(-1, footer_of(2))(lines)),
    "every case is deleted": without(A, B, C),
    "cases and footer are deleted": without(A, B, C, FOOT),
    "the footer is deleted": without(FOOT),
    "a passed case stands twice": twice(A),
    "the failed case stands twice": twice(B),
    "the failed case is followed by a good one in its place": lambda lines: [
        *lines[:C],
        {**lines[A], "index": 1},
        *lines[C:],
    ],
    "a good line is put in the place of the failed one": moved_over,
    "the failed case is behind the footer": lambda lines: [*lines[:B], *lines[C:], lines[B]],
    "the footer stands twice": twice(FOOT),
    "another footer stands first": both(lambda lines: [*lines[:B], {**lines[FOOT]}, *lines[B:]]),
    "its status is flipped": edited(B, passed),
    "its status is flipped and the footer mended": both(edited(B, passed), edited(FOOT, footer_of(3))),
    "its checks are flipped": edited(B, all_passed),
    "its checks are flipped and the footer mended": both(edited(B, all_passed), edited(FOOT, footer_of(3))),
    "its checks are taken out": both(edited(B, unasked), edited(FOOT, footer_of(3))),
    "its index is that of no case": edited(B, put(index=17)),
    "its repeat is none of the run": both(edited(B, put(repeat=1)), edited(B, all_passed)),
    "the header promises more": edited(HEAD, put(total=5)),
    "the header promises less": edited(HEAD, put(total=2)),
    "the footer says that all passed": edited(FOOT, footer_of(3)),
    "no check is left of its verdict": edited(B, lambda line: line["verdict"].update(status="PASS", checks=[])),
}


def changed(journal: Path, change: Change) -> None:
    lines = change([json.loads(line) for line in journal.read_text().splitlines()])
    journal.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_changed_journal_never_turns_green(carob: Carob, journal: Path, shape: str) -> None:
    changed(journal, SHAPES[shape])
    assert carob("rescore", str(journal), "--results-dir", "again").code != 0
    assert Journal(journal).summary.exit_code() != 0
    assert carob("audit", str(journal)).code != 0


@pytest.mark.parametrize("shape", SHAPES)
def test_resuming_believes_no_changed_verdict(carob: Carob, journal: Path, shape: str) -> None:
    changed(journal, SHAPES[shape])
    ran = carob("run", "--resume", str(journal), "--results-dir", "again")
    assert ran.code == 1, ran.err
    records = {record.case.id: record.status for record in Journal(journal_of("again")).records()}
    assert records == {"A": "PASS", "B": "FAIL", "C": "PASS"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(lambda text: text[: len(text) // 2], "", id="cut-in-the-middle"),
        pytest.param(lambda text: text + '{"kind":"case","ind', "", id="torn-after-the-footer"),
        pytest.param(lambda text: text.replace('"kind":"case"', '"kind":"cas', 1), "cannot be read", id="no-json"),
        pytest.param(lambda text: text.replace('"kind":"case"', '"kind":"note"', 1), "neither a case", id="no-case"),
        pytest.param(lambda text: text.split("\n", 1)[1], "the first line is not a header", id="headless"),
        pytest.param(lambda text: "", "is empty", id="empty"),
    ],
)
def test_a_broken_journal_never_turns_green(
    carob: Carob, journal: Path, text: Callable[[str], str], message: str
) -> None:
    journal.write_text(text(journal.read_text()))
    ran = carob("rescore", str(journal), "--results-dir", "again")
    assert ran.code != 0
    assert message in ran.err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(without(B), "1 line lost", id="lost"),
        pytest.param(twice(B), "1 line doubled", id="doubled"),
        pytest.param(edited(B, put(index=17)), "1 line of cases that the run did not have, 1 line lost", id="strange"),
        pytest.param(twice(FOOT), "lines after the footer", id="after-the-footer"),
        pytest.param(moved_over, "1 record edited ('A')", id="moved"),
    ],
)
def test_what_was_changed_is_told(carob: Carob, journal: Path, change: Change, told: str) -> None:
    changed(journal, change)
    ran = carob("rescore", str(journal), "--results-dir", "again")
    assert f"the journal was changed: {told}" in ran.out


def test_a_flipped_status_is_told_when_a_run_goes_on(carob: Carob, journal: Path) -> None:
    changed(journal, edited(B, passed))
    ran = carob("run", "--resume", str(journal), "--results-dir", "again")
    assert "different from its record, judged again: B" in ran.err


def test_a_whole_journal_gives_the_verdict_that_was_printed(carob: Carob) -> None:
    suite = write("suite.json", eval_set(case("A"), case("B")))
    assert carob("run", suite, "-t", traces(A="Hello.", B="Hello."), "--results-dir", "first").code == 0
    whole = journal_of("first")
    assert Journal(whole).summary == Journal(whole).footer.summary  # type: ignore[union-attr]
    assert carob("rescore", str(whole), "--results-dir", "again").code == 0
    assert carob("run", "--resume", str(whole), "--results-dir", "again").code == 0
