"""One percentage, one cost and one count of a run, read back from every page, report, terminal and file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from html import unescape
from pathlib import Path
from urllib.request import urlopen

import pytest

import carob
from carob.cli.main import run
from features.viewer.runs import serving

SUITE = """
carob: 1
cases:
  - id: "row-{n}"
    prompt: "row {n}"
    each: [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]
    expected: { must_say_any: [ok] }
  - { id: fails, prompt: fails, expected: { must_say_any: [ok] } }
  - { id: breaks, prompt: breaks, expected: { must_say_any: [ok] } }
  - { id: later, prompt: later, skip: not yet, expected: { must_say_any: [ok] } }
  - { id: known, prompt: fails, xfail: known bug, expected: { must_say_any: [ok] } }
"""
AGENT = """
def answer(prompt):
    if prompt == "breaks":
        raise RuntimeError("down")
    tokens = {"input": 1000, "output": 100}
    cost = {"metadata": {"cost_usd": 0.25}} if prompt == "row 1" else {}
    return {"final_message": "no" if prompt == "fails" else "ok", "tokens": tokens, **cost}
"""
CONFIG = "[prices]\ninput = 10\noutput = 50\n"
COST = "$0.3250 for 6 of 7 runs"
"""0.25 reported, five runs of 1,000 tokens at $10 and 100 at $50 a million; the one that broke said nothing."""
RATE = "66.7%, 4 of 6 cases passed"
"""Skipped cases and known failures do not count; the one that broke is not a pass."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of one run, by who says it."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.chdir(folder)
        for name, text in (("suite.yaml", SUITE), ("agent.py", AGENT), ("carob.toml", CONFIG)):
            Path(name).write_text(text)
        return dict(_said())


def _said() -> Iterator[tuple[str, str]]:
    reports = [word for name in ("junit", "github-summary", "html") for word in ("--report", name)]
    yield "terminal", _line("run", "suite.yaml", "-t", "python:agent:answer", "--workers", "0", *reports)
    for path in Path("carob-results").iterdir():
        if path.suffix != ".jsonl":
            yield path.name.partition("Z")[2] or path.name, path.read_text()
    (journal,) = map(str, Path("carob-results").glob("*.jsonl"))
    yield "rescore", _line("rescore", journal, "--results-dir", "again")
    for form in ("terminal", "json", "markdown", "html"):
        yield f"compare {form}", _line("compare", journal, journal, "--format", form)
    yield "history", _line("compare", "--history", "carob-results")
    _line("compare", "--save", journal)
    yield "baseline", _line("compare", "--show", "suite.yaml")
    yield "library", json.dumps(carob.compare_runs(journal, journal).new.figures)
    yield from _pages()


def _line(*arguments: str) -> str:
    out = Path("out.txt")
    with out.open("w") as file, redirect_stdout(file):
        run(list(arguments))
    return out.read_text()


def _pages() -> Iterator[tuple[str, str]]:
    def read(address: str) -> str:
        return str(urlopen(address, timeout=20).read().decode())

    with serving(Path("carob-results")) as address:
        runs, root = read(address), address.removesuffix("/")
        key = re.findall(r"/run/([0-9a-f]+)", runs)[0]
        yield "page of runs", runs
        yield "page of a run", read(f"{root}/run/{key}")
        yield "page of a comparison", read(f"{root}/compare?base={key}&new={key}")
        grid = read(f"{root}/run/{key}/grid")
        assert set(re.findall(r"<b>([\d.]+%)</b>", grid)) == {RATE.partition(",")[0]}


def test_every_one_gives_the_same_rate_and_count(said: dict[str, str]) -> None:
    assert len(said) >= 15, sorted(said)
    for who, text in said.items():
        figures = set(re.findall(r"\d+(?:\.\d)?%, \d+ of \d+ cases? passed", unescape(text)))
        assert figures == {RATE}, who


def test_every_one_that_gives_a_cost_gives_the_same(said: dict[str, str]) -> None:
    for who, text in said.items():
        # Those of cases are called that, or are among their facts.
        of_cases = r"cost per case: .*? now|most expensive: .*|<dt>Cost of this case</dt><dd>[^<]*"
        text = re.sub(of_cases, "", text)
        figures = set(re.findall(r"\$\d[\d.]*(?: for \d+ of \d+ runs)?", unescape(text)))
        assert figures == {COST}, who


def test_a_number_for_machines_is_that_for_people(said: dict[str, str]) -> None:
    figures = next(json.loads(text)["summary"]["figures"] for name, text in said.items() if name == ".json")
    assert (figures["pass_rate"], figures["judged"], figures["clusters"]) == (0.6667, 6, 3)
    assert (figures["cost_usd"], figures["tokens"]) == (0.325, {"input": 6000, "output": 600})
