"""Where a text holds Markdown and HTML: what is only markup, and what no reader sees once it is rendered.

One pass over the text, bounded in time. Markup inside code is text. What is not well formed stays as it is written.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec import Struct

from carob.text.characters import is_word_char
from carob.text.regexes import lazy


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


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
_TAG = lazy.pattern(
    r"<(?P<close>/?)(?P<name>[a-zA-Z][\w:.-]{0,40})(?P<attributes>(?:[^<>\"']|\"[^\"]{0,512}\"|'[^']{0,512}')*+)>"
)
_ATTRIBUTES = lazy.pattern(r"(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*+\s*/?")
_BARE_WORD = lazy.pattern(r"\s[\w-]+(?=\s|\Z)")
_HIDDEN_ATTRIBUTE = lazy.pattern(r"(?:\A|\s)hidden(?:\s*=|\s|/|\Z)", re.IGNORECASE)
_OPEN_ATTRIBUTE = lazy.pattern(r"(?:\A|\s)open(?:\s*=|\s|/|\Z)", re.IGNORECASE)
_STYLE = lazy.pattern(r"\bstyle\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_ZERO = r"0(?:\.0*)?(?:px|em|rem|pt|%|vw|vh)?(?![\w.])"
_HIDDEN_STYLE = lazy.pattern(
    rf"display:none|visibility:(?:hidden|collapse)|content-visibility:hidden|opacity:{_ZERO}|font-size:{_ZERO}"
    rf"|(?<![\w-])(?:max-)?(?:height|width):{_ZERO}|(?<!-)color:(?:transparent|rgba\([^)]*,0(?:\.0*)?\))"
    r"|(?:left|top|right|bottom|text-indent|margin-left|margin-top):-\d{3,}|clip:rect\(0|clip-path:inset\((?:50|100)%"
    r"|scale\(0\)|text-decoration[\w-]*:[\w\s]*line-through",
    re.IGNORECASE,
)
_BLOCKS: Final = _names(
    "address article aside blockquote br caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3"
    " h4 h5 h6 header hr li main nav ol option p pre section summary table tbody td tfoot th thead tr ul"
)
_INLINE: Final = _names(
    "a abbr b bdi bdo big body cite code data del dfn em font head html i iframe img input ins kbd label link mark meta"
    " noscript object picture q rp rt ruby s samp script select small source span strike strong style sub sup svg"
    " template textarea time title track tt u var video wbr"
)
_VOID: Final = _names("area base br col embed hr img input link meta source track wbr")
_NEVER_READ: Final = _names("del head iframe noscript object s script strike style svg template title video")


class Edit(NamedTuple):
    """A stretch of a text, and what replaces it."""

    start: int
    end: int
    replacement: str = ""


class Markup(Struct):
    """Markup to render, marks without a partner, hidden words, and words that are only in markup."""

    edits: list[Edit] = []
    loose: list[Edit] = []
    hidden: list[Edit] = []
    unseen: list[Edit] = []


class _Tag(NamedTuple):
    """One tag: its name in small letters, what a reader sees of it, and whether it opens what no reader sees."""

    name: str
    closes: bool
    replacement: str
    hides: bool


def scan(text: str) -> Markup | None:
    """The markup of a text; None if it has none."""
    return _Scanner(text).scan() if _ANY_MARK.search(text) else None


class _Scanner:
    """Goes from one special character to the next; what can be open until later is kept by kind."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.markup = Markup()
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
            self._hide(self.hiding[1], len(self.text))
        self._paragraph(at)
        return self.markup

    def _edit(self, start: int, end: int, replacement: str = "") -> int:
        self.markup.edits.append(Edit(start, end, replacement))
        return end

    def _hide(self, start: int, end: int) -> None:
        self.markup.hidden.append(Edit(min(start, end), end))

    def _paragraph(self, start: int) -> int:
        """Marks and brackets do not reach over a blank line."""
        for marks in self.marks.values():
            self.markup.loose += marks
        self.marks.clear()
        self.brackets.clear()
        return start + 1

    def _escape(self, start: int) -> int:
        if self.text[start + 1 : start + 2] not in _ESCAPED:
            return start + 1
        return self._edit(start, start + 1) + 1

    def _terminal(self, start: int) -> int:
        sequence = _TERMINAL.match(self.text, start)
        return self._edit(start, sequence.end() if sequence else start + 1)

    def _entity(self, start: int) -> int:
        from html import unescape  # it has a table of two thousand names

        entity = _ENTITY.match(self.text, start)
        if entity is None or (char := unescape(entity[0])) == entity[0]:
            return start + 1
        return self._edit(start, entity.end(), char)

    def _code(self, start: int) -> int:
        if end := self._fence(start):
            return end
        width = len(self._run(start))
        close = self._next_ticks(width, start + width)
        if close is None:
            self.markup.loose.append(Edit(start, start + width))
            return start + width
        self._edit(start, start + width)
        return self._edit(close, close + width)

    def _run(self, start: int) -> str:
        """The run of one character that begins here."""
        run = _RUN.match(self.text, start)
        return run[0] if run else self.text[start]

    def _next_ticks(self, width: int, after: int) -> int | None:
        if self.ticks is None:
            self.ticks = {}
            for run in _TICKS.finditer(self.text):
                self.ticks.setdefault(len(run[0]), []).append(run.start())
        starts = self.ticks.get(width, [])
        index = bisect_right(starts, after - 1)
        return starts[index] if index < len(starts) else None

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
        if not self._begins_line(start):
            return start + 1
        return self._edit(start, start + 1 + (self.text[start + 1 : start + 2] == " "))

    def _mark(self, start: int) -> int:
        """Emphasis and strike-through: a run of one mark, which opens, closes or is text."""
        if self.text[start] == "~" and (end := self._fence(start)):
            return end
        mark = self._run(start)
        end = start + len(mark)
        before, after = self.text[start - 1 : start] or " ", self.text[end : end + 1] or " "
        opens, closes = not after.isspace(), not before.isspace()
        if mark[0] == "_":
            opens, closes = opens and not is_word_char(before), closes and not is_word_char(after)
        if mark == "~" or not (opens or closes) or (before.isdigit() and after.isdigit()):
            return end
        waiting, edit = self.marks.setdefault(mark, []), Edit(start, end)
        if closes and waiting:
            opening = waiting.pop()
            if mark[0] == "~":
                self._hide(opening.start, end)
            self.markup.edits += opening, edit
        else:
            (waiting if opens else self.markup.loose).append(edit)
        return end

    def _open(self, start: int) -> int:
        definition = _DEFINITION.match(self.text, self.text.rfind("\n", max(start - 4, 0), start) + 1)
        if definition and definition.start(1) == start + 1 and self._begins_line(start):
            self.markup.unseen.append(Edit(*definition.span()))
            return self._edit(*definition.span())
        self.brackets.append(start)
        return start + 1

    def _close(self, start: int) -> int:
        """The end of a link's text: no reader sees its target, nor the text of an image."""
        opening = self.brackets.pop() if self.brackets else None
        end = self._end_of_target(start + 1) if opening is not None else None
        if opening is None or end is None:
            return start + 1
        is_image = self.text[opening - 1 : opening] == "!"
        self.markup.unseen.append(Edit(opening - 1 if is_image else start + 1, end))
        self._edit(opening - is_image, opening + 1)
        return self._edit(start, end)

    def _end_of_target(self, at: int) -> int | None:
        if target := _TARGET.match(self.text, at):
            return target.end()
        label = _LABEL.match(self.text, at)
        return label.end() if label and label[1].casefold() in self.labels else None

    def _angle(self, start: int) -> int:
        if self.text.startswith("<!--", start):
            return self._comment(start)
        if link := _AUTOLINK.match(self.text, start):
            self._edit(start, start + 1)
            return self._edit(link.end() - 1, link.end())
        if declaration := _NOT_AN_ELEMENT.match(self.text, start):
            self._hide(*declaration.span())
            self._edit(start, start + 2)
            return self._edit(declaration.end() - 1, declaration.end())
        return self._tag(start)

    def _comment(self, start: int) -> int:
        close = self.text.find("-->", start + 2)
        end = close + 3 if close >= 0 else len(self.text)
        self._hide(start, end)
        self._edit(start, start + 4, " ")
        if close >= start + 4:
            self._edit(close, end, " ")
        return end

    def _tag(self, start: int) -> int:
        match = _TAG.match(self.text, start)
        tag = _read_tag(match) if match else None
        if match is None or tag is None:
            return start + 1
        end = self._edit(*match.span(), tag.replacement)
        self.markup.unseen.append(Edit(start, end))
        if self.hiding is None:
            if tag.hides:
                self.hiding, self.depth = (tag.name, start), 1
        elif tag.name == self.hiding[0]:
            self.depth += -1 if tag.closes else 1
            if self.depth == 0:
                self._hide(self.hiding[1], end)
                self.hiding = None
        elif tag.name == "summary" and self.hiding[0] == "details" and self.depth == 1:
            # The summary of what is folded up is all of it that is read.
            if not tag.closes:
                self._hide(self.hiding[1], start)
            self.hiding = ("details", end if tag.closes else len(self.text))
        return end


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


def _read_tag(match: re.Match[str]) -> _Tag | None:
    """The tag of a match; None if it is text in angle brackets ("<order id>")."""
    name, attributes = match["name"].lower(), match["attributes"]
    is_element = name in _BLOCKS or name in _INLINE
    if not _ATTRIBUTES.fullmatch(attributes) or (not is_element and _BARE_WORD.search(attributes)):
        return None
    closes = bool(match["close"])
    hides = not closes and name not in _VOID and not attributes.endswith("/") and _hides(name, attributes)
    return _Tag(name, closes, "\n" if name in _BLOCKS else "", hides)


def _hides(name: str, attributes: str) -> bool:
    if name in _NEVER_READ or _HIDDEN_ATTRIBUTE.search(attributes):
        return True
    if name == "details":
        return not _OPEN_ATTRIBUTE.search(attributes)
    style = _STYLE.search(attributes)
    return style is not None and _HIDDEN_STYLE.search("".join((style[0] or "").split())) is not None
