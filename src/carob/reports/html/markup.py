"""Texts of others as HTML: escaped, with the evidence of checks marked, read as Markdown, and compared word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from carob.reports.escaping import replace_hidden

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_RANK: Final = ("error", "failed", "unknown", "passed")
# A joiner between pictures makes one of several, and hides nothing.
_joined = re.compile("(?<=[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2600-\u27bf\U0001f000-\U0001faff])")
_JOINER: Final = "\ue000"
_OPEN, _CLOSE = "\x00(", "\x00)"  # around the escape of a hidden character, until the text around it is escaped
_code: Final = re.compile(r"`([^`\n]{1,300})`")
_careful = re.compile(r"[^\w .,;:!?()\[\]{}/|*+=#%$@^~-]", re.ASCII)
LONGEST_MARKDOWN: Final = 16_000
"""What is longer is shown as it is written: some texts take long to read as Markdown."""
_marked_up = re.compile(r"[*_`\[\]#>|~\\&=]|^\s*(?:[-+]|\d+[.)])\s|^(?: {4}|\t|\s*-{3})", re.MULTILINE)
_TAGS: Final = {
    "paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li", "blockquote": "blockquote",
    "strong": "strong", "em": "em", "s": "s", "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr",
    "th": "th", "td": "td",
}  # fmt: skip
MOST_WORDS: Final = 1_500
ALIKE: Final = 0.35
"""Texts that have less in common are clearer side by side."""
SHORT: Final = 3
_word = re.compile(r"(\w+(?:[.,:'’/-]\w+)*|[^\w\s])(\s*)")

Word = tuple[str, str]
"""A word, a number or a sign, and the space after it."""


class Mark(NamedTuple):
    """A span of a text in which a check found its evidence."""

    start: int
    end: int
    check: int
    status: str


def escape_text(text: str) -> str:
    """Text as HTML, within a line or in an attribute: no tags, and nothing hidden or reordered."""
    if not _careful.search(text):
        return text  # most texts are short and plain
    joins = "\u200d" in text and _JOINER not in text
    text = replace_hidden(_joined.sub(_JOINER, text) if joins else text, lambda code: f"{_OPEN}{code}{_CLOSE}")
    text = escape(text).replace(_OPEN, '<span class="unseen">').replace(_CLOSE, "</span>")
    return text.replace(_JOINER, "\u200d") if joins else text


def prose(text: str) -> str:
    """Words of Carob as HTML: what is between backticks is code."""
    return _code.sub(r"<code>\1</code>", escape_text(text))


def escape_body(text: str) -> str:
    """Text as HTML within an element alone, where quotes may be: they are a tenth of all JSON."""
    return escape_text(text).replace("&quot;", '"').replace("&#x27;", "'")


def attribute(text: str) -> str:
    """Text for an attribute: what is hidden is spelled out without a tag around it."""
    return escape(replace_hidden(text, str))


def worst_status(statuses: Sequence[str]) -> str:
    """The worst of these statuses, or nothing for none."""
    return min(statuses, key=lambda status: _RANK.index(status) if status in _RANK else 0, default="")


class Marker:
    """Marks the evidence in one text, piece by piece; the first mark of each check carries its anchor."""

    def __init__(self, marks: Iterable[Mark], anchor: str) -> None:
        self._marks = sorted(mark for mark in marks if mark.end > mark.start)
        self._anchor = anchor
        self.placed: set[int] = set()

    @property
    def unplaced(self) -> set[int]:
        """The checks with evidence in this text that no mark shows yet."""
        return {mark.check for mark in self._marks} - self.placed

    def html(self, text: str, offset: int | None = 0) -> str:
        """A piece of the text that begins at `offset`; None: its place is unknown."""
        if offset is None or not self._marks:
            return escape_text(text)
        end = offset + len(text)
        here = [mark for mark in self._marks if mark.start < end and mark.end > offset]
        cuts = sorted({offset, end, *(cut for mark in here for cut in mark[:2] if offset < cut < end)})
        return "".join(
            self._piece(text[a - offset : b - offset], [mark for mark in here if mark.start <= a and mark.end >= b])
            for a, b in pairwise(cuts)
        )

    def _piece(self, text: str, marks: Sequence[Mark]) -> str:
        if not marks or not text.strip():
            return escape_text(text)
        checks = dict.fromkeys(mark.check for mark in marks)
        status = worst_status([mark.status for mark in marks])
        first = [check for check in checks if check not in self.placed]
        self.placed.update(checks)
        anchors = "".join(f'<a id="{self._anchor}-e{check}"></a>' for check in first)
        numbers = " ".join(map(str, checks))
        return f'{anchors}<mark class="{status}" data-c="{numbers}">{escape_text(text)}</mark>'


def render(text: str, marker: Marker) -> str:
    """The text as HTML, its evidence marked."""
    if len(text) > LONGEST_MARKDOWN or not _marked_up.search(text):
        return as_written(text, marker)
    return "".join(_MarkdownReader(text, marker).html())


def as_written(text: str, marker: Marker) -> str:
    """The text with its lines and spaces."""
    return f'<div class="plain">{marker.html(text)}</div>'


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # Definitions of links would vanish from the text; joined texts would lose their places.
    return parser.disable(["reference", "text_join"])


class _MarkdownReader:
    """One text on its way to HTML. `_cursor` is how far of it has been shown."""

    def __init__(self, text: str, marker: Marker) -> None:
        # The parser draws line ends together: as many characters as before keep every offset.
        self._text = text.replace("\r\n", " \n").replace("\r", "\n")
        self._marker = marker
        self._lines = [0, *(match.end() for match in re.finditer("\n", self._text))]
        self._cursor = 0
        self._limit = len(self._text)

    def html(self) -> Iterator[str]:
        for token in _parser().parse(self._text):
            if token.map is not None:
                self._cursor = max(self._cursor, self._at_line(token.map[0]))
                self._limit = self._at_line(token.map[1])
            yield from self._block(token)

    def _at_line(self, line: int) -> int:
        return self._lines[line] if line < len(self._lines) else len(self._text)

    def _block(self, token: Token) -> Iterator[str]:
        if token.type == "inline":
            yield from self._inline(token.children or [])
        elif token.type in ("fence", "code_block"):
            about = f'<span class="language">{escape_text(token.info)}</span>' if token.info.strip() else ""
            code = "".join(self._leaf(line) for line in token.content.splitlines(keepends=True))
            yield f'<pre tabindex="0">{about}<code>{code}</code></pre>'
        elif token.type == "hr":
            yield "<hr>"
        elif not token.hidden:
            yield self._tag(token)

    def _tag(self, token: Token) -> str:
        name, _, end = token.type.rpartition("_")
        if name == "heading":
            return f'<p class="h {token.tag}">' if end == "open" else "</p>"
        tag = _TAGS.get(name)
        if tag is None:
            return escape_text(token.content)
        start = token.attrs.get("start") if name == "ordered_list" else None
        number = f' start="{start}"' if isinstance(start, int) else ""
        return f"<{tag}{number}>" if end == "open" else f"</{tag}>"

    def _inline(self, children: Sequence[Token]) -> Iterator[str]:
        address = ""
        for token in children:
            if token.type in ("softbreak", "hardbreak"):
                yield "<br>"
            elif token.type == "text_special":
                yield self._leaf(token.content, token.markup)
            elif token.type == "code_inline":
                yield f"<code>{self._leaf(token.content)}</code>"
            elif token.type == "link_open":
                address = str(token.attrs.get("href", ""))
                yield '<span class="link">'
            elif token.type == "link_close":
                yield f'</span> <span class="address">({self._leaf(address)})</span>'
            elif token.type == "image":
                address = str(token.attrs.get("src", ""))
                yield f'<span class="link">[image: {self._leaf(token.content)}]</span>'
                yield f' <span class="address">({self._leaf(address)})</span>'
            elif token.type.endswith(("_open", "_close")):
                yield self._tag(token)
            else:
                yield self._leaf(token.content)

    def _leaf(self, text: str, source: str = "") -> str:
        """Some of the text; `source`: how it is written there, where that differs."""
        offset = self._text.find(source or text, self._cursor, self._limit)
        if offset < 0 or not text:
            return escape_text(text)
        self._cursor = offset + len(source or text)
        return escape_text(text) if source and len(text) > 1 else self._marker.html(text, offset)


def has_useful_difference(old: str, new: str) -> bool:
    """Whether a difference of the two says more than both: neither is but a part of the other."""
    return not _is_part(old, new) and _is_alike(old, new)


def _is_part(old: str, new: str) -> bool:
    return old.casefold() in new.casefold() or new.casefold() in old.casefold()


def _is_alike(old: str, new: str) -> bool:
    a, b = ([word for word, _ in _word.findall(text)] for text in (old, new))
    if not a or not b or max(len(a), len(b)) > MOST_WORDS:
        return False
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


def difference(old: str, new: str) -> str:
    """HTML in which `del` is only in the first text and `ins` only in the second, with a space between the two."""
    pieces = [new[: len(new) - len(new.lstrip())]]
    for removed, added, is_same in _changes(_word.findall(old)[:MOST_WORDS], _word.findall(new)[:MOST_WORDS]):
        if is_same:
            pieces.append(escape_text(_join(added)))
            continue
        parts = {"del": removed, "ins": added}
        changed = [f"<{tag}>{escape_text(_join(words).rstrip())}</{tag}>" for tag, words in parts.items() if words]
        pieces.append(" ".join(changed) + (added or removed)[-1][1])
    return "".join(pieces)


def side_by_side(old: str, new: str) -> tuple[str, str]:
    """Both texts as HTML: in the first, `del` is what the second lacks, in the second `ins` what the first lacks.

    Nothing is marked where hardly anything is alike.
    """
    if not (_is_part(old, new) or _is_alike(old, new)):
        return escape_text(old), escape_text(new)
    before, after = [], []
    for removed, added, is_same in _changes(_word.findall(old)[:MOST_WORDS], _word.findall(new)[:MOST_WORDS]):
        if is_same:
            before.append(escape_text(_join(added)))
            after.append(before[-1])
            continue
        before += [_mark("del", removed)] if removed else []
        after += [_mark("ins", added)] if added else []
    return "".join(before), "".join(after)


def _mark(tag: str, words: list[Word]) -> str:
    return f"<{tag}>{escape_text(_join(words).rstrip())}</{tag}>{words[-1][1]}"


def _changes(a: list[Word], b: list[Word]) -> Iterator[tuple[list[Word], list[Word], bool]]:
    """Parts of both texts that are the same, or that replace each other; a single short word between changes is one."""
    removed: list[Word] = []
    added: list[Word] = []
    old, new = ([word for word, _ in words] for words in (a, b))
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (tag, a1, a2, b1, b2) in enumerate(codes):
        is_short = b2 - b1 == 1 and len(b[b1][0]) <= SHORT and "\n" not in b[b1][1]
        if tag != "equal" or (is_short and 0 < number < len(codes) - 1):
            removed, added = removed + a[a1:a2], added + b[b1:b2]
            continue
        if removed or added:
            yield removed, added, False
        # The end of one text may be in the middle of the other: its space is needed there.
        yield [], [(word, max(space, b[b1 + at][1], key=len)) for at, (word, space) in enumerate(a[a1:a2])], True
        removed, added = [], []
    if removed or added:
        yield removed, added, False


def _join(words: list[Word]) -> str:
    return "".join(word + space for word, space in words)
