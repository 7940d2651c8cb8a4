from __future__ import annotations

import io
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from carob.model.run import CaseRecord, Summary
from carob.model.trace import ToolCall, Trace, TraceError
from carob.model.verdict import CaseStatus, Group, Status
from carob.terminal.ending import MOST, next_steps, show_details, show_summary
from carob.terminal.screen import CaseLines, Screen, Verbosity, show, wants_colour, width, wrap
from reports.runs import MemoryRun, check, every_status, interrupted, passing, record, tried_again
from reports.statuses import in_every_way

ROW = check("must_say_any", Group.FORMATTING, Status.FAILED, expected="'x'")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(*records: CaseRecord, id_width: int = 0, category_width: int = 0) -> str:
    out = io.StringIO()
    lines = CaseLines(Screen(out), id_width=id_width, category_width=category_width)
    for case in records:
        lines(case)
    return out.getvalue()


def detailed(*records: CaseRecord, verbosity: Verbosity = Verbosity.NORMAL) -> str:
    out = io.StringIO()
    show_details(records, Screen(out, verbosity))
    return out.getvalue()


def summed_up(run: MemoryRun, *artifacts: Path) -> str:
    out = io.StringIO()
    show_summary(run, artifacts, Screen(out))
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
    assert shown(failing) == shown(failing, id_width=1) == "FAIL     a  0.42s\n"
    assert detailed(failing) == (
        "\nFAIL     a  0.42s\n         a check failed\n"
        "         asked     What happened?\n         answered  12 commits.\n"
    )


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
    assert detailed(broken).splitlines()[1:] == [
        "ERROR    E  0.42s",
        "         agent: exit code 3",
        *(f"         | {line}" for line in lines),
        "         asked     What happened?",
    ]


@pytest.mark.parametrize(("errors", "more"), [(0, ""), (1, "  after 1 error"), (2, "  after 2 errors")])
def test_a_case_that_was_tried_again_says_so(errors: int, more: str) -> None:
    run = tried_again(*[TraceError("agent", "429")] * errors)
    assert shown(*run.records()) == f"PASS     G1  github  0.42s{more}\n"


def test_no_control_character_of_an_agent_reaches_the_terminal() -> None:
    cases = every_status().cases
    text = shown(*cases) + detailed(*cases) + summed_up(interrupted(), Path("a\x1b[2J"))
    assert {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} == {"\n"}


def test_every_check_that_did_not_pass_is_shown() -> None:
    failing = every_status().cases[1]
    text = detailed(failing)
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
    assert summed_up(MemoryRun((), summary)).splitlines()[0] == line


@pytest.mark.parametrize("finished_at", ["", "soon", "2026-11-15T18:30:14"], ids=["none", "no-time", "no-zone"])
def test_a_run_of_unknown_length_has_a_summary(finished_at: str) -> None:
    assert summed_up(MemoryRun((), Summary(passed=1, total=1), finished_at=finished_at)).startswith("1 passed\n")


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


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("宽字", 4), ("e\u0301", 1), ("ｈ", 2), ("", 0), ("a\u200bb", 2), ("👩\u200d💻", 2), ("❤\ufe0f", 2)],
)
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


def test_plain_reports_do_not_load_rich() -> None:
    code = "import sys, carob.reports.catalog, carob.terminal.screen; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("verbosity", "heads"),
    [
        pytest.param(Verbosity.QUIET, ["FAIL", "PARTIAL", "ERROR"], id="quiet"),
        pytest.param(Verbosity.NORMAL, ["FAIL", "PARTIAL", "ERROR"], id="normal"),
        pytest.param(Verbosity.WHOLE, ["PASS", "FAIL", "PARTIAL", "ERROR", "SKIP", "XFAIL"], id="whole"),
    ],
)
def test_what_needs_no_explanation_has_none(tmp_path: Path, verbosity: Verbosity, heads: list[str]) -> None:
    lines = detailed(*in_every_way(tmp_path).cases, verbosity=verbosity).splitlines()
    assert [line.split()[0] for line in lines if line[:1].strip()] == heads
    assert ("" in lines) is (verbosity is not Verbosity.QUIET)


