"""The JSON of an answer: all of it, or the one fenced block that is JSON."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import jiter

from carob.text.regexes import lazy

_FENCE = lazy.pattern(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)


class JsonAnswer(NamedTuple):
    """A JSON value, or why there is none."""

    value: object
    why_not: str = ""


@lru_cache(maxsize=8)
def json_answer(text: str) -> JsonAnswer:
    """The value that an answer is, or that its one block of JSON holds."""
    answer = _value(text)
    if not answer.why_not:
        return answer
    blocks = [block for match in _FENCE.finditer(text) if not (block := _value(match[2])).why_not]
    if len(blocks) == 1:
        return blocks[0]
    return JsonAnswer(None, f"{len(blocks)} blocks of JSON" if blocks else f"no JSON: {answer.why_not}")


def _value(text: str) -> JsonAnswer:
    try:
        return JsonAnswer(jiter.from_json(text.encode(), allow_inf_nan=False, catch_duplicate_keys=True))
    except (ValueError, UnicodeEncodeError) as error:
        return JsonAnswer(None, str(error))
