"""Choosing cases by id and by category."""

from __future__ import annotations

import pytest

from carob.errors import ExitCode, NothingSelectedError, UsageError
from carob.suites.selection import Selection, select
from suites.support import case, eval_set, read

SUITE = read(
    eval_set(*[case(id=name, category=kind) for name, kind in (("G1", "git"), ("G2", "git"), ("S1", "slack"))])
)
BARE = read(eval_set(case()))


@pytest.mark.parametrize(
    ("ids", "categories", "expected"),
    [
        pytest.param(None, None, ["G1", "G2", "S1"], id="all"),
        pytest.param(["S1", "G1", "S1"], None, ["G1", "S1"], id="ids-in-suite-order"),
        pytest.param(None, ["git"], ["G1", "G2"], id="category"),
        pytest.param(None, ["slack", "git", "gone"], ["G1", "G2", "S1"], id="categories"),
        pytest.param(["G1", "S1"], ["slack"], ["S1"], id="both"),
    ],
)
def test_selection(ids: list[str] | None, categories: list[str] | None, expected: list[str]) -> None:
    chosen = select(SUITE, Selection(ids, categories))
    assert [c.id for c in chosen.cases] == expected
    assert (chosen.file, chosen.sha256) == (SUITE.file, SUITE.sha256)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        pytest.param(["g1"], "s.json: no case has the id 'g1'. Did you mean 'G1'? [unknown-case]", id="near"),
        pytest.param(["zzz"], "s.json: no case has the id 'zzz'. Ids are 'G1', 'G2', 'S1'. [unknown-case]", id="far"),
        pytest.param(
            ["s1", "G1", "g2\x1b"],
            "s.json: no cases have the ids 's1' and 'g2\\x1b'. Did you mean 'S1'? Did you mean 'G2'? [unknown-case]",
            id="several",
        ),
    ],
)
def test_unknown_ids(ids: list[str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(SUITE, Selection(ids))
    assert str(caught.value) == said
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("ids", "categories", "fix"),
    [
        pytest.param([], None, "Name at least one case.", id="no-ids"),
        pytest.param(None, ["Git"], "Did you mean 'git'?", id="near"),
        pytest.param(None, ["zzz"], "Categories are 'git', 'slack'.", id="far"),
        pytest.param(["S1"], ["git"], "No case has both that id and that category.", id="apart"),
    ],
)
def test_nothing_selected(ids: list[str] | None, categories: list[str] | None, fix: str) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        select(SUITE, Selection(ids, categories))
    assert str(caught.value) == f"s.json: no case is selected. {fix} [nothing-selected]"
    assert caught.value.exit_code == ExitCode.NOTHING_SELECTED


def test_a_suite_without_categories() -> None:
    with pytest.raises(NothingSelectedError, match="have no category"):
        select(BARE, Selection(None, ["git"]))