def test_who_is_quiet_has_one_line_for_each() -> None:
    failing = record("a", CaseStatus.FAIL, [ROW], reason="a check failed")
    assert detailed(failing, verbosity=Verbosity.QUIET) == "FAIL     a  a check failed; must_say_any: expected 'x'\n"


def test_a_case_that_was_skipped_says_why_in_its_line() -> None:
    skipped = record("a", CaseStatus.SKIP, category="", reason="no agent\nyet")
    assert shown(skipped) == "SKIP     a  0.42s  no agent\\nyet\n"


def test_long_answers_and_many_failures_are_cut_unless_all_is_asked_for() -> None:
    said = "\n\n".join(f"line {number} {'x' * 400}" for number in range(20))
    calls = tuple(ToolCall(f"tool{number}", {"text": "y" * 500}) for number in range(20))
    failing = record("a", CaseStatus.FAIL, trace=Trace(case_id="a", input="?", final_message=said, tool_calls=calls))
    text = detailed(*[failing] * (MOST + 2))
    assert text.endswith("\nand 2 cases more that did not pass; -v shows all of them\n")
    assert max(map(len, text.splitlines())) < 400
    assert (text.count("line "), text.count("tool")) == (MOST * 6, MOST * 12)
    assert "and 8 more" in text
    whole = detailed(failing, verbosity=Verbosity.WHOLE)
    assert (whole.count("line "), whole.count("tool"), "…" in whole) == (20, 20, False)
    assert detailed(*[failing] * (MOST + 2), verbosity=Verbosity.VERBOSE).count("FAIL") == MOST + 2


@pytest.mark.parametrize(
    ("summary", "steps"),
    [
        pytest.param(Summary(passed=1, total=1), [], id="green"),
        pytest.param(Summary(failed=1), ["carob run --failed 'a b/s.jsonl'", "carob view 'a b'"], id="failed"),
        pytest.param(
            Summary(failed=1, partial=1),
            ["carob run --failed 'a b/s.jsonl' --status fail,partial", "carob view 'a b'"],
            id="partial",
        ),
        pytest.param(
            Summary(failed=1, incomplete="stopped"),
            ["carob run --resume 'a b/s.jsonl'", "carob view 'a b'"],
            id="incomplete",
        ),
    ],
)
def test_commands_to_go_on_with(summary: Summary, steps: list[str]) -> None:
    run = MemoryRun((), summary, path="a b/s.jsonl")
    assert [command for _, command in next_steps(run)] == steps


NARROW = [
    pytest.param("short", 20, "short", id="fits"),
    pytest.param("one two three four", 10, "one two\nthree four", id="at-words"),
    pytest.param(
        "    expected  alpha beta gamma", 24, "    expected  alpha beta\n            gamma", id="under-its-text"
    ),
    pytest.param("  " + "x" * 30 + " y", 20, "  " + "x" * 30 + "\n  y", id="a-long-word-stays-whole"),
    pytest.param("\x1b[1mone two\x1b[0m three", 13, "\x1b[1mone two\x1b[0m three", id="colours-take-no-room"),
    pytest.param(
        "  look at them  carob view some/folder", 20, "  look at them  carob view some/folder", id="a-command"
    ),
    pytest.param("宽宽 宽宽 宽宽", 10, "宽宽 宽宽\n宽宽", id="wide-letters"),
]


@pytest.mark.parametrize(("line", "columns", "shown"), NARROW)
def test_narrow_terminals_break_at_words(line: str, columns: int, shown: str) -> None:
    assert wrap(line, columns) == shown


def test_quiet_lines_keep_what_was_found() -> None:
    out = io.StringIO()
    show_details(every_status().records(), Screen(out, Verbosity.QUIET))
    assert re.search(r"^FAIL .*: expected .*, found .", out.getvalue(), re.MULTILINE)
