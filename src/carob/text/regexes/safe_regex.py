"""Regexes of suites on texts of agents: neither can keep a check busy for long.

Patterns are those of the `regex` module in its version 0 mode, which reads what `re` reads; case is ignored and `^` `$`
match at every line. A call gets half a second of this thread's CPU and a second and a half of wall time.

What is required counts only in what a reader sees, what is forbidden in every form of the text. A regex that denies
something (`(?!`, `[^`) would be fooled by a form that leaves things out: it is held against the text as written too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from carob.text.folding import Span, lines, original_span_of_lines
from carob.text.regexes import lazy
from carob.text.regexes.syntax import BadPattern as BadPattern
from carob.text.regexes.syntax import rewrite, translate_javascript
from carob.text.views import View, is_plain, rendered_view, visible_words, without_hidden

if TYPE_CHECKING:
    from regex import Pattern

_Result = TypeVar("_Result")

_FLAGS: Final = "IM"
"""Flags of the `regex` module, by their letters."""
_ASCII_FLAGS: Final = _FLAGS + "A"
_PLAIN_FLAGS: Final = ""
_MEANS_MORE: Final = lazy.pattern(r"\\[uUxNpPXL0-9]|\(\?[a-zA-Z]*[auL]")
"""What may name characters beyond ASCII, or asks for them by a flag."""
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
        excerpt = pattern if len(pattern) <= 80 else pattern[:77] + "..."
        super().__init__(f"regex {excerpt!r} took too long on a text of {size:,} characters")
        self.pattern = pattern


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str, flags: str = _FLAGS) -> Pattern[str]:
    """The compiled pattern; BadPattern says what is wrong with it and where."""
    import regex  # it is loaded by the first pattern that needs it

    source = rewrite(pattern)
    try:
        number = sum(regex.RegexFlag[flag] for flag in flags)
        return regex.compile(source, number | regex.VERSION0, cache_pattern=False)
    except (regex.error, ValueError, OverflowError) as error:
        raise BadPattern(str(error)) from error
    except RecursionError as error:
        raise BadPattern("groups are nested too deeply") from error


def search(pattern: str, text: str) -> Span | None:
    """Where the pattern first matches, as offsets of the text as written."""
    haystack = lines(text)
    compiled = _compile_for_ascii(pattern) if haystack.isascii() else compile_pattern(pattern)
    started = time.monotonic()
    try:
        # Most searches take microseconds, less than looking at the other clocks does.
        match = compiled.search(haystack, timeout=_FIRST_SLICE)
    except TimeoutError:
        match = _run_within_budget(lambda limit: compiled.search(haystack, timeout=limit), pattern, haystack, started)
    if match is None:
        return None
    return match.span() if haystack is text else original_span_of_lines(text, *match.span())


def is_found_in_value(pattern: str, text: str) -> bool:
    """Whether the pattern is found in a value of data: letter case counts, and `^` and `$` are the ends of it."""
    return _search_plain(pattern, lines(text), _PLAIN_FLAGS) is not None


def find_javascript(pattern: str, text: str, *, ignore_case: bool = False) -> Span | None:
    """Where a pattern that means what JavaScript means by it first matches in the text as it is."""
    return _search_plain(translate_javascript(pattern), text, "I" if ignore_case else _PLAIN_FLAGS)


def why_bad_javascript(pattern: str) -> str:
    """What is wrong with a pattern of JavaScript, if anything."""
    try:
        compile_pattern(translate_javascript(pattern), _PLAIN_FLAGS)
    except BadPattern as error:
        return str(error)
    return ""


def _search_plain(pattern: str, text: str, flags: str) -> Span | None:
    compiled = compile_pattern(pattern, flags)
    match = _run_within_budget(lambda limit: compiled.search(text, timeout=limit), pattern, text)
    return None if match is None else match.span()


def find_required(pattern: str, text: str) -> Span | None:
    """Where a reader first sees a match, as offsets of the text as written."""
    if is_plain(text):
        return search(pattern, text)
    is_denial = denies(pattern)
    if is_denial and search(pattern, text) is None:
        return None
    for view in (_view_for(pattern, text),) if is_denial else (_view_for(pattern, text), rendered_view(text)):
        if span := search(pattern, view.text):
            return view.span(*span)
    return None


def find_seen(pattern: str, text: str, at_most: int = 10_000) -> list[tuple[str, Span]]:
    """The first matches that a reader sees, without overlaps: their text, and their offsets in the text as written."""
    view = _view_for(pattern, text)
    return [(match, view.span(*span)) for match, span in find_all(pattern, view.text, at_most)]


def find_all(pattern: str, text: str, at_most: int = 10_000) -> list[tuple[str, Span]]:
    """The first matches: their text as the regex saw it, and their offsets in the text as written."""
    compiled, haystack = compile_pattern(pattern), lines(text)
    matches = _run_within_budget(
        lambda limit: list(islice(compiled.finditer(haystack, timeout=limit), at_most)), pattern, haystack
    )
    return [(match[0], original_span_of_lines(text, *match.span())) for match in matches]


def matches_empty(pattern: str) -> bool:
    """Whether the pattern matches the empty string, so that no text can fail to match it."""
    return search(pattern, "") is not None


def _run_within_budget(
    attempt: Callable[[float], _Result], pattern: str, haystack: str, started: float | None = None
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
            raise RegexTimeout(pattern, len(haystack))


def _view_for(pattern: str, text: str) -> View:
    """The text without what is hidden; with its tags and addresses only for a regex that speaks of some."""
    return without_hidden(text) if "<" in pattern or "/" in pattern else visible_words(text)


@lru_cache(maxsize=4096)
def _compile_for_ascii(pattern: str) -> Pattern[str]:
    """The pattern for ASCII text: by the rules of ASCII alone, which take less time, if it finds the same by them."""
    is_ascii = pattern.isascii() and _MEANS_MORE.search(pattern) is None
    return compile_pattern(pattern, _ASCII_FLAGS if is_ascii else _FLAGS)


@lru_cache(maxsize=4096)
def denies(pattern: str) -> bool:
    """Whether a regex says what must not be there."""
    return any(sign in pattern for sign in ("(?!", "(?<!", "[^"))
