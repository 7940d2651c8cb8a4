"""The page of a stress run, from the file that `carob stress` leaves next to a journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.features.stress.model import CellResult, CellStatus, StressFinding, StressReport
from carob.features.stress.report import stress_json
from carob.features.viewer.app import TEMPLATES
from carob.features.viewer.pages import run_head, stress_page
from carob.journal.index import IndexedRun
from carob.model.run import Summary
from carob.reports.html.pages import environment
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


def page_of(run: IndexedRun) -> str:
    template = environment(TEMPLATES).get_template("stress.html")
    return template.render(home="../../", key=run.key, run=run_head(run, None), **stress_page(run, "../../"))


def test_each_cell_leads_to_its_case(run: IndexedRun) -> None:
    Path(run.path).with_suffix(".stress.json").write_bytes(stress_json(REPORT))
    html = page_of(run)
    assert '<td class="none"><a href="../../run/key/case/7/0">BROKE</a></td>' in html
    assert "paid &lt;twice&gt;" in html
    assert "broke in 1 of 1 cell" in html


@pytest.mark.parametrize(("data", "words"), [(None, "not a stress run"), ("[]", "run.stress.json cannot be read")])
def test_stress_page_says_why_there_is_nothing_to_show(run: IndexedRun, data: str | None, words: str) -> None:
    if data is not None:
        Path(run.path).with_suffix(".stress.json").write_text(data)
    assert words in page_of(run)
