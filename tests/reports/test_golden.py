"""Each report of one run that has everything, to the letter. CAROB_UPDATE_GOLDEN=1 writes the files anew."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from carob.plugins.project import Project
from carob.reports.catalog import BUILT_IN, find
from carob.reports.writing import write_into
from carob.terminal.ending import show_details, show_repeated, show_summary
from carob.terminal.screen import Screen

from .runs import HUGE, Kept, every_status, interrupted, interrupted_repeats, repeated

GOLDEN = Path(__file__).parent / "golden"
RUNS = {"everything": every_status, "interrupted": interrupted, "repeated": repeated, "partly": interrupted_repeats}


def agrees_with(name: str, text: str) -> bool:
    """Whether the golden file says the same; a text of 1 MiB stands in it as a mark."""
    text = text.replace(HUGE, "<1 MiB>")
    place = GOLDEN / name
    if os.environ.get("CAROB_UPDATE_GOLDEN"):
        place.write_text(text, encoding="utf-8", newline="")
    with place.open(encoding="utf-8", newline="") as file:
        assert text == file.read()
    return True


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "html"])  # browsers look at that one
@pytest.mark.parametrize("run", RUNS)
def test_file(run: str, name: str) -> None:
    out, report = Kept(), find(name, Project())
    write_into([RUNS[run]()], report, out)
    assert agrees_with(f"{run}.{report.extension}", out.data.decode())


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "coloured"])
@pytest.mark.parametrize("run", RUNS)
def test_terminal(run: str, colour: bool) -> None:
    view = RUNS[run]()
    out = io.StringIO(newline="")
    screen = Screen(out, colour=colour)
    (show_repeated if view.header.repeat > 1 else show_details)(view.records(), screen)
    show_summary(view, [Path("carob-results/minimum-eval-results-20261115T183011Z.json")], screen)
    assert agrees_with(f"{run}.{'ansi' if colour else 'txt'}", out.getvalue())
