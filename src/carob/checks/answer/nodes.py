"""Regexes that were written for an accessibility snapshot (`- listitem: ...`), tried on the answer alone.

It is tried on the snapshot of the answer, where a target gives one, and on its Markdown written as such a snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import regex

from carob.checks.page.snapshot import nodes, nodes_below
from carob.model.trace import Trace
from carob.text import phrases
from carob.text.folding import Span
from carob.text.regexes import lazy, safe_regex

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_GAP = r"(?:\\s[*+?]*|\[[^\]]*\][*+?]*|\s)*"
_NODES = "listitem|textbox|combobox|listbox|checkbox|menuitem|gridcell|columnheader|rowheader|treeitem|tablist|tabpanel"
_NAMED = "heading|button|link|img|region|article|row|cell|option|tab|radio|dialog"
_LAST = rf'(?:{_NODES})\b|(?:{_NAMED})(?:\|[a-z]+)*\)?{_GAP}\\?"'
_FOR_SNAPSHOTS = lazy.regex(rf"(?<![a-z])-{_GAP}[(?:]*(?:[a-z]+\|)*(?:{_LAST})", regex.I)
"""A node as accessibility snapshots write it: its role after a hyphen, one that is a plain word too with its name."""


def find_in_answer(pattern: str, trace: Trace, at_most: int = 10_000) -> list[tuple[str, Span]]:
    """The lines in which the regex finds something; if none, the words of the nodes that it finds in the snapshot.

    Never in the rest of the page, and only words that are in the answer: the offsets are those of the answer. A regex
    for snapshots names the role of what it looks for; one for lines that begin with a hyphen would find any node.
    """
    text = trace.final_message
    matches = [(_lines_of(text, span), span) for _, span in safe_regex.find_seen(pattern, text, at_most)]
    if not matches and trace.answer_page:
        matches = _in_snapshot(pattern, trace.answer_page, text)
    return matches or find_in_markdown(pattern, text)


def find_in_markdown(pattern: str, text: str) -> list[tuple[str, Span]]:
    """What a regex for snapshots finds in a Markdown text written as one; nothing of any other regex."""
    return _in_snapshot(pattern, snapshot_of(text), text) if is_for_snapshots(pattern) else []


@lru_cache(maxsize=256)
def is_for_snapshots(pattern: str) -> bool:
    return _FOR_SNAPSHOTS.search(pattern) is not None


def _in_snapshot(pattern: str, page: str, answer: str) -> list[tuple[str, Span]]:
    lines = {page.count("\n", 0, start) for _, (start, _end) in safe_regex.find_all(pattern, page)}
    texts = (
        _words(page, index)
        for index, node in enumerate(nodes(page))
        if page.count("\n", 0, node.start) in lines and _names(pattern, node.role)
    )
    return [(words, span) for words in texts if (span := _place(answer, words))]


def _lines_of(text: str, span: Span) -> str:
    end = text.find("\n", max(span[0], span[1] - 1))
    return text[text.rfind("\n", 0, span[0]) + 1 : end if end >= 0 else len(text)]


def _names(pattern: str, role: str) -> bool:
    return re.search(rf"(?<![a-z]){re.escape(role)}(?![a-z])", pattern, re.IGNORECASE) is not None


def _words(page: str, index: int) -> str:
    """What a node says, with all that is in it."""
    page_nodes = nodes(page)
    included = (page_nodes[index], *nodes_below(page_nodes, index))
    return "\n".join(node.text or node.name for node in included if node.visible and (node.text or node.name))


def _place(answer: str, words: str) -> Span | None:
    """Where the words are in the answer; None unless all of them are."""
    spans = [phrases.find(answer, line) for line in words.split("\n")]
    located = [span for span in spans if span is not None]
    if not located or len(located) < len(spans):
        return None
    return min(start for start, _ in located), max(end for _, end in located)


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
            words = f" {_plain_text(inside[0])}" if worded else ""
            yield f"{indent}- {GROUPS[node.type]}{':' if inside else ''}{words}"
            inside = [*inside.pop(0).children, *inside] if worded else inside
        elif node.type in NAMED:
            level = f" [level={node.tag[1:]}]" if node.type == "heading" else ""
            yield f'{indent}- {NAMED[node.type]} "{_quoted(_plain_text(node))}"{level}'
        elif node.type in WORDED:
            yield f"{indent}- {WORDED[node.type]}: {_plain_text(node)}"
        elif node.type == "hr":
            yield f"{indent}- separator"
        yield from _lines(inside, indent if node.type == "inline" else f"{indent}  ")


def _plain_text(node: SyntaxTreeNode) -> str:
    return " ".join("".join(_parts(node)).split())


def _parts(node: SyntaxTreeNode) -> Iterator[str]:
    if node.children:
        for child in node.children:
            yield from _parts(child)
    else:
        yield " " if node.type in ("softbreak", "hardbreak") else node.content


def _quoted(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')
