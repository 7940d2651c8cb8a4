"""Where the value of an argument came from: the prompt, an earlier result, the clock, or nowhere that was seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from carob.model.trace import Trace
from carob.text.free_text import UNSPACED, is_free_text
from carob.text.numbers.claimed import numbers_in
from carob.text.tool_results import parse_result

PROMPT, CLOCK, ID = "prompt", "clock", "id"
SEVERAL = "result of several"
"""Where the parts of a value come from, if each was seen and not all in one place."""
MOST_SCALARS = 2000
DAYS = 400
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,}|\d{12,}|[A-Za-z]+[-_][0-9a-f]{8,}",
    re.IGNORECASE,
)
_RUNS = re.compile(r"(?P<digits>\d+)|(?P<upper>[A-Z]+)|(?P<lower>[a-z]+)|(?P<other>.)", re.DOTALL)
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_BLANKS = re.compile(r"\s+")


def scalars(value: object, path: str = "$") -> Iterator[tuple[str, object]]:
    """The plain values in a result, each with its path; entries of a list share one."""
    if isinstance(value, dict):
        for key, below in value.items():
            step = f".{key}" if re.fullmatch(r"[A-Za-z_]\w*", str(key)) else f"[{str(key)!r}]"
            yield from scalars(below, f"{path}{step}")
    elif isinstance(value, list | tuple):
        for below in value:
            yield from scalars(below, f"{path}[*]")
    elif value is not None:
        yield path, value


def is_stable(value: object) -> bool:
    """Whether a value may be the same tomorrow: not wording, a time or an id."""
    return not is_free_text(value) and not (isinstance(value, str) and (_DATE.fullmatch(value) or _ID.fullmatch(value)))


def shape_of(value: str) -> str:
    """A regex for texts that look the same, such as `^[A-Z]+-\\d+$`; nothing for one that says little."""
    if is_free_text(value) or not value or value.isalpha() or not value.isascii():
        return ""
    names = {"digits": r"\d+", "upper": "[A-Z]+", "lower": "[a-z]+"}
    parts = (names.get(run.lastgroup or "") or _SPECIAL.sub(r"\\\g<0>", run[0]) for run in _RUNS.finditer(value))
    return f"^{''.join(parts)}$"


def folded(text: str) -> str:
    return _BLANKS.sub(" ", text.casefold()).strip()


class Origins:
    """What one trace shows of where values come from, call after call."""

    def __init__(self, trace: Trace, user_text: str) -> None:
        self._prompt = folded(user_text)
        self._numbers: set[object] | None = None
        self._text = user_text
        self._results: list[tuple[str, set[object]]] = []
        self._now = trace.started_at

    def add_result(self, tool: str, result: object) -> None:
        """Let later arguments come from this result."""
        if result is None:
            return
        values: set[object] = set()
        for _, value in scalars(parse_result(result)):
            if len(values) >= MOST_SCALARS:
                break
            values.add(_comparable(value))
        self._results.append((tool, values))

    def of(self, value: object) -> str:
        """`prompt`, the tool whose result held it, `clock`, `id`, or nothing; of a list, that of its parts."""
        if isinstance(value, list | dict) and value:
            each = {self.of(part) for part in (value.values() if isinstance(value, dict) else value)}
            return each.pop() if len(each) == 1 else "" if "" in each else SEVERAL
        if isinstance(value, bool | dict | list) or value is None or value == "":
            return ""
        if self.in_prompt(value):
            return PROMPT
        plain = _comparable(value)
        for tool, values in reversed(self._results):
            if plain in values:
                return f"result of {tool}"
        if isinstance(value, str):
            if self._is_of_the_clock(value):
                return CLOCK
            if _ID.fullmatch(value):
                return ID
        return ""

    def in_prompt(self, value: object) -> bool:
        if isinstance(value, int | float):
            if self._numbers is None:
                self._numbers = {float(number) for number in numbers_in(self._text)}
                self._numbers |= {float(run) for run in re.findall(r"\d{1,15}", self._text)}
            return float(value) in self._numbers
        text = folded(str(value))
        at = self._prompt.find(text)
        while text and at >= 0:
            end = at + len(text)
            before, after = self._prompt[at - 1 : at], self._prompt[end : end + 1]
            if not _is_one_word(before, text[0], text) and not _is_one_word(after, text[-1], text):
                return True
            at = self._prompt.find(text, at + 1)
        return False

    def _is_of_the_clock(self, value: str) -> bool:
        date = _DATE.fullmatch(value)
        if date is None or self._now is None:
            return False
        try:
            day = datetime(int(date[1]), int(date[2]), int(date[3]), tzinfo=UTC)
        except ValueError:
            return False
        return abs(day.timestamp() - self._now) < DAYS * 86400


def _is_one_word(around: str, edge: str, text: str) -> bool:
    """Whether the letter around a text belongs to the same word. Of a script without spaces, one letter may."""
    if not (around.isalnum() and edge.isalnum()):
        return False
    return len(text) == 1 or not (UNSPACED.match(around) or UNSPACED.match(edge))


def _comparable(value: object) -> object:
    if isinstance(value, bool):
        return ("bool", value)
    return float(value) if isinstance(value, int | float) else folded(str(value))
