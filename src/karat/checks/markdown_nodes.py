"""Markdown written as the accessibility snapshot of a page that shows it: `- listitem: ...`, `- heading "..."`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

LONGEST = 1 << 18
"""Of a longer text no snapshot is made."""
GROUPS = {
    "bullet_list": "list", "ordered_list": "list", "list_item": "listitem", "blockquote": "blockquote",
    "table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row",
}  # fmt: skip
NAMED = {"heading": "heading", "th": "columnheader", "td": "cell", "link": "link", "image": "img"}
WORDED = {
    "paragraph": "paragraph", "fence": "code", "code_block": "code", "code_inline": "code", "strong": "strong",
    "em": "emphasis",
}  # fmt: skip
_BULLET = re.compile(r"^([ \t]*)[•◦▪‣·][ \t]+", re.MULTILINE)
"""Bullets that Markdown does not know, and models write."""


@lru_cache(maxsize=4)
def snapshot_of(markdown: str) -> str:
    """The snapshot, one node per line; empty for a text that is too long."""
    if len(markdown) > LONGEST:
        return ""
    # Late, because only regexes that are written for snapshots need it.
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    tokens = MarkdownIt("commonmark").enable("table").parse(_BULLET.sub(r"\1- ", markdown))
    return "\n".join(_lines(SyntaxTreeNode(tokens).children, ""))


def _lines(nodes: Sequence[SyntaxTreeNode], indent: str) -> Iterator[str]:
    """The first words of an item of a list are on its own line; all else that a node holds is below it."""
    for node in nodes:
        inside = list(node.children)
        if node.type in GROUPS:
            worded = node.type == "list_item" and inside and inside[0].type == "paragraph"
            words = f" {_words(inside[0])}" if worded else ""
            yield f"{indent}- {GROUPS[node.type]}{':' if inside else ''}{words}"
            inside = [*inside.pop(0).children, *inside] if worded else inside
        elif node.type in NAMED:
            level = f" [level={node.tag[1:]}]" if node.type == "heading" else ""
            yield f'{indent}- {NAMED[node.type]} "{_quoted(_words(node))}"{level}'
        elif node.type in WORDED:
            yield f"{indent}- {WORDED[node.type]}: {_words(node)}"
        elif node.type == "hr":
            yield f"{indent}- separator"
        yield from _lines(inside, indent if node.type == "inline" else f"{indent}  ")


def _words(node: SyntaxTreeNode) -> str:
    return " ".join("".join(_parts(node)).split())


def _parts(node: SyntaxTreeNode) -> Iterator[str]:
    if node.children:
        for child in node.children:
            yield from _parts(child)
    else:
        yield " " if node.type in ("softbreak", "hardbreak") else node.content


def _quoted(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')
