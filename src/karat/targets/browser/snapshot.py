"""A page as assistive technology sees it, with what it repeats of the prompts taken out or marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from karat.model.snapshot import LIKE_PROMPT, NOT_SEEN, THE_PROMPT
from karat.targets.browser.echo import Echo, Likeness

MASK = "[the prompt]"
UNSURE = frozenset({Likeness.NAMED, Likeness.START})
TITLES = frozenset({"link", "option", "tab", "treeitem", "menuitem", "row", "cell", "listitem"})
"""Where apps list conversations by their first prompt. Other elements may well be named as a short prompt is."""

_NODE = re.compile(
    r"""(?P<head>\s*-\s+(?P<quote>['"]?)(?P<role>[a-z]+)(?:\s+"(?P<name>(?:[^"\\]|\\.)*)")?(?:\s+\[[^\]]*\])*)"""
    r"""(?P<tail>(?P=quote):?\s*)(?P<text>.*)"""
)


def role_of(line: str) -> str:
    """The role of the node on this line; none where there is no node."""
    node = _NODE.fullmatch(line)
    return node["role"] if node else ""


class SentPrompt(NamedTuple):
    """A prompt, and the page right before it was sent: what stood there repeats nothing."""

    echo: Echo
    before: str


def with_unseen(whole: str, seen: str) -> str:
    """The snapshot of what a reader sees, and at their places, marked, the nodes that only the whole one has."""
    a, b = whole.split("\n"), seen.split("\n")
    merged: list[str] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b).get_opcodes():
        merged += a[a1:a2] if tag == "equal" else _merged(a[a1:a2], b[b1:b2])
    return "\n".join(merged)


def _merged(whole: list[str], seen: Sequence[str]) -> Iterator[str]:
    for line in seen:
        twin = next((index for index, other in enumerate(whole) if _place(other) == _place(line)), None)
        if twin is None:
            yield line
            continue
        yield from map(_not_seen, whole[:twin])
        yield line
        node = _NODE.fullmatch(whole[twin])
        if node is not None:  # the same node, of which only a part is seen
            indent = len(line) - len(line.lstrip())
            yield f"{' ' * indent}  - text {NOT_SEEN}: {node['text'] or node['name'] or ''}"
        del whole[: twin + 1]
    yield from map(_not_seen, whole)


def _place(line: str) -> tuple[int, str]:
    node = _NODE.fullmatch(line)
    return len(line) - len(line.lstrip()), node["role"] if node else line


def _not_seen(line: str) -> str:
    node = _NODE.fullmatch(line)
    return f"{node['head']} {NOT_SEEN}{node['tail']}{node['text']}" if node else line


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
