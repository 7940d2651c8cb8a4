"""Reading an accessibility snapshot: a tree of roles and names, one node per line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import regex

from carob.model.trace import LIKE_PROMPT, NOT_SEEN, THE_PROMPT, Trace
from carob.text.folding import fold
from carob.text.phrases import is_said
from carob.text.regexes import lazy

NODE = lazy.regex(
    r"""^([ \t]*)-[ \t]+['"]?([a-z]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*+)")?"""
    r"""((?:[ \t]+\[[^\]\n]*\])*)['"]?(?::[ \t]*(.*))?$""",
    regex.M,
)

PICKERS = frozenset({"listbox", "radiogroup", "combobox"})
FORMS = frozenset({"form", "dialog", "alertdialog"})
CONTROLS = frozenset({"button", "link", "menuitem", "option", "radio", "checkbox", "switch", "tab", "menuitemradio"})
COMPONENTS = frozenset({"region", "article", "group", "figure", "complementary"})
ROLES = frozenset({
    "alert", "alertdialog", "application", "article", "banner", "blockquote", "button", "caption", "cell", "checkbox",
    "code", "columnheader", "combobox", "comment", "complementary", "contentinfo", "definition", "deletion", "dialog",
    "directory", "document", "emphasis", "feed", "figure", "form", "generic", "grid", "gridcell", "group", "heading",
    "iframe", "image", "img", "insertion", "link", "list", "listbox", "listitem", "log", "main", "mark", "marquee",
    "math", "menu", "menubar", "menuitem", "menuitemcheckbox", "menuitemradio", "meter", "navigation", "none", "note",
    "option", "paragraph", "presentation", "progressbar", "radio", "radiogroup", "region", "row", "rowgroup",
    "rowheader", "scrollbar", "search", "searchbox", "sectionfooter", "sectionheader", "separator", "slider",
    "spinbutton", "status", "strong", "subscript", "suggestion", "superscript", "switch", "tab", "table", "tablist",
    "tabpanel", "term", "text", "textbox", "time", "timer", "toolbar", "tooltip", "tree", "treegrid", "treeitem",
})  # fmt: skip
"""The roles of WAI-ARIA and those that Playwright writes besides: an element of another is on no page."""
TALK = frozenset({"log", "feed"})
UNSURE = "the page shows it only where it may repeat the prompt"


class Node(NamedTuple):
    """One element that assistive technology can see; `talk` if it is in the log of the conversation."""

    role: str
    name: str
    text: str
    talk: bool
    disabled: bool
    start: int
    end: int
    mark: str = ""
    """Whether it repeats the prompt, or may."""
    depth: int = 0
    visible: bool = True


@lru_cache(maxsize=4)
def nodes(page: str) -> tuple[Node, ...]:
    """Every node of a snapshot, in page order; names folded as phrases are."""
    page_nodes = []
    log: int | None = None
    for m in NODE.finditer(page):
        depth, role = len(m[1]), m[2]
        if log is not None and depth <= log:
            log = None
        name, text, disabled = fold(_unquote(m[3] or "")), fold(m[5] or ""), "[disabled]" in m[4]
        mark = next((mark for mark in (THE_PROMPT, LIKE_PROMPT) if mark in m[4]), "")
        visible = NOT_SEEN not in m[4]
        page_nodes.append(Node(role, name, text, log is not None, disabled, m.start(2), m.end(), mark, depth, visible))
        if log is None and role in TALK:
            log = depth
    return tuple(page_nodes)


def nodes_below(all_nodes: Sequence[Node], index: int) -> Sequence[Node]:
    """What is in a node."""
    end = index + 1
    while end < len(all_nodes) and all_nodes[end].depth > all_nodes[index].depth:
        end += 1
    return all_nodes[index + 1 : end]


def components(page: str) -> Counter[tuple[str, str]]:
    """The components of a page, those without a name by their role alone; the conversation is left out."""
    return Counter((n.role, n.name) for n in nodes(page) if n.role in COMPONENTS and not n.talk)


def _unquote(name: str) -> str:
    return name.replace('\\"', '"').replace("\\\\", "\\")


def find_pickers(trace: Trace) -> str:
    """A picker or form that the turn brought up, or the empty string.

    The chat box may itself be in a form, so without a snapshot from before the turn only pickers count.
    """
    if trace.page is None:
        return ""
    roles = PICKERS if trace.page_before is None else PICKERS | FORMS
    before = Counter((n.role, n.name) for n in nodes(trace.page_before or "") if n.role in roles)
    after = Counter((n.role, n.name) for n in nodes(trace.page) if n.role in roles and n.visible)
    new = sorted((after - before).elements())
    return f"{new[0][0]} {new[0][1]!r}" if new else ""


def offers(page: str, action: str, mark: str = "") -> bool:
    """Whether a control of this name, and with this mark, is on the page and can be used."""
    usable = (n for n in nodes(page) if n.role in CONTROLS and n.mark == mark and n.visible and not n.disabled)
    return any(is_said(n.name or n.text, action) for n in usable)
