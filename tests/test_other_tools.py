"""What other tools can say, and how Carob says it: each row of that page with a right and a wrong answer."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import carob

DOCS = Path(__file__).parents[1] / "docs"
WRITTEN = runpy.run_path(str(DOCS / "other_tools.py"))
TABLE = WRITTEN["table"]()
ROWS = [(name, row) for name, tool in TABLE["tools"].items() for row in tool["rows"]]
POLITE = """\
def polite(trace, words: list[str]):
    \"\"\"The answer holds one of these words.\"\"\"
    return any(word in trace.final_message.lower() for word in words), trace.final_message


polite.group = "tone"
polite.examples = [(["please"], "Please.", True), (["please"], "No.", False)]
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], carob.CaseRecord]:
    """How each way was judged with its right and with its wrong answer, as an agent gives them."""
    folder = tmp_path_factory.mktemp("other-tools")
    (folder / "checks.py").write_text(POLITE)
    (folder / "carob.toml").write_text('[checks]\npolite = "python:checks.py:polite"\n')
    cases = [{"id": name, "prompt": name, "expected": way["expected"]} for name, way in TABLE["ways"].items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        runs = {kind: carob.run({"carob": 1, "cases": cases}, _agent(kind)) for kind in ("right", "wrong")}
    found = {(kind, record.case.id): record for kind, run in runs.items() for record in run}
    return lambda kind, way: found[kind, way]


def _agent(kind: str) -> Callable[[str], Any]:
    def answer(prompt: str) -> Any:
        given = TABLE["ways"][prompt][kind]
        return msgspec.convert({"case_id": prompt, **given}, carob.Trace) if "spans" in given else given

    return answer


def test_the_page_is_current() -> None:
    assert (DOCS / "other-tools.md").read_text() == WRITTEN["page"](), "run `python docs/other_tools.py`"


@pytest.mark.parametrize(("tool", "row"), ROWS, ids=[f"{tool}-{row['says'][0]}" for tool, row in ROWS])
def test_each_row_tells_right_from_wrong_or_says_why_not(
    judged: Callable[[str, str], carob.CaseRecord], tool: str, row: dict[str, str]
) -> None:
    if "absent" in row:
        assert "way" not in row
        return
    right, wrong = judged("right", row["way"]), judged("wrong", row["way"])
    assert right.status is carob.CaseStatus.PASS, right.verdict
    assert wrong.status is carob.CaseStatus.FAIL, wrong.verdict
    asked = {field.partition(".")[0] for field in TABLE["ways"][row["way"]]["expected"]}
    failed = {check.name for check in wrong.verdict.checks if check.status is carob.Status.FAILED}
    assert failed & asked, f"the wrong answer fails by {failed}, not by {asked}"


def test_every_way_is_of_some_row() -> None:
    assert {row["way"] for _, row in ROWS if "way" in row} == TABLE["ways"].keys()
