"""What a stress run comes to: nothing tried and nothing reached prove nothing."""

from __future__ import annotations

from typing import Any

import pytest

from carob.errors import ExitCode
from carob.features.stress.model import CellResult, CellStatus, StressReport
from carob.features.stress.report import stress_verdict


def report(*statuses: CellStatus, **more: Any) -> StressReport:
    cells = tuple(
        CellResult(id="a1", case="a", about="it fails", hits="tool", name="get", fault="error", status=status)
        for status in statuses
    )
    return StressReport(suite="s", target="t", journal="j", base="b", seed=1, cells=cells, **more)


@pytest.mark.parametrize(
    ("found", "code", "words"),
    [
        (report(), ExitCode.NOTHING_SELECTED, "nothing was tried"),
        (report(CellStatus.BROKE, incomplete="interrupted"), ExitCode.INTERRUPTED, "broke in 1 of 1 cell"),
        (report(CellStatus.BROKE), ExitCode.FAILED, "broke in 1 of 1 cell"),
        (report(CellStatus.NOT_REACHED), ExitCode.FAILED, "not proved: no fault was reached"),
    ],
)
def test_what_the_cells_come_to(found: StressReport, code: ExitCode, words: str) -> None:
    assert found.exit_code == code
    assert words in stress_verdict(found)
