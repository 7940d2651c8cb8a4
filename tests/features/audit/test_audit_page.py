"""The page of an audit, from the file that `carob audit` leaves next to a journal."""

from __future__ import annotations

from pathlib import Path

import pytest

import carob
from carob.features.audit.page import audit_page
from carob.journal.index import IndexedRun
from carob.model.run import Summary
from features.audit.test_audit_reports import FAULTY, as_json, summary
from features.viewer.page_request import page_of
from reports.runs import HEADER


@pytest.fixture
def run(tmp_path: Path) -> IndexedRun:
    return IndexedRun(key="key", path=str(tmp_path / "run.jsonl"), header=HEADER, summary=Summary())


TEMPLATE = Path(carob.__file__).parent / "features/audit/templates/audit.html"


def test_audit_page_shows_what_nothing_notices(run: IndexedRun) -> None:
    Path(run.path).with_suffix(".audit.json").write_text(as_json(FAULTY, summary(FAULTY)), encoding="utf-8")
    html = page_of(run, audit_page, TEMPLATE)
    assert "Not proved: the kill rate 0.23 is under 0.9; 2 controls pass" in html
    assert '<td class="some">1/2</td>' in html
    assert "answer: Slack: [44] mentions" in html  # a survivor with its evidence
    assert "a claim stood amid the answer</b><p>must_match_regex</p>" in html  # unseen
    assert "a match of /a b/" in html  # brittle
    assert "3 caught by 3 of 4 checks" in html


@pytest.mark.parametrize(
    ("data", "words"), [(None, "has not been audited yet"), ("[]", "run.audit.json cannot be read")]
)
def test_audit_page_says_why_there_is_nothing_to_show(run: IndexedRun, data: str | None, words: str) -> None:
    if data is not None:
        Path(run.path).with_suffix(".audit.json").write_text(data)
    assert words in page_of(run, audit_page, TEMPLATE)
