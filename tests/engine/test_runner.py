"""After a long run one at a time: what running cases side by side would have saved."""

from __future__ import annotations

import pytest

import carob
from carob.engine import runner
from carob.engine.runner import total_duration

SUITE = {
    "version": "0.3",
    "cases": [{"id": f"c{i}", "prompt": "?", "expected": {"must_say_any": ["fine"]}} for i in range(8)],
}


def fine(prompt: str) -> str:
    return "fine"


@pytest.mark.parametrize(
    ("seconds", "lanes", "taken"),
    [
        pytest.param([], 4, 0, id="nothing"),
        pytest.param([3, 3, 3, 3], 4, 3, id="even"),
        pytest.param([1, 1, 1, 1, 1], 4, 2, id="one-too-many"),
        pytest.param([10, 1, 1, 1], 4, 10, id="one-long-case"),
    ],
)
def test_how_long_cases_last(seconds: list[float], lanes: int, taken: float) -> None:
    assert total_duration(seconds, lanes) == taken


def said(monkeypatch: pytest.MonkeyPatch, long: float, worth: float, **options: object) -> list[str]:
    monkeypatch.setattr(runner, "LONG", long)
    monkeypatch.setattr(runner, "WORTH", worth)
    heard: list[carob.Event] = []
    carob.run(SUITE, fine, listeners=[heard.append], **options)  # type: ignore[arg-type]
    return [event.message for event in heard if isinstance(event, carob.Notice)]


@pytest.mark.parametrize(
    ("long", "worth", "options", "told"),
    [
        pytest.param(0, 1, {}, True, id="long"),
        pytest.param(1e9, 1, {}, False, id="short"),
        pytest.param(0, -1, {}, False, id="nothing-saved"),
        pytest.param(0, 1, {"concurrency": 2}, False, id="side-by-side"),
        pytest.param(0, 1, {"rate": "9999/s"}, False, id="held-back-by-a-rate"),
    ],
)
def test_it_is_told_after_a_long_run_that_nothing_held_back(
    monkeypatch: pytest.MonkeyPatch, long: float, worth: float, options: dict[str, object], told: bool
) -> None:
    found = said(monkeypatch, long, worth, **options)
    assert [line.startswith("running one case at a time took ") for line in found] == [True] * told
    assert all("--concurrency 4 would take about" in line for line in found)
