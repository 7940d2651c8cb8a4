"""A page as assistive technology sees it, with what it repeats of the prompts taken out or marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from karat.model.snapshot import LIKE_PROMPT, THE_PROMPT
from karat.targets.browser.echo import Echo, Likeness

MASK = "[the prompt]"
UNSURE = frozenset({Likeness.NAMED, Likeness.START})
TITLES = frozenset({"link", "option", "tab", "treeitem", "menuitem", "row", "cell", "listitem"})
"""Where apps list conversations by their first prompt. Other elements may well be named as a short prompt is."""

_NODE = re.compile(
    r"""(?P<head>\s*-\s+(?P<quote>['"]?)(?P<role>[a-z]+)(?:\s+"(?P<name>(?:[^"\\]|\\.)*)")?(?:\s+\[[^\]]*\])*)"""
    r"""(?P<tail>(?P=quote):?\s*)(?P<text>.*)"""
)


class SentPrompt(NamedTuple):
    """A prompt, and the page right before it was sent: what stood there repeats nothing."""

    echo: Echo
    before: str


def without_prompts(snapshot: str, sent: Sequence[SentPrompt]) -> str:
    """The snapshot with a mask for every text that is a prompt, and a mark on every node that may be one."""
    lines = snapshot.split("\n")
    for echo, before in sent:
        old = Counter(before.split("\n"))
        for index, line in enumerate(snapshot.split("\n")):
            if old[line] > 0:
                old[line] -= 1
            else:
                lines[index] = _without(echo, lines[index])
    return "\n".join(lines)


def _without(echo: Echo, line: str) -> str:
    node = _NODE.fullmatch(line)
    if node is None:
        return line
    head, text, name = node["head"], node["text"], node["name"] or ""
    likeness = echo.likeness(text)
    if _mark(echo, likeness) == THE_PROMPT:
        covered = echo.cover(text, MASK)
        text, likeness = covered if covered != text else MASK, Likeness.OTHER
    marks = {_mark(echo, likeness), _mark(echo, echo.likeness(name))}
    if not echo.distinct and echo.is_whole(name) and node["role"] not in TITLES:
        marks = {LIKE_PROMPT}
    mark = next((mark for mark in (THE_PROMPT, LIKE_PROMPT) if mark in marks and mark not in head), "")
    return f"{head}{f' {mark}' * bool(mark)}{node['tail']}{text}"


def _mark(echo: Echo, likeness: Likeness) -> str:
    if likeness is Likeness.WHOLE or (echo.distinct and likeness in (Likeness.NAMED, Likeness.QUOTED)):
        return THE_PROMPT
    return LIKE_PROMPT if likeness in UNSURE and not (likeness is Likeness.NAMED and echo.one_word) else ""
