"""What of a screenshot lights up for a check: the node or the lines that it points to, and nothing else."""

from __future__ import annotations

import pytest
from msgspec import structs

from carob.model.trace import ElementBox, ScreenMap, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.reports.html.evidence import screen_view

PAGE = '- region "Offer":\n  - heading "Bike"\n  - text: only today\n- text: far below'
ANSWER = "Hello.\nIt costs 49.\nBye."
BOXES = (
    ElementBox("page", 0, 10, 10, 200, 80),
    ElementBox("page", 1, 12, 12, 100, 20),
    *(ElementBox("final_message", line, 5, 300 + 20 * line, 90, 18) for line in range(3)),
)
TRACE = Trace(case_id="a", page=PAGE, final_message=ANSWER, screen=ScreenMap(400, 900, BOXES))


def lit(at: EvidenceLocation | None, trace: Trace = TRACE, turn: int | None = None) -> list[tuple[int, int]]:
    view = screen_view(trace, [CheckResult("ui", "formatting", Status.FAILED, at=at, turn=turn)])
    return [] if view is None else [(light.x, light.y) for light in view.lights]


@pytest.mark.parametrize(
    ("at", "places"),
    [
        pytest.param(
            EvidenceLocation("page", PAGE.index("heading"), PAGE.index("\n  - text")), [(12, 12)], id="a-node"
        ),
        pytest.param(EvidenceLocation("page", PAGE.index("text: only")), [(10, 10)], id="a-text-by-what-it-stands-in"),
        pytest.param(EvidenceLocation("page", PAGE.index("text: far")), [], id="nothing-around"),
        pytest.param(EvidenceLocation("page"), [], id="no-place"),
        pytest.param(EvidenceLocation("final_message", 10, 12), [(5, 320)], id="words"),
        pytest.param(
            EvidenceLocation("final_message", 0, len(ANSWER)), [(5, 300), (5, 320), (5, 340)], id="several-lines"
        ),
        pytest.param(EvidenceLocation("tool_calls", index=0), [], id="a-call"),
        pytest.param(None, [], id="nowhere"),
    ],
)
def test_what_lights_up(at: EvidenceLocation | None, places: list[tuple[int, int]]) -> None:
    assert lit(at) == places


def test_only_the_last_turn_stands_on_the_picture() -> None:
    talk = structs.replace(TRACE, turns=(Trace(case_id="a"), structs.replace(TRACE, screen=None)))
    at = EvidenceLocation("final_message", 10, 12)
    assert [lit(at, talk, turn) for turn in (None, 1, 2)] == [[(5, 320)], [], [(5, 320)]]


@pytest.mark.parametrize("box", [(900, 10, 5, 5), (10, 10, 0, 5), (10, 2000, 5, 5)])
def test_what_is_not_on_the_picture_is_not_drawn(box: tuple[int, int, int, int]) -> None:
    screen = ScreenMap(400, 900, (ElementBox("page", 0, *box),))
    assert lit(EvidenceLocation("page", 2), structs.replace(TRACE, screen=screen)) == []
    assert lit(EvidenceLocation("page", 2), structs.replace(TRACE, screen=None)) == []
