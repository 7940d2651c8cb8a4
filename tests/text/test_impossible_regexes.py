"""Regexes that no text can match are known as such, and no other one is taken for one."""

from __future__ import annotations

import re
import time
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import carob
from carob.errors import SuiteError
from carob.text.regexes.impossible import matches_nothing

LINES = Path(__file__).with_name("regexes.txt").read_text().removesuffix("\n").split("\n")
"""Each says whether some text matches, and the regex."""


@pytest.mark.parametrize("line", LINES)
def test_what_no_text_matches_is_known(line: str) -> None:
    said, pattern = line.split(" text matches  ")
    assert matches_nothing(pattern) is (said == "no")


ATOMS = ["a", "b", "\\n", ".", "^", "$", "\\b", "\\B", "\\A", "\\Z", "\\w", "\\W", "[^a]", "[ab]", "\\s", "(?!)"]
regexes = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{0}", "{1,4}"])),
        st.builds("({}{})".format, st.sampled_from(["?=", "?!", "?>"]), inner),
        st.builds("({}{})".format, st.sampled_from(["?<=", "?<!"]), st.sampled_from(["a", "\\n", "[^a]", "\\w"])),
    ),
    max_leaves=8,
)
TEXTS = ["".join(text) for size in range(5) for text in product("ab\n .", repeat=size)]


@given(regexes)
@settings(max_examples=600, deadline=None)
def test_what_is_taken_for_impossible_matches_no_short_text(pattern: str) -> None:
    if matches_nothing(pattern):
        compiled = re.compile(pattern.replace("(?>", "(?:"), re.I | re.M)
        assert not [text for text in TEXTS if compiled.search(text)]


@pytest.mark.parametrize("pattern", ["(?:" * 90 + "a^" + ")" * 90, "(?:(?:a|b){9}^)*" * 90, "(a|^b|$c|[^d]){99}" * 60])
def test_it_takes_no_time(pattern: str) -> None:
    started = time.process_time()
    matches_nothing(pattern)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("pattern", ["(?!)", "a^"])
def test_a_prohibition_that_nothing_can_break_is_an_error(pattern: str) -> None:
    def suite(**expected: object) -> dict[str, object]:
        return {"carob": 1, "cases": [{"id": "a", "prompt": "p", "expected": expected}]}

    with pytest.raises(SuiteError, match="matches no text, so nothing can fail it"):
        carob.load_suite(suite(must_not_match_regex=[pattern]))
    with pytest.raises(SuiteError, match="matches no text, so nothing can fail it"):
        carob.load_suite(suite(commands=[{"run": pattern, "never": True}]))
    assert carob.load_suite(suite(must_match_regex=[pattern]))  # it fails, and so is no false green
