"""The renderings of an audit of a grader, to the letter, and with harmful text. CAROB_UPDATE_GOLDEN=1 writes them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from carob.features.audit.model import Rate
from carob.features.graders.model import (
    AcceptedMutant,
    Bias,
    ClaimFigures,
    FormFigures,
    GraderAudit,
    GraderFault,
    OperatorFigures,
    TraceFigures,
    UnauditedTrace,
)
from carob.features.graders.report import grader_html, grader_json, grader_markdown, grader_sections
from carob.features.graders.terminal import grader_lines
from carob.model.trace import ToolCall, Trace
from carob.reports.sections import TERMINAL_ROWS
from carob.scoring.intervals import Estimate
from reports.runs import HOSTILE

GOLDEN = Path(__file__).parent / "golden"


def accepted(text: str, doubt: str = "") -> AcceptedMutant:
    calls = (ToolCall(text, arguments={"a": text}, success=True),)
    trace = Trace(case_id=text, input=text, final_message=text, tool_calls=calls)
    return AcceptedMutant(
        id="3f2a01bc9d7e", trace_id=text, operator="tool-doubled", change=text, doubt=doubt, seen=text, trace=trace
    )


def build(text: str = "refund") -> GraderAudit:
    caught = Rate(3, 4, 0.3, 0.95)
    return GraderAudit(
        grader=f"python:{text}",
        sources=(text,),
        seed=7,
        audited=4,
        unaudited=1,
        operators=(
            OperatorFigures(
                name="tool-doubled", about=text, claim="calls", caught=caught, uncertain=2, uncertain_refused=1,
                reviewed=1, unmoved=1,
            ),
            OperatorFigures(name="tool-moved", about=text, claim="calls", caught=Rate(0, 0, 0, 1), uncertain=1),
        ),
        claims=(
            ClaimFigures(name="calls", about=text, caught=3, tried=4, share=Estimate(0.75, 0.299, 0.95), bound=0.3),
            ClaimFigures(name="answer", about=text, caught=0, tried=0, share=Estimate(0, 0, 1)),
        ),
        idle=(FormFigures("idle: does nothing", 4, 1, text),),
        forms=(FormFigures("letter-case", 4, 2, text), FormFigures("white-space", 4, 0)),
        biases=(Bias(name="ignores-answer", says="it does not look at the answer", evidence=text),),
        asked_again=8,
        flipped=1,
        gives_scores=True,
        calls=40,
        kept=2,
        seconds=0.5,
        cost_usd=0.25,
        faults=1,
        has_gate=True,
        unknown_reviews=1,
        traces=(TraceFigures(text, 4, {"tool-doubled": 1}), TraceFigures("fine", 3, {})),
        accepted=(accepted(text), accepted(text, "another order may do as well")),
        fault_examples=(GraderFault(trace_id=text, asked=text, kind="raised", error=text, printed=text),),
        unaudited_examples=(UnauditedTrace(text, text),),
    )  # fmt: skip


REPORTS = {
    "full": build(),
    "harmful": build(HOSTILE),
    "nothing": GraderAudit(grader="command:./judge", sources=("a.jsonl",), seed=0, has_gate=True),
}
RENDERED = {
    "json": grader_json,
    "md": grader_markdown,
    "txt": lambda audit: "".join(f"{line}\n" for line in grader_lines(audit)).encode(),
    "ansi": lambda audit: "".join(f"{line}\n" for line in grader_lines(audit, colour=True)).encode(),
}


@pytest.mark.parametrize("kind", RENDERED)
@pytest.mark.parametrize("name", REPORTS)
def test_golden(name: str, kind: str) -> None:
    data = RENDERED[kind](REPORTS[name])
    place = GOLDEN / f"{name}.{kind}"
    if os.environ.get("CAROB_UPDATE_GOLDEN"):
        place.write_bytes(data)
    assert data == place.read_bytes()


def test_every_row_is_in_every_medium() -> None:
    audit = REPORTS["full"]
    page = grader_html(audit).decode()
    lines = "\n".join(grader_lines(audit))
    markdown = grader_markdown(audit).decode()
    sections = grader_sections(audit)
    assert len(sections) == 10
    for section in sections:
        assert f"<h2>{section.title}</h2>" in page
        assert f"\n{section.title}\n" in lines
        assert f"\n## {section.title}\n" in markdown
    assert page.count("<tr data-row>") == sum(len(section.rows) for section in sections)
    assert 'value="0.75"' in page
    assert "claims about calls: 0.29 at the lowest, 0.3 asked for" in page  # cut, not rounded


def test_text_of_others_is_inert() -> None:
    audit = REPORTS["harmful"]
    page = grader_html(audit).decode()
    assert "<script" not in page
    assert not re.search(r"<(?:a|img|b|i)\s+(?:href|src)=", page)
    text = "\n".join(grader_lines(audit))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]", text)
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(grader_markdown(audit).decode())
    assert not re.search(r"<(?:script|a|img)\b", rendered)


def test_json_is_read_back() -> None:
    audit = REPORTS["full"]
    assert msgspec.json.decode(grader_json(audit), type=GraderAudit) == audit


def test_a_long_table_is_cut_and_says_so() -> None:
    operators = tuple(
        OperatorFigures(name=f"operator-{n:03}", about="x", claim="calls", caught=Rate(0, 1, 0, 1))
        for n in range(TERMINAL_ROWS + 9)
    )
    lines = [*grader_lines(GraderAudit(grader="g", sources=(), seed=0, audited=1, operators=operators))]
    assert "  9 more: see the reports" in lines
    assert not any(f"operator-{TERMINAL_ROWS:03}" in line for line in lines)
