from __future__ import annotations

import io
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from karat.model.run import CaseRecord, Summary
from karat.model.trace import Trace, TraceError
from karat.model.verdict import CaseStatus
from karat.reports.terminal import CaseLines, show, show_cases, show_summary, wants_colour, width

from .runs import MemoryRun, every_status, interrupted, passing, record, tried_again


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(*records: CaseRecord, id_width: int = 0, category_width: int = 0) -> str:
    out = io.StringIO()
    lines = CaseLines(out, id_width=id_width, category_width=category_width)
    for case in records:
        lines(case)
    return out.getvalue()


def summed_up(run: MemoryRun, *artifacts: Path) -> str:
    out = io.StringIO()
    show_summary(run, artifacts, out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        pytest.param(Terminal(), {}, True, id="terminal"),
        pytest.param(Terminal(), {"NO_COLOR": "1"}, False, id="no-color"),
        pytest.param(Terminal(), {"NO_COLOR": ""}, True, id="empty-no-color"),
        pytest.param(Terminal(), {"TERM": "dumb"}, False, id="dumb"),
        pytest.param(io.StringIO(), {}, False, id="pipe"),
    ],
)
def test_colour(stream: io.StringIO, environ: dict[str, str], wanted: bool) -> None:
    assert wants_colour(stream, environ) is wanted


def test_a_passing_case_is_one_aligned_line() -> None:
    records = (record("G1", CaseStatus.PASS), record("宽字", CaseStatus.PASS), record("long-id", CaseStatus.PASS))
    lines = shown(*records, id_width=7, category_width=8).splitlines()
    assert lines[0] == "PASS     G1       github    0.42s"
    assert {width(line) for line in lines} == {width(lines[0])}


def test_a_name_takes_no_more_room_than_the_widest() -> None:
    failing = record("a", CaseStatus.FAIL, category="", reason="a check failed")
    run = MemoryRun((failing,), Summary(failed=1, total=1))
    out = io.StringIO()
    show_cases(run, out)
    assert out.getvalue() == shown(failing, id_width=1) == "FAIL     a  0.42s\n         a check failed\n"


@pytest.mark.parametrize(
    ("detail", "lines"),
    [
        pytest.param("", [], id="none"),
        pytest.param("loading\nno such file: \x1b[1mx", ["loading", r"no such file: \x1b[1mx"], id="a-log"),
    ],
)
def test_what_a_broken_agent_left_behind_stands_under_the_reason(detail: str, lines: list[str]) -> None:
    trace = Trace(case_id="E", error=TraceError("agent", "exit code 3", detail))
    broken = record("E", CaseStatus.ERROR, category="", reason="agent: exit code 3", trace=trace)
    assert shown(broken).splitlines() == [
        "ERROR    E  0.42s",
        "         agent: exit code 3",
        *(f"           {line}" for line in lines),
    ]


@pytest.mark.parametrize(("errors", "more"), [(0, ""), (1, "  after 1 error"), (2, "  after 2 errors")])
def test_a_case_that_was_tried_again_says_so(errors: int, more: str) -> None:
    run = tried_again(*[TraceError("agent", "429")] * errors)
    assert shown(*run.records()) == f"PASS     G1  github  0.42s{more}\n"


def test_no_control_character_of_an_agent_reaches_the_terminal() -> None:
    text = shown(*every_status().records()) + summed_up(interrupted(), Path("a\x1b[2J"))
    assert {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} == {"\n"}


def test_every_check_that_did_not_pass_is_shown() -> None:
    failing = every_status().cases[1]
    text = shown(failing)
    for spec, result in zip(failing.case.checks, failing.verdict.checks, strict=True):
        assert (f" {spec.path} (" in text) == (result.status.value != "passed"), spec.path


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        pytest.param(Summary(passed=3, total=3), "3 passed in 3.4s", id="green"),
        pytest.param(
            Summary(passed=12, failed=1, partial=2, error=1, total=16, avg_soft_score=0.87314),
            "12 passed, 1 failed, 2 partial, 1 error in 3.4s, avg soft score 0.8731",
            id="mixed",
        ),
        pytest.param(Summary(error=2, total=2), "0 passed, 2 errors in 3.4s", id="errors"),
        pytest.param(Summary(), "0 passed in 3.4s", id="nothing"),
    ],
)
def test_summary_line(summary: Summary, line: str) -> None:
    assert summed_up(MemoryRun((), summary)) == f"{line}\n"


@pytest.mark.parametrize("finished_at", ["", "soon", "2026-11-15T18:30:14"], ids=["none", "no-time", "no-zone"])
def test_a_run_of_unknown_length_has_a_summary(finished_at: str) -> None:
    assert summed_up(MemoryRun((), Summary(passed=1, total=1), finished_at=finished_at)) == "1 passed\n"


def test_an_interrupted_run_is_incomplete() -> None:
    assert summed_up(interrupted()).startswith("INCOMPLETE: 1 of 6 cases finished (stopped by")


def test_artifacts_are_named() -> None:
    assert summed_up(passing(), Path("r/a.json"), Path("r/a.md")).splitlines()[1:] == ["  r/a.json", "  r/a.md"]


def test_an_encoding_that_lacks_a_character_gets_an_escape() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    show(out, "宽…\n")
    out.flush()
    assert raw.getvalue() == b"\\u5bbd\\u2026\n"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("宽字", 4), ("e\u0301", 1), ("ｈ", 2), ("", 0)])
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


def test_plain_reports_do_not_load_rich() -> None:
    code = "import sys, karat.reports.catalog, karat.reports.terminal; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
