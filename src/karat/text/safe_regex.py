"""Regexes of suites on texts of agents: neither can keep a check busy for long.

Patterns are those of the `regex` module in its version 0 mode, which reads what `re` reads; case is ignored and `^` `$`
match at every line. A call gets half a second of this thread's CPU and a second and a half of wall time.
"""

import time
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Final, TypeVar

import regex

from karat.text.folding import lines, original_span_of_lines
from karat.text.offsets import Span
from karat.text.pattern_syntax import BadPattern, rewritten

__all__ = [
    "BadPattern",
    "Pattern",
    "RegexTimeout",
    "compile_pattern",
    "count",
    "matched",
    "matches_empty",
    "search",
    "spans",
]

Pattern = regex.Pattern[str]
_Result = TypeVar("_Result")

_FLAGS: Final = regex.IGNORECASE | regex.MULTILINE | regex.VERSION0
_CPU_BUDGET: Final = 0.5
_WALL_BUDGET: Final = 1.5
# The first slice is short: only after it is known how much wall time a second of CPU takes on this machine now.
_FIRST_SLICE: Final = 0.02
_SHORTEST_SLICE: Final = 0.005
# A machine that gets busier during a slice stretches it: plan for less wall time than is left.
_CAUTION: Final = 0.5


class RegexTimeout(Exception):
    """A regex took too long on a text, so nothing is known about whether it matches."""

    def __init__(self, pattern: str, size: int) -> None:
        shown = pattern if len(pattern) <= 80 else pattern[:77] + "..."
        super().__init__(f"regex {shown!r} took too long on a text of {size:,} characters")
        self.pattern = pattern


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Pattern:
    """The compiled pattern; BadPattern says what is wrong with it and where."""
    source = rewritten(pattern)
    try:
        return regex.compile(source, _FLAGS, cache_pattern=False)
    except (regex.error, ValueError, OverflowError) as error:
        raise BadPattern(str(error)) from error
    except RecursionError as error:
        raise BadPattern("groups are nested too deeply") from error


def search(pattern: str, text: str) -> Span | None:
    """Where the pattern first matches, as offsets of the text as written."""
    compiled, seen = compile_pattern(pattern), lines(text)
    started = time.monotonic()
    try:
        # Most searches take microseconds, less than looking at the other clocks does.
        match = compiled.search(seen, timeout=_FIRST_SLICE)
    except TimeoutError:
        match = _within_budget(lambda limit: compiled.search(seen, timeout=limit), pattern, seen, started)
    if match is None:
        return None
    return match.span() if seen is text else original_span_of_lines(text, *match.span())


def matched(pattern: str, text: str, at_most: int = 10_000) -> list[tuple[str, Span]]:
    """The first matches: their text as the regex saw it, and their offsets in the text as written."""
    compiled, seen = compile_pattern(pattern), lines(text)
    found = _within_budget(lambda limit: list(islice(compiled.finditer(seen, timeout=limit), at_most)), pattern, seen)
    return [(match[0], original_span_of_lines(text, *match.span())) for match in found]


def spans(pattern: str, text: str, at_most: int = 10_000) -> list[Span]:
    """Where the pattern matches, without overlaps, as offsets of the text as written."""
    return [span for _, span in matched(pattern, text, at_most)]


def count(pattern: str, text: str, at_least: int) -> int:
    """How often the pattern matches without overlaps; counting stops at `at_least`."""
    compiled, seen = compile_pattern(pattern), lines(text)
    return _within_budget(
        lambda limit: sum(1 for _ in islice(compiled.finditer(seen, timeout=limit), at_least)), pattern, seen
    )


def matches_empty(pattern: str) -> bool:
    """Whether the pattern matches the empty string, so that no text can fail to match it."""
    return search(pattern, "") is not None


def _within_budget(
    attempt: Callable[[float], _Result], pattern: str, seen: str, started: float | None = None
) -> _Result:
    """Try until it is done, or until this thread has used its CPU budget, or until the wall budget is used.

    The limit of the `regex` module counts the CPU time of the whole process. While other threads are busy it strikes
    early, while the machine is busy it strikes late: each slice is sized by what the last one cost.
    """
    wall, process, thread = time.monotonic(), time.process_time(), time.thread_time()
    wall_end = (started or wall) + _WALL_BUDGET
    limit = _FIRST_SLICE
    while True:
        try:
            return attempt(limit)
        except TimeoutError:
            now = time.monotonic()
            used_process = max(time.process_time() - process, _SHORTEST_SLICE)
            used_thread = max(time.thread_time() - thread, _SHORTEST_SLICE / 100)
        cpu_left, wall_left = _CPU_BUDGET - used_thread, (wall_end - now) * _CAUTION
        limit = min(cpu_left * used_process / used_thread, wall_left * used_process / (now - wall))
        if limit < _SHORTEST_SLICE:
            raise RegexTimeout(pattern, len(seen))
