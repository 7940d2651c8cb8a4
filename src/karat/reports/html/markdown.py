"""Markdown as people read it, made of nothing but plain tags: no HTML of the text's own, no link, no image.

What is shown knows where it stands in the text as written, so that evidence can be marked in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from karat.reports.html.marks import Marker, inert

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST: Final = 16_000
"""What is longer is shown as it is written: some texts take long to read as Markdown."""
_marked_up = re.compile(r"[*_`\[\]#>|~\\&=]|^\s*(?:[-+]|\d+[.)])\s|^(?: {4}|\t|\s*-{3})", re.MULTILINE)
_TAGS: Final = {
    "paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li", "blockquote": "blockquote",
    "strong": "strong", "em": "em", "s": "s", "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr",
    "th": "th", "td": "td",
}  # fmt: skip


def rendered(text: str, marker: Marker) -> str:
    """The text as HTML, its evidence marked."""
    if len(text) > LONGEST or not _marked_up.search(text):
        return as_written(text, marker)
    return "".join(_Reading(text, marker).html())


def as_written(text: str, marker: Marker) -> str:
    """The text with its lines and spaces."""
    return f'<div class="plain">{marker.html(text)}</div>'


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # Definitions of links would vanish from the text; joined texts would not know where they stand.
    return parser.disable(["reference", "text_join"])


class _Reading:
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
            about = f'<span class="language">{inert(token.info)}</span>' if token.info.strip() else ""
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
            return inert(token.content)
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

    def _leaf(self, shown: str, written: str = "") -> str:
        """Some of the text; `written`: as what it stands there, where that is something else."""
        found = self._text.find(written or shown, self._cursor, self._limit)
        if found < 0 or not shown:
            return inert(shown)
        self._cursor = found + len(written or shown)
        if written:
            return self._marker.html(shown, found) if len(shown) == 1 else inert(shown)
        return self._marker.html(shown, found)
