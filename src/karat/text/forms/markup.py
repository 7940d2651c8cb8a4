"""Where a text holds Markdown and HTML: what is only markup, and what no reader sees once it is rendered.

One pass over the text, bounded in time. Markup inside code is text. What is not well formed stays as it is written.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from html import unescape
from typing import Final, NamedTuple

from msgspec import Struct

from karat.text.forms.characters import is_word_char
from karat.text.forms.html_tags import TAG, read_tag
from karat.text.forms.offsets import Span
from karat.text.regexes import lazy

MARKS: Final = "\\`<&~*_[]>\x1b"
"""Characters that may begin markup."""
_ANY_MARK = lazy.pattern(f"[{re.escape(MARKS)}]")
_SPECIAL = lazy.pattern(rf"[{re.escape(MARKS)}]|\n[ \t]*\n")
_ESCAPED: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\n")
_ENTITY = lazy.pattern(r"&(?:#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6});?|[a-zA-Z][a-zA-Z0-9]{1,31};)")
_TICKS = lazy.pattern("`+")
_FENCE = lazy.pattern(r"(?:`{3,}|~{3,})(?=[^\n`]*(?:\n|\Z))")
_RUN = lazy.pattern(r"(.)\1*")
_TARGET = lazy.pattern(
    r"\(\s{0,9}(?:<[^<>\n]{0,2000}>|[^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?)"
    r"(?:\s{1,9}(?:\"[^\"]{0,500}\"|'[^']{0,500}'))?\s{0,9}\)"
)
_LABEL = lazy.pattern(r"\[([^\[\]\n]{0,200})\]")
_DEFINITION = lazy.pattern(
    r"^[ ]{0,3}\[(?!\^)([^\[\]\n]{1,200})\]:[ \t]*\n?[ \t]*(?:<[^<>\n]*>|\S+)"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$",
    re.MULTILINE,
)
_AUTOLINK = lazy.pattern(r"<(?=[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*>|[^\s<>@]{1,64}@[^\s<>]{1,255}>)[^\s<>]*>")
_NOT_AN_ELEMENT = lazy.pattern(r"<[!?][^>]*>?")
_TERMINAL = lazy.pattern(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_])?")


class Edit(NamedTuple):
    """A stretch of a text, and what replaces it."""

    start: int
    end: int
    shown: str = ""


class Markup(Struct):
    """What was found: markup to render, marks without a partner, hidden words, and words that are only in markup."""

    edits: list[Edit] = []
    loose: list[Edit] = []
    hidden: list[Span] = []
    unseen: list[Span] = []


def scan(text: str) -> Markup | None:
    """The markup of a text; None if it has none."""
    return _Scanner(text).scan() if _ANY_MARK.search(text) else None


class _Scanner:
    """Goes from one special character to the next; what can be open until later is kept by kind."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found = Markup()
        self.marks: dict[str, list[Edit]] = {}
        self.brackets: list[int] = []
        self.hiding: tuple[str, int] | None = None
        self.depth = 0
        self.ticks: dict[int, list[int]] | None = None
        self.labels = {m[1].casefold() for m in _DEFINITION.finditer(text)} if "]:" in text else set()

    def scan(self) -> Markup:
        at = 0
        while special := _SPECIAL.search(self.text, at):
            start = special.start()
            at = _READERS.get(self.text[start], _Scanner._paragraph)(self, start)
        if self.hiding:
            self.found.hidden.append((self.hiding[1], len(self.text)))
        for marks in self.marks.values():
            self.found.loose += marks
        return self.found

    def _paragraph(self, start: int) -> int:
        """Marks and brackets do not reach over a blank line."""
        for marks in self.marks.values():
            self.found.loose += marks
        self.marks.clear()
        self.brackets.clear()
        return start + 1

    def _escape(self, start: int) -> int:
        if self.text[start + 1 : start + 2] in _ESCAPED:
            self.found.edits.append(Edit(start, start + 1))
            return start + 2
        return start + 1

    def _terminal(self, start: int) -> int:
        found = _TERMINAL.match(self.text, start)
        end = found.end() if found else start + 1
        self.found.edits.append(Edit(start, end))
        return end

    def _entity(self, start: int) -> int:
        entity = _ENTITY.match(self.text, start)
        if entity is None or (shown := unescape(entity[0])) == entity[0]:
            return start + 1
        self.found.edits.append(Edit(start, entity.end(), shown))
        return entity.end()

    def _code(self, start: int) -> int:
        if end := self._fence(start):
            return end
        run = _TICKS.match(self.text, start)
        width = len(run[0]) if run else 1
        close = self._next_ticks(width, start + width)
        opening = Edit(start, start + width)
        if close is None:
            self.found.loose.append(opening)
            return start + width
        self.found.edits += opening, Edit(close, close + width)
        return close + width

    def _next_ticks(self, width: int, after: int) -> int | None:
        if self.ticks is None:
            self.ticks = {}
            for run in _TICKS.finditer(self.text):
                self.ticks.setdefault(len(run[0]), []).append(run.start())
        places = self.ticks.get(width, [])
        index = bisect_right(places, after - 1)
        return places[index] if index < len(places) else None

    def _fence(self, start: int) -> int | None:
        """The end of a block of fenced code that begins here."""
        fence = _FENCE.match(self.text, start) if self._begins_line(start) else None
        if fence is None:
            return None
        closing = re.compile(rf"^[ >\t]*{fence[0][0]}{{{len(fence[0])},}}[ \t]*$", re.MULTILINE)
        end = closing.search(self.text, fence.end())
        return end.end() if end else len(self.text)

    def _begins_line(self, at: int) -> bool:
        line = self.text[max(self.text.rfind("\n", max(at - 80, 0), at) + 1, at - 80, 0) : at]
        return not line.strip(" \t>")

    def _quote(self, start: int) -> int:
        if self._begins_line(start):
            end = start + 1 + (self.text[start + 1 : start + 2] == " ")
            self.found.edits.append(Edit(start, end))
            return end
        return start + 1

    def _mark(self, start: int) -> int:
        """Emphasis and strike-through: a run of one mark, which opens, closes or is text."""
        if self.text[start] == "~" and (end := self._fence(start)):
            return end
        run = _RUN.match(self.text, start)
        mark = run[0] if run else self.text[start]
        end = start + len(mark)
        before, after = self.text[start - 1 : start] or " ", self.text[end : end + 1] or " "
        opens, closes = not after.isspace(), not before.isspace()
        if mark[0] == "_":
            opens, closes = opens and not is_word_char(before), closes and not is_word_char(after)
        if mark == "~" or not (opens or closes) or (before.isdigit() and after.isdigit()):
            return end
        self._pair(Edit(start, end), mark, opens, closes)
        return end

    def _pair(self, edit: Edit, mark: str, opens: bool, closes: bool) -> None:
        waiting = self.marks.setdefault(mark, [])
        if closes and waiting:
            opening = waiting.pop()
            if mark[0] == "~":
                self.found.hidden.append((opening.start, edit.end))
            self.found.edits += opening, edit
        elif opens:
            waiting.append(edit)
        else:
            self.found.loose.append(edit)

    def _open(self, start: int) -> int:
        definition = _DEFINITION.match(self.text, self.text.rfind("\n", max(start - 4, 0), start) + 1)
        if definition and definition.start(1) == start + 1 and self._begins_line(start):
            self.found.unseen.append(definition.span())
            self.found.edits.append(Edit(*definition.span()))
            return definition.end()
        self.brackets.append(start)
        return start + 1

    def _close(self, start: int) -> int:
        """The end of a link's text: no reader sees its target, nor the text of an image."""
        opening = self.brackets.pop() if self.brackets else None
        end = self._end_of_target(start + 1) if opening is not None else None
        if opening is None or end is None:
            return start + 1
        if self.text[opening - 1 : opening] == "!":
            self.found.unseen.append((opening - 1, end))
            self.found.edits += Edit(opening - 1, opening + 1), Edit(start, end)
        else:
            self.found.unseen.append((start + 1, end))
            self.found.edits += Edit(opening, opening + 1), Edit(start, end)
        return end

    def _end_of_target(self, at: int) -> int | None:
        if target := _TARGET.match(self.text, at):
            return target.end()
        label = _LABEL.match(self.text, at)
        return label.end() if label and label[1].casefold() in self.labels else None

    def _angle(self, start: int) -> int:
        if self.text.startswith("<!--", start):
            return self._comment(start)
        if link := _AUTOLINK.match(self.text, start):
            self.found.edits += Edit(start, start + 1), Edit(link.end() - 1, link.end())
            return link.end()
        if other := _NOT_AN_ELEMENT.match(self.text, start):
            self.found.hidden.append(other.span())
            self.found.edits += Edit(start, start + 2), Edit(other.end() - 1, other.end())
            return other.end()
        return self._tag(start)

    def _comment(self, start: int) -> int:
        close = self.text.find("-->", start + 2)
        end = close + 3 if close >= 0 else len(self.text)
        self.found.hidden.append((start, end))
        self.found.edits.append(Edit(start, start + 4, " "))
        if close >= start + 4:
            self.found.edits.append(Edit(close, end, " "))
        return end

    def _tag(self, start: int) -> int:
        found = TAG.match(self.text, start)
        tag = read_tag(found) if found else None
        if found is None or tag is None:
            return start + 1
        self.found.edits.append(Edit(*found.span(), tag.shown))
        self.found.unseen.append(found.span())
        if self.hiding is None:
            if tag.hides:
                self.hiding, self.depth = (tag.name, start), 1
        elif tag.name == self.hiding[0]:
            self._deeper(-1 if tag.closes else 1, found.end())
        elif tag.name == "summary" and self.hiding[0] == "details" and self.depth == 1:
            self._summary(tag.closes, found)
        return found.end()

    def _deeper(self, step: int, end: int) -> None:
        self.depth += step
        if self.hiding and self.depth == 0:
            self.found.hidden.append((min(self.hiding[1], end), end))
            self.hiding = None

    def _summary(self, closes: bool, found: re.Match[str]) -> None:
        """The summary of what is folded up is all of it that is read."""
        if self.hiding and not closes:
            self.found.hidden.append((min(self.hiding[1], found.start()), found.start()))
        self.hiding = ("details", found.end() if closes else len(self.text))


_READERS: Final[dict[str, Callable[[_Scanner, int], int]]] = {
    "\\": _Scanner._escape,
    "`": _Scanner._code,
    "<": _Scanner._angle,
    "&": _Scanner._entity,
    "~": _Scanner._mark,
    "*": _Scanner._mark,
    "_": _Scanner._mark,
    "[": _Scanner._open,
    "]": _Scanner._close,
    ">": _Scanner._quote,
    "\x1b": _Scanner._terminal,
}
