"""A hundred labels by keyboard in the page and in the terminal, and two hundred kills between them: none is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing import browser, opened
from carob.criteria.decide import LabelReader
from carob.criteria.files import read_files
from carob.features.labels.session import LabelSession
from carob.features.labels.terminal import ask_all
from carob.features.viewer import library
from carob.plugins.project import find_project
from features.labels.test_page import LabelledDesk
from features.viewer.runs import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
CASES = 50
TERMINAL_KILLS, PAGE_KILLS = 160, 40


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabelledDesk:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return LabelledDesk(tmp_path, CASES)


@pytest.mark.thorough
def test_a_hundred_labels_by_keyboard(desk: LabelledDesk, browser: Browser) -> None:
    with serving(desk.journal, "ana") as address, opened(browser, address) as seen:
        keys = ["y", *("mnt"[number % 3] for number in range(2 * CASES))]
        for key in keys:
            with seen.page.expect_navigation():
                seen.page.keyboard.press(key)
        assert "Nothing is left for ana" in seen.page.inner_text("#done")
    assert [line.verdict for line in desk.lines()] == [
        ("met", "not met", "cannot tell")[number % 3] for number in range(2 * CASES)
    ]
    assert len({line.pair for line in desk.lines()}) == 2 * CASES


@contextmanager
def _child(work: Callable[[int], None]) -> Iterator[tuple[int, int]]:
    """A process that does this, and what it reports; it is killed at the end."""
    out, report = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            work(report)
        finally:
            os._exit(0)
    os.close(report)
    try:
        yield child, out
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(out)


@pytest.mark.thorough
def test_kills_of_the_terminal_lose_no_label(desk: LabelledDesk) -> None:
    draw, known, kills = random.Random(2), 0, 0

    def work(report: int) -> None:
        session = LabelSession(desk.items, LabelReader(find_project(desk.folder)), "ana")

        def key() -> str:
            os.write(report, b"x")  # what was labelled before is on disk
            time.sleep(0.004)
            return "m"

        ask_all(session, key)

    while kills < TERMINAL_KILLS:
        with _child(work):
            time.sleep(draw.random() * 0.03)
            kills += 1
        found = len(read_files(desk.labels).labels)
        assert found >= known
        known = found
    ask_all(LabelSession(desk.items, LabelReader(find_project(desk.folder)), "ana"), lambda: "m")
    lines = desk.lines()
    assert len(lines) == len({line.pair for line in lines}) == 2 * CASES


@pytest.mark.thorough
def test_kills_of_the_viewer_lose_no_label(desk: LabelledDesk) -> None:
    draw, acknowledged, items = random.Random(3), set(), list(desk.items)

    def work(report: int) -> None:
        viewer = library.open_viewer(desk.journal, label="ana")
        os.write(report, viewer.address.encode() + b"\n")
        viewer.run()

    for _ in range(PAGE_KILLS):
        with _child(work) as (child, out):
            desk.address = os.read(out, 1000).decode().strip()
            deadline = time.monotonic() + draw.random() * 0.4
            while time.monotonic() < deadline:
                pair = draw.choice(items)
                label = {"act": "label", "criterion": pair.criterion, "evidence": pair.evidence, "verdict": "met"}
                assert desk.post({"act": "keep", "run": desk.key, "verdict": "evidence"})[0] == 200
                if desk.post({"run": desk.key, **label})[0] == 200:
                    acknowledged.add(pair)
            os.kill(child, signal.SIGSTOP)
        found = {line.pair for line in read_files(desk.labels).labels}
        assert acknowledged <= found
    assert len(acknowledged) > CASES // 2
