"""The renderings of an audit, to the letter, and with text that means harm. CAROB_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from carob.features.audit.model import (
    AuditSummary,
    Brittle,
    CaseAudit,
    Kill,
    OperatorAudit,
    Rate,
    Remedy,
    Survivor,
    UnauditedCase,
    UndetectableMutant,
    UnratedOperator,
)
from carob.features.audit.operators.catalog import OPERATORS
from carob.features.audit.report import MARKS, AuditJson, AuditMarkdown, read_audit
from carob.features.audit.terminal import AuditLines
from carob.reports.sections import MARKDOWN_ROWS, TERMINAL_ROWS
from reports.runs import HOSTILE, Kept

GOLDEN = Path(__file__).parent / "golden"
MIN_KILL = 0.9

Entry = CaseAudit | UnauditedCase


def survivor(change: str = "41 became 44", operator: str = "number-changed") -> Survivor:
    hint = 'nothing in SYN2 looks at numbers: add must_ground_numbers: ["41"]'
    return Survivor(operator, change, "answer: Slack: [44] mentions", "must_ground_numbers", hint)


def one(case_id: str, killed: int, tried: int, **more: object) -> CaseAudit:
    cells = {"tool-dropped": (killed, tried)} if tried else {}
    return CaseAudit(case_id=case_id, rate=Rate(killed, tried, 0.25, 0.75), operators=cells, **more)  # type: ignore[arg-type]


FAULTY: tuple[Entry, ...] = (
    CaseAudit(
        case_id="SYN1",
        rate=Rate(3, 3, 0.4385, 1.0),
        operators={"tool-dropped": (1, 1), "number-changed": (2, 2)},
        redundant=("outcome", "must_say_any"),
        kills=(
            Kill("tool-dropped", "find was not called", ("tools_used",), ("tools_used",)),
            Kill("number-changed", "41 became 44", ("must_say_any", "must_match_regex[0]")),
            Kill("number-changed", "7 became 9", ("must_match_regex[0]",), ("must_match_regex[0]",)),
        ),
        checks=("outcome", "tools_used", "must_say_any", "must_match_regex[0]"),
    ),
    CaseAudit(
        case_id="SYN2",
        rate=Rate(1, 14, 0.0127, 0.3147),
        operators={"number-changed": (1, 2), "answer-cut": (0, 12)},
        survivors=(survivor(), *(survivor(f"cut {n}", "answer-cut") for n in range(12))),
        controls=("repeats the prompt", "answers as in SYN1"),
        brittle=(Brittle("white-space", "must_match_regex[0]", "a match of /a b/", r"write \s+ for a blank"),),
        redundant=tuple(f"reason_contains[{n}]" for n in range(9)),
        partial=1,
        undecided=2,
        apart={"claim-slipped-in": (0, 1), "answer-quoted": (1, 1)},
        unseen=(UndetectableMutant("claim-slipped-in", "a claim stood amid the answer", "must_match_regex"),),
    ),
    UnauditedCase("SYN3", "FAIL", "hard-fail group formatting"),
    UnauditedCase("SYN4", "PARTIAL", ""),
)
SOUND: tuple[Entry, ...] = (FAULTY[0],)
HARMFUL: tuple[Entry, ...] = (
    one(
        HOSTILE,
        1,
        2,
        survivors=(Survivor(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
        controls=(f"answers as in {HOSTILE}",),
        brittle=(Brittle(HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
        redundant=(HOSTILE,),
        kills=(Kill(HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,)),),
        checks=(HOSTILE,),
        apart={HOSTILE: (0, 1)},
        unseen=(UndetectableMutant(HOSTILE, HOSTILE, HOSTILE),),
    ),
    UnauditedCase(HOSTILE, "FAIL", HOSTILE),
)
AUDITS = {"faulty": FAULTY, "sound": SOUND, "nothing": (FAULTY[2],), "harmful": HARMFUL}


def summary(entries: Iterable[Entry], suite: str = "evals/synthesis.json") -> AuditSummary:
    cases = [entry for entry in entries if isinstance(entry, CaseAudit)]
    killed, tried = sum(c.rate.killed for c in cases), sum(c.rate.tried for c in cases)
    names = dict.fromkeys(name for c in cases for name in c.operators)
    rates = [(name, [c.operators[name] for c in cases if name in c.operators]) for name in names]
    return AuditSummary(
        journal="carob-results/synthesis-20261115T183011Z.jsonl",
        suite=suite,
        target="canvas",
        seed=7,
        audited=len(cases),
        set_aside=sum(isinstance(entry, UnauditedCase) for entry in entries),
        rate=Rate(killed, tried, 0.1234, 0.9876),
        operators=tuple(
            OperatorAudit(name, f"about {name}", Rate(sum(k for k, _ in cells), sum(t for _, t in cells), 0.1, 0.9))
            for name, cells in rates
        ),
        remedies=(Remedy("must_ground_numbers", tried - killed, 1),) if tried > killed else (),
        apart=apart(cases),
        blind=sum(bool(c.unseen) for c in cases),
        survivors=tried - killed,
        controls=sum(len(c.controls) for c in cases),
        brittle=sum(len(c.brittle) for c in cases),
        redundant=sum(len(c.redundant) for c in cases),
        partial=sum(c.partial for c in cases),
        undecided=sum(c.undecided for c in cases),
    )


def apart(cases: Iterable[CaseAudit]) -> tuple[UnratedOperator, ...]:
    figures = [(name, unseen_count, tried) for case in cases for name, (unseen_count, tried) in case.apart.items()]
    return tuple(
        UnratedOperator(name, f"about {name}", tried, tried - unseen_count, f"help of {name}")
        for name, unseen_count, tried in figures
    )


def as_json(entries: tuple[Entry, ...], figures: AuditSummary) -> str:
    out = Kept()
    report = AuditJson(out, MIN_KILL)
    for entry in entries:
        report.case(entry)
    report.end(figures)
    return out.data.decode()


def as_markdown(entries: tuple[Entry, ...], figures: AuditSummary) -> str:
    out = Kept()
    report = AuditMarkdown(out, MIN_KILL)
    for entry in entries:
        report.case(entry)
    report.end(figures)
    return out.data.decode()


def as_text(entries: tuple[Entry, ...], figures: AuditSummary, *, colour: bool = False) -> str:
    out = io.StringIO(newline="")
    report = AuditLines(out, MIN_KILL, colour=colour)
    for entry in entries:
        report.case(entry)
    report.end(figures, [Path("carob-results/synthesis-20261115T183011Z.audit.json")])
    return out.getvalue()


RENDERED = {
    "json": as_json,
    "md": as_markdown,
    "txt": as_text,
    "ansi": lambda entries, figures: as_text(entries, figures, colour=True),
}


@pytest.mark.parametrize("kind", RENDERED)
@pytest.mark.parametrize("name", AUDITS)
def test_golden(name: str, kind: str) -> None:
    entries = AUDITS[name]
    text = RENDERED[kind](entries, summary(entries))
    place = GOLDEN / f"{name}.{kind}"
    if os.environ.get("CAROB_UPDATE_GOLDEN"):
        place.write_text(text, encoding="utf-8", newline="")
    with place.open(encoding="utf-8", newline="") as file:
        assert text == file.read()


def test_json_can_be_read() -> None:
    read = json.loads(as_json(FAULTY, summary(FAULTY)))
    assert [(row["id"], row["audited"]) for row in read["cases"]] == [
        ("SYN1", True), ("SYN2", True), ("SYN3", False), ("SYN4", False),
    ]  # fmt: skip
    assert read["cases"][1]["operators"]["number-changed"] == {"killed": 1, "tried": 2}
    assert read["cases"][1]["rate"]["value"] == 0.0714
    assert read["verdict"] == {
        "min_kill": 0.9,
        "met": False,
        "unmet": ["the kill rate 0.23 is under 0.9", "2 controls pass"],
    }


@pytest.mark.parametrize("name", ["faulty", "sound", "nothing"])
def test_json_is_read_back_as_the_audit_that_was_written(name: str) -> None:
    entries = AUDITS[name]
    written_audit = read_audit(as_json(entries, summary(entries)).encode())
    assert (*written_audit.report.cases, *written_audit.report.set_aside) == entries
    assert written_audit.report.summary == summary(entries)
    assert written_audit.verdict.unmet == summary(entries).unmet(MIN_KILL)


@pytest.mark.parametrize("data", [b"[]", b'{"cases": [{"id": "A"}]}', as_json(SOUND, summary(SOUND))[:-9].encode()])
def test_what_is_not_an_audit_is_not_read_as_one(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_audit(data)


@pytest.mark.parametrize("colour", [False, True])
def test_foreign_text_steers_no_terminal(colour: bool) -> None:
    text = as_text(HARMFUL, summary(HARMFUL, HOSTILE), colour=colour)
    for paint in ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"):
        text = text.replace(paint, "") if colour else text
    assert all(char.isprintable() or char == "\n" for char in text)


def test_foreign_text_is_no_markup() -> None:
    page = as_markdown(HARMFUL, summary(HARMFUL, HOSTILE))
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(page)
    assert not any(tag in html for tag in ("<script", "<a ", "<img", "<em>", "<del>", "<blockquote>", "<hr"))
    assert html.count("<table>") == page.count("\n|---")
    assert all(row.count("<td") in (2, 3, 5, 6) or "<th" in row for row in html.split("<tr>")[1:])


@pytest.mark.parametrize(
    ("killed", "tried", "shown", "met"),
    [
        pytest.param(9, 10, "0.90", True, id="met"),
        pytest.param(899, 1000, "0.89", False, id="just-under-is-not-rounded-up"),
        pytest.param(1, 1, "1.00", True, id="all"),
        pytest.param(0, 3, "0.00", False, id="none"),
    ],
)
def test_a_rate_under_its_bound_never_looks_as_if_it_met_it(killed: int, tried: int, shown: str, met: bool) -> None:
    figures = summary([one("A", killed, tried)])
    assert (f"Kill rate {shown}:" in as_text((), figures), figures.unmet(MIN_KILL) == ()) == (True, met)
    assert figures.exit_code(MIN_KILL) == (0 if met else 1)


@pytest.mark.parametrize(
    ("report", "most"),
    [
        pytest.param(as_text, TERMINAL_ROWS, id="terminal"),
        pytest.param(as_markdown, MARKDOWN_ROWS, id="markdown"),
    ],
)
def test_of_many_cases_those_with_survivors_are_shown(report: object, most: int) -> None:
    many = tuple(
        one(f"case-{n}", 1, 2, survivors=(survivor(),)) if n % 2 else one(f"case-{n}", 2, 2)
        for n in range(2 * most + 2)
    )
    text = report(many, summary(many))  # type: ignore[operator]
    assert "case-0 " not in text
    assert "case-1 " in text or "case-1\n" in text
    assert f"{len(many) - most} more: see" in text
    assert f"{most + 1 - shown_survivors(text)} more: see" in text


def shown_survivors(text: str) -> int:
    return text.count("41 became 44")


def test_a_report_of_any_size_keeps_no_more_than_it_shows() -> None:
    report = AuditMarkdown(Kept(), MIN_KILL)
    kills = {"kills": (Kill("o", "c", ("y",), ("y",)),), "checks": ("y",)}
    for n in range(3 * MARKDOWN_ROWS):
        report.case(one(f"case-{n}", 1, 2, survivors=(survivor(),), controls=("x",), redundant=("y",), **kills))
        report.case(UnauditedCase(f"aside-{n}", "FAIL", ""))
    rows = vars(report._rows)
    sizes = [len(value) for value in (*rows.values(), *rows["_texts"].values()) if isinstance(value, list)]
    assert sorted(sizes)[-1] == MARKDOWN_ROWS
    assert len(sizes) == 9


def test_there_is_a_letter_for_every_operator() -> None:
    assert len(OPERATORS) <= len(MARKS)
