"""What the page of a case is made of: numbers of calls, long texts, what was not observed, the lines of its suite."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from msgspec import structs

from carob.evidence.merge import merge_turns
from carob.model.run import CaseRecord
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CaseStatus, EvidenceLocation, Group, Status
from carob.reports.html.calls import LONGEST, TextRoom, text_view
from carob.reports.html.case_view import CaseSetting, CaseView, case_view
from carob.reports.html.pages import fragment, record_json
from carob.reports.html.report import InFile
from carob.reports.suite_lines import SuiteLines
from carob.scoring.verdicts import judge_case
from carob.suites.reading import read_suite
from catalogs import CATALOG
from reports.runs import HEADER, check, record

SUITE = """\
carob: 1
defaults:
  expected: { must_not_say: [as an AI] }
cases:
  - id: one
    prompt: Hi
    expected:
      must_say_any: [ok]
      tool_calls:
        - tool: book
          arguments: { day: Mon }
# a comment

      tool_calls_none: [drop]
  - id: two
    prompt: Ho
    expected: { must_say_any: [ok] }
"""


def seen(case_record: CaseRecord, lines: SuiteLines | None = None) -> CaseView:
    return case_view(case_record, CaseSetting(HEADER, CATALOG, None, lines), lambda name: None)


def html_of(view: CaseView) -> str:
    return str(fragment("case", "case_parts.html")(view, InFile(), ()))


def judged(suite: str, traces: list[Trace], file: str = "suite.yaml") -> list[CaseRecord]:
    cases = read_suite(suite.encode(), file, CATALOG).cases
    return [
        CaseRecord(index=at, case=case, trace=trace, verdict=judge_case(case, trace, CATALOG))
        for at, (case, trace) in enumerate(zip(cases, traces, strict=False))
    ]


def talk(*calls: tuple[str, ...]) -> Trace:
    """A conversation whose turns call these tools, each with its place as an argument."""
    turns = [
        Trace(
            case_id="t",
            final_message="Done.",
            tool_calls=tuple(ToolCall(name, {"n": at}, success=True) for at, name in enumerate(names)),
        )
        for names in calls
    ]
    return merge_turns(turns)


WANTED = "tool_calls: [{ tool: book, arguments: { n: 7 } }]"
OF_TURN = f"carob: 1\ncases: [{{ id: t, turns: [{{ prompt: a }}, {{ prompt: b, expected: {{ {WANTED} }} }}] }}]"
OF_ALL = f"carob: 1\ncases: [{{ id: t, turns: [{{ prompt: a }}, {{ prompt: b }}], expected: {{ {WANTED} }} }}]"


@pytest.mark.parametrize(
    ("suite", "words"), [(OF_TURN, "call 2 of turn 2"), (OF_ALL, "call 4")], ids=["of-its-turn", "of-all"]
)
def test_a_check_names_the_call_that_the_page_numbers(suite: str, words: str) -> None:
    """Two calls, then two: the fourth is the one that comes nearest, and a check of its turn calls it the second."""
    (judged_record,) = judged(suite, [talk(("find", "find"), ("find", "book"))])
    view = seen(judged_record)
    failed = view.broken[0]
    assert f'nearest is <a href="#c0r0-call4">{words}</a>, book' in failed.found
    assert [(call.number, call.of_turn) for call in view.calls] == [
        (1, ""), (2, ""), (3, "call 1 of turn 2"), (4, "call 2 of turn 2"),
    ]  # fmt: skip
    fourth = view.calls[3]
    assert (fourth.call.name, fourth.status, fourth.checks) == ("book", "failed", str(failed.number))
    assert failed.evidence == f"c0r0-e{failed.number}"


@pytest.mark.parametrize(
    ("found", "number"),
    [
        ("nearest is call 2, book (success)", 2),
        ("call 1, book (success), without find before it", 1),
        ("nearest is call 3, book (success)", None),
        ("nearest is call 0, book", None),
        ("book (success) with {'note': 'call 1 of them'}", None),
        ("2 such calls: call 1", None),
    ],
)
def test_only_the_words_of_a_check_name_a_call(found: str, number: int | None) -> None:
    trace = Trace(case_id="a", tool_calls=(ToolCall("find"), ToolCall("book")))
    row = check("tool_calls[0]", Group.TOOL_HYGIENE, Status.FAILED, found=found)
    view = seen(record("a", CaseStatus.FAIL, [row], trace=trace))
    links = re.findall(r'href="#c0r0-call(\d+)"', view.broken[0].found)
    assert links == ([] if number is None else [str(number)])
    says = check("must_say_any", Group.FORMATTING, Status.FAILED, found=found)
    assert "href" not in seen(record("a", CaseStatus.FAIL, [says], trace=trace)).broken[0].found


def test_each_reason_why_something_was_not_observed_is_given_once() -> None:
    why = {"tools": "no log", "tool_results": "no log"}
    turns = [Trace(case_id="a", unobserved=why), Trace(case_id="a", unobserved={**why, "page": "no page"})]
    rows = [check(f"tool_calls_any[{n}]", Group.TOOL_HYGIENE, Status.UNKNOWN, found="no log") for n in range(3)]
    view = seen(record("a", CaseStatus.PARTIAL, rows, trace=merge_turns(turns)))
    assert [(unobserved.what, unobserved.why) for unobserved in view.unobserved] == [
        ("tools, tool results", "no log"),
        ("page in turn 2", "no page"),
    ]
    html = html_of(view)
    assert html.count("no log") == 1
    assert html.count(">Not observed<") == 1


def test_long_texts_are_folded_and_bounded() -> None:
    room = TextRoom(LONGEST + 2_000)
    assert text_view("short", room).peek == ""
    assert text_view({"a": [1, "b"]}, room).html == '{"a": [1, "b"]}'
    assert text_view(None, room) is None
    whole, cut = text_view("x" * (LONGEST + 1_000), room), text_view("<" * (LONGEST + 1_000), room)
    assert (whole.size, whole.cut, len(whole.html)) == ("7,000 characters", False, 7_000)
    assert (cut.size, cut.cut) == ("6,000 of 7,000 characters", True)
    assert cut.html == "&lt;" * (LONGEST - 1) + "…"
    assert len(whole.peek) < 300


@pytest.mark.parametrize(
    ("started", "after"), [(99.0, ["+1.0 s", "+3.5 s"]), (None, ["+0 ms", "+2.5 s"]), (5.0, ["+0 ms", "+2.5 s"])]
)
def test_times_of_calls_are_from_the_start_of_their_turn(started: float | None, after: list[str]) -> None:
    """A start that is further away than the turn took is of another clock."""
    calls = tuple(ToolCall("f", started_at=at, ended_at=at + 1) for at in (100.0, 102.5))
    trace = Trace(case_id="a", tool_calls=calls, started_at=started, duration_ms=5_000.0)
    assert [call.after for call in seen(record("a", CaseStatus.PASS, trace=trace)).calls] == after


def test_the_raw_record_is_whole_and_inert() -> None:
    case_record = record("a\u202e", CaseStatus.PASS, trace=Trace(case_id="a", final_message="\x1b\ud800\u2066 <b>"))
    text = record_json(case_record).decode()
    assert json.loads(text)["trace"]["final_message"] == "\x1b\ufffd\u2066 <b>"
    assert not set("\x1b\u202e\u2066") & set(text)


def suite_file(folder: Path, text: str, name: str = "suite.yaml") -> SuiteLines:
    (folder / name).write_text(text)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return SuiteLines(structs.replace(HEADER, suite=str(folder / name), suite_sha256=sha256), CATALOG)


def asked(view: CaseView) -> list[tuple[int | None, str]]:
    lines = [*view.expectations.lines, *view.expectations.others]
    return [(line.number, f"{check.label} {check.result.status}") for line in lines for check in line.checks]


def test_the_lines_of_the_suite_carry_the_verdicts(tmp_path: Path) -> None:
    trace = Trace(case_id="one", final_message="ok, as an AI", tool_calls=(ToolCall("book", {"day": "Tue"}),))
    first, two = judged(SUITE, [trace, structs.replace(trace, case_id="two")])
    view = seen(first, suite_file(tmp_path, SUITE))
    assert [line.number for line in view.expectations.lines] == list(range(5, 15))
    assert asked(view) == [
        (8, "must_say_any passed"),
        (10, "tool_calls[0] failed"),
        (14, "tool_calls_none[0] passed"),
        (None, "outcome passed"),
        (None, "must_not_say[0] failed"),
    ]
    assert "as an AI" in view.expectations.others[1].html
    assert [line.number for line in seen(two, suite_file(tmp_path, SUITE)).expectations.lines] == [15, 16, 17]


def test_json_has_lines_too(tmp_path: Path) -> None:
    cases = [{"id": "one", "prompt": "Hi", "expected": {"must_say_any": ["ok"]}}]
    text = '{"carob": 1, "cases": [' + json.dumps(cases[0], indent=1) + "]}"
    (case_record,) = judged(text, [Trace(case_id="one", final_message="ok", tool_calls=())], "suite.json")
    view = seen(case_record, suite_file(tmp_path, text, "suite.json"))
    assert asked(view) == [(5, "must_say_any passed"), (None, "outcome passed")]
    assert [line.number for line in view.expectations.lines] == list(range(1, 10))


@pytest.mark.parametrize("change", ["other", "gone", "one-line"])
def test_another_file_is_not_shown(tmp_path: Path, change: str) -> None:
    (case_record, _) = judged(
        SUITE, [Trace(case_id=name, final_message="ok", tool_calls=()) for name in ("one", "two")]
    )
    lines = suite_file(tmp_path, SUITE)
    if change == "gone":
        (tmp_path / "suite.yaml").unlink()
    elif change == "other":
        (tmp_path / "suite.yaml").write_text(SUITE.replace("Mon", "Tue"))
    else:
        lines = suite_file(tmp_path, json.dumps({"carob": 1, "cases": [{"id": "one", "prompt": "x" * 3000,
                                                 "expected": {"must_say_any": ["ok"]}}]}), "s.json")  # fmt: skip
    view = seen(case_record, lines)
    assert view.expectations.file == ""
    assert [number for number, _ in asked(view)] == [None] * 5
    assert 'tool_calls[0]: {"tool": "book", "arguments": {"day": "Mon"}}' in [
        line.html.replace("&quot;", '"') for line in view.expectations.others
    ]


def test_evidence_of_a_message_and_a_call_is_where_they_are() -> None:
    rows = [
        check("x_call", Group.TOOL_HYGIENE, Status.FAILED, at=EvidenceLocation("tool_calls", index=2)),
        check("x_none", Group.TOOL_HYGIENE, Status.FAILED, at=EvidenceLocation("tool_calls", index=9)),
    ]
    view = seen(record("a", CaseStatus.FAIL, rows, trace=talk(("f", "g"), ("h",))))
    assert [call.checks for call in view.calls] == ["", "", "0"]
    assert [one.evidence for one in view.broken] == ["c0r0-e0", ""]
