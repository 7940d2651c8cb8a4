"""The page of a stress run, from the file that `carob stress` leaves next to a journal."""

from __future__ import annotations

from pathlib import Path

import pytest

import carob
from carob.features.stress.model import CellResult, CellStatus, StressFinding, StressReport
from carob.features.stress.page import stress_page
from carob.features.stress.report import stress_json
from carob.journal.index import IndexedRun
from carob.model.run import Summary
from features.viewer.page_request import page_of
from reports.runs import HEADER

CELL = CellResult(
    id="refund/pay/lost answer",
    case="refund",
    hits="tool",
    name="pay",
    fault="lost answer",
    about="it ran",
    status=CellStatus.BROKE,
    landed=1,
    findings=(StressFinding("no_effect_twice", "paid <twice>"),),
    index=7,
)
REPORT = StressReport(suite="s.yaml", target="desk", journal="run.jsonl", base="base.jsonl", seed=0, cells=(CELL,))


@pytest.fixture
def run(tmp_path: Path) -> IndexedRun:
    return IndexedRun(key="key", path=str(tmp_path / "run.jsonl"), header=HEADER, summary=Summary())


TEMPLATE = Path(carob.__file__).parent / "features/stress/templates/stress.html"


def test_each_cell_leads_to_its_case(run: IndexedRun) -> None:
    Path(run.path).with_suffix(".stress.json").write_bytes(stress_json(REPORT))
    html = page_of(run, stress_page, TEMPLATE)
    assert '<td class="none"><a href="../../run/key/case/7/0">BROKE</a></td>' in html
    assert "paid &lt;twice&gt;" in html
    assert "broke in 1 of 1 cell" in html


@pytest.mark.parametrize(("data", "words"), [(None, "not a stress run"), ("[]", "run.stress.json cannot be read")])
def test_stress_page_says_why_there_is_nothing_to_show(run: IndexedRun, data: str | None, words: str) -> None:
    if data is not None:
        Path(run.path).with_suffix(".stress.json").write_text(data)
    assert words in page_of(run, stress_page, TEMPLATE)
