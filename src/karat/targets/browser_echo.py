"""The prompt as the page repeats it: found, and set aside, so that it never counts as the assistant's words."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

LABEL = 40
"""How much may stand beside the prompt in its own line: a name, a time."""
DISTINCT = 20
"""A prompt of fewer letters may well be said by others too: then only a plain line of its own is an echo."""
MASK = "[the prompt]"

TEXTS = frozenset({"text", "paragraph", "article", "listitem"})
TITLES = frozenset({"link", "button", "heading", "option", "tab", "treeitem", "menuitem"})
"""Apps name conversations after their first prompt."""

_WORD = re.compile(r"[^\W_]+")
_PLAIN_LABEL = re.compile(r"(?:.{0,39}[:>])?\s*")
_PLAIN_TIME = re.compile(r"\W*(?:\d{1,2}[:.]\d\d.{0,10})?")
_NODE = re.compile(r"""(?P<head>\s*-\s+['"]?(?P<role>[a-z]+))(?P<body>.*)""", re.DOTALL)
_NAME = re.compile(r'"(?P<name>(?:[^"\\]|\\.)*)"')


class Span(NamedTuple):
    start: int
    end: int
    whole_line: bool


class Echo:
    """Finds one prompt, however its lines, spaces and marks are shown."""

    def __init__(self, prompt: str) -> None:
        words = _WORD.findall(prompt)
        self._letters = "".join(words).casefold()
        self._distinct = len(self._letters) >= DISTINCT
        spelled = r"[\W_]+".join(map(re.escape, words)) if words else re.escape(prompt.strip())
        self._pattern = re.compile(rf"(?<![^\W_]){spelled}(?![^\W_])", re.IGNORECASE)

    def count(self, text: str) -> int:
        """How often the prompt stands in a text."""
        return sum(1 for _ in self._pattern.finditer(text))

    def without(self, text: str) -> str:
        """What a text says after the prompt: of the parts that lines with the prompt leave behind, the longest."""
        parts, at = [], 0
        for start, end, whole_line in self._spans(text):
            if whole_line:
                parts.append(text[at:start])
                at = end
            else:
                text = text[:start] + " " * (end - start) + text[end:]
        after = [*parts[1:], text[at:]] if parts else [text]
        return max((part.strip() for part in after), key=len)

    def masked(self, snapshot: str, before: str) -> str:
        """An accessibility snapshot less what the turn added of the prompt."""
        old = Counter(before.split("\n"))
        lines = []
        for line in snapshot.split("\n"):
            known = old[line] > 0
            old[line] -= known
            lines.append(line if known else self._masked(line))
        return "\n".join(lines)

    def _spans(self, text: str) -> list[Span]:
        """Where the prompt stands, widened to whole lines where they hold little else."""
        found = []
        for match in self._pattern.finditer(text):
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            end = len(text) if end < 0 else end
            if self._is_label(text[start : match.start()], text[match.end() : end]):
                found.append(Span(start, end, True))
            elif self._distinct:
                found.append(Span(match.start(), match.end(), False))
        if not self._distinct and len(found) > 1 and not _WORD.search(text, found[-1].end):
            return found[:-1]  # the answer is the same words
        return found

    def _is_label(self, left: str, right: str) -> bool:
        if self._distinct:
            return len(left.strip()) + len(right.strip()) <= LABEL
        return bool(_PLAIN_LABEL.fullmatch(left) and _PLAIN_TIME.fullmatch(right))

    def _masked(self, line: str) -> str:
        node = _NODE.fullmatch(line)
        if node is None or node["role"] not in TEXTS | TITLES:
            return line
        head, body = node["head"], node["body"]
        if self._distinct:
            return head + _NAME.sub(self._without_title, self._pattern.sub(MASK, body))
        if node["role"] in TEXTS and self._spans(body):
            return head + self._pattern.sub(MASK, body, count=1)
        return line

    def _without_title(self, match: re.Match[str]) -> str:
        """A name that is the beginning of the prompt is a title made of it."""
        letters = "".join(_WORD.findall(match["name"])).casefold()
        return f'"{MASK}"' if len(letters) >= DISTINCT and self._letters.startswith(letters) else match[0]
