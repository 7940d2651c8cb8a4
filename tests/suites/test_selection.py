"""Choosing cases by glob, tag and keyword."""

from __future__ import annotations

import pytest

from carob.errors import NothingSelectedError, UsageError
from carob.suites.selection import Selection, keyword, select
from suites.support import read

NAMES = {"refund-fr": ["smoke", "money"], "refund-de": ["money"], "Greet": ["smoke"], "odd[1]": []}
SUITE = read(
    {
        "carob": 1,
        "cases": [
            {"id": name, "category": "desk", "tags": tags, "prompt": name, "expected": {"must_say_any": ["x"]}}
            for name, tags in NAMES.items()
        ],
    }
)


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        pytest.param(Selection(cases=["refund-*"]), ["refund-fr", "refund-de"], id="glob"),
        pytest.param(Selection(cases=["refund-?e", "Greet"]), ["refund-de", "Greet"], id="glob-and-id"),
        pytest.param(Selection(cases=["odd[1]"]), ["odd[1]"], id="brackets-are-themselves"),
        pytest.param(Selection(tags=["smoke"]), ["refund-fr", "Greet"], id="tag"),
        pytest.param(Selection(tags=["smoke", "money"]), ["refund-fr", "refund-de", "Greet"], id="any-of-the-tags"),
        pytest.param(Selection(cases=["refund-*"], tags=["smoke"]), ["refund-fr"], id="both"),
        pytest.param(Selection(keyword="greet"), ["Greet"], id="keyword-in-any-case"),
        pytest.param(Selection(keyword="refund and not fr"), ["refund-de"], id="keyword"),
        pytest.param(Selection(keyword="smoke"), ["refund-fr", "Greet"], id="keyword-of-a-tag"),
        pytest.param(Selection(categories=["smoke"]), ["refund-fr", "Greet"], id="category-that-is-a-tag"),
        pytest.param(Selection(keyword="desk"), list(NAMES), id="keyword-of-a-category"),
        pytest.param(Selection(keyword=" "), list(NAMES), id="blank-is-all"),
    ],
)
def test_selection(selection: Selection, chosen: list[str]) -> None:
    assert [case.id for case in select(SUITE, selection).cases] == chosen
    assert Selection.of_journal(selection.kept).matcher()(chosen[0], "desk", NAMES[chosen[0]])


@pytest.mark.parametrize(
    "expression",
    ["a or b and c", "(a or b) and c", "not a and not b", "not (a or b)", "not not a", "a-1", "a and (b or not c)"],
)
def test_keywords_bind_as_in_pytest(expression: str) -> None:
    """That is, as Python's own operators do."""
    words = expression.replace("(", " ( ").replace(")", " ) ").split()
    matcher = keyword(expression)
    for name in ("a", "b", "c", "ab", "bc", "ac", "abc", "a-1", "x"):
        spelled = [word if word in ("and", "or", "not", "(", ")") else str(word in name) for word in words]
        assert matcher([name]) is eval(" ".join(spelled)), name


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("a and", "column 6: expected a name, `not` or a left parenthesis, found the end"),
        ("(a", "column 3: expected a right parenthesis, found the end"),
        ("a b", "column 3: expected its end, found 'b'"),
        ("a)", "column 2: expected its end, found ')'"),
        ("or a", "column 1: expected a name, `not` or a left parenthesis, found 'or'"),
        ("a & b", "column 3: expected names with `and`, `or`, `not` and parentheses, found '&'"),
        ("not " * 300 + "a", "expected fewer nested parts"),
    ],
)
def test_expressions_that_cannot_be_read(expression: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        keyword(expression)
    assert said in str(caught.value)
    assert caught.value.slug == "bad-keyword"


@pytest.mark.parametrize(
    ("selection", "fix"),
    [
        (Selection(tags=["Smoke"]), "Did you mean 'smoke'?"),
        (Selection(tags=["zzz"]), "Tags are 'smoke', 'money'."),
        (Selection(cases=["Greet"], tags=["money"]), "No case has both that id and that tag."),
        (Selection(keyword="zzz"), "No case has a name with that keyword; see `carob run --list`."),
    ],
)
def test_nothing_is_selected(selection: Selection, fix: str) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        select(SUITE, selection)
    assert caught.value.fix == fix


def test_a_glob_that_fits_nothing_is_unknown() -> None:
    with pytest.raises(UsageError, match="no case has the id 'refuse-\\*'"):
        select(SUITE, Selection(cases=["refuse-*"]))
