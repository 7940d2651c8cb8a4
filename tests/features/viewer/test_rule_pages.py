"""The page of the rules of a run, and of one rule: what broke it, what left it open, and what did not trigger it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.features.viewer.app import template_of
from carob.features.viewer.pages import run_head
from carob.features.viewer.rule_pages import rules_page
from carob.journal.index import CaseFilter, Index, IndexedRun
from carob.reports.html.run_pages import OfRun

SUITE = {
    "carob": 1,
    "rules": [
        {
            "id": "look-first",
            "why": "Look <b>first</b>.",
            "each": {"call": "pay", "arguments": {"id": {"$as": "id"}}},
            "needs": {"before": {"call": "find", "success": True, "arguments": {"id": {"$same": "id"}}}},
        },
        {"id": "never wire & run", "each": {"call": "wire"}, "at_most": 0},
    ],
    "cases": [{"id": name, "prompt": name} for name in ("sound", "blind", "blind-too", "unordered", "idle")],
}


def agent(prompt: str) -> dict[str, Any]:
    find = {"name": "find", "arguments": {"id": "A"}, "result": {"ok": True}, "message": "1"}
    pay = {"name": "pay", "arguments": {"id": "A"}, "result": {"ok": True}, "message": "2"}
    unordered = [{key: value for key, value in call.items() if key != "message"} for call in (find, pay)]
    calls = {"sound": [find, pay], "unordered": unordered, "idle": []}.get(prompt, [pay])
    return {"final_message": "Done.", "tool_calls": calls}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Index, IndexedRun]]:
    folder = tmp_path_factory.mktemp("rules")
    carob.run(SUITE, agent, results_dir=folder, workers=0)
    index = Index([folder])
    index.refresh()
    yield index, index.runs()[0]
    index.close()


def page_of(run: tuple[Index, IndexedRun], rule: str = "") -> str:
    index, indexed = run
    to = OfRun("../../", indexed.key, CaseFilter())
    template = template_of("rules.html")
    frame = {"home": "../../", "key": indexed.key, "listed": (), "assets": (), "written": ()}
    return template.render(run=run_head(indexed, None), **frame, **rules_page(index, indexed, rule, to))


def test_each_rule_is_counted_over_the_conversations(run: tuple[Index, IndexedRun]) -> None:
    index, indexed = run
    rows = {
        row.id: (*row[1:6], row.share and row.share.words)
        for row in rules_page(index, indexed, "", OfRun("", indexed.key, CaseFilter()))["rows"]
    }
    assert rows == {
        "look-first": (4, 2, 1, 1, 1, "66.7% (95% Clopper-Pearson interval 9.4% to 99.2%)"),
        "never wire & run": (0, 0, 0, 0, 5, None),
    }
    html = page_of(run)
    assert '<a href="?rule=never%20wire%20%26%20run">never wire &amp; run</a>' in html
    assert "not tested" in html


def test_the_page_of_a_rule_lists_its_conversations_by_cause(run: tuple[Index, IndexedRun]) -> None:
    index, indexed = run
    lists = rules_page(index, indexed, "look-first", OfRun("../../", indexed.key, CaseFilter()))
    [broken], [unknown] = lists["broken"], lists["unknown"]
    assert [case.name for case in broken.cases] == ["blind", "blind-too"]
    assert "the order was not seen" in unknown.cause
    assert [case.name for case in lists["held"].cases] == ["sound"]
    assert [case.name for case in lists["untriggered"].cases] == ["idle"]
    html = page_of(run, "look-first")
    assert "Look &lt;b&gt;first&lt;/b&gt;." in html
    assert f'<a href="../../run/{indexed.key}/case/1/0#c1r0-k1">blind</a>' in html


def test_a_rule_that_is_not_there_shows_all(run: tuple[Index, IndexedRun]) -> None:
    assert "<h1>Rules</h1>" in page_of(run, "no-such-rule")


def test_a_run_without_rules_says_what_they_are(tmp_path: Path) -> None:
    carob.run(
        {"carob": 1, "cases": [{"id": "a", "prompt": "a", "expected": {"min_words": 1}}]},
        agent,
        results_dir=tmp_path,
        workers=0,
    )
    index = Index([tmp_path])
    index.refresh()
    assert "This run has no rules." in page_of((index, index.runs()[0]))
    index.close()
