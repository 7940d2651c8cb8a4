"""Text that is made to keep a parser busy, or to make much of little, is judged in time and expands nothing."""

from __future__ import annotations

import pytest

from carob.checks.answer.syntax import AnswerSyntax
from carob.checks.sample_traces import says
from carob.model.verdict import Status

MANY = 100_000
HOSTILE = {
    "ends of nothing": "<a>" * MANY + "</b>" * MANY,
    "quotes": "<a '" * MANY,
    "comments": "<!-- " * MANY,
    "fences": "```x\n" * MANY,
    "entities": f'<!DOCTYPE a [<!ENTITY e "{"x" * 1000}"><!ENTITY f "{"&e;" * 1000}">]><a>&f;</a>',
    "brackets": f"select {'(' * 5000}",
}


@pytest.mark.limit(60)
@pytest.mark.parametrize("language", ["xml", "html", "sql"])
@pytest.mark.parametrize("part", [True, False], ids=["part", "whole"])
def test_hostile_text_is_judged_in_time(language: str, part: bool) -> None:
    for text in HOSTILE.values():
        result = AnswerSyntax(language=language, part=part).judge(says(text))
        assert result.status in (Status.PASSED, Status.FAILED, Status.UNKNOWN)
        assert len(result.found) < 1000
