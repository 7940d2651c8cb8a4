"""XML and HTML in a text: whether it is any, and which elements it holds. No entity is expanded, nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple
from xml.parsers import expat

from carob.text.regexes import lazy

LONGEST = 1 << 20
DEEPEST = 500
MOST_ELEMENTS = 100_000
MOST_LEADING = 100
"""Elements of a document among which its body is."""
_ELEMENTS = (
    "html head title base link meta style body article section nav aside h1 h2 h3 h4 h5 h6 header footer address p hr"
    " pre blockquote ol ul li dl dt dd figure figcaption main div a em strong small s cite q dfn abbr ruby rt rp data"
    " time code var samp kbd sub sup i b u mark bdi bdo span br wbr img iframe embed object picture source video audio"
    " track map area svg math script noscript canvas ins del table caption colgroup col tbody thead tfoot tr td th"
    " form label input button select datalist optgroup option textarea output progress meter fieldset legend details"
    " summary dialog menu slot search template"
)
KNOWN = frozenset(_ELEMENTS.split())
"""The elements of the HTML standard."""
VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))
_IN_TABLES = frozenset(("table", "tbody", "thead", "tfoot", "tr", "colgroup"))
"""Elements that hold no text of their own: browsers move it in front of the table."""
_NAME = r"[^\W\d][\w:.-]*"
_TAG = lazy.pattern(
    rf"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[?!][^>]*(?:>|\Z)"
    rf"|<(?P<closing>/?)(?P<name>{_NAME})(?=[\s/>])(?P<attributes>(?:\"[^\"]*\"|'[^']*'|[^<>\"'])*+)>",
    16,  # re.DOTALL
)
_WRAPPER = lazy.pattern(r"<(?:html|head|body)(?=[\s>/])[^<>]*>")


class NotMarkupError(Exception):
    """Why a text is not what it should be."""


class MarkupElement:
    """An element of XML: its attributes, and the elements in it, by their names."""

    __slots__ = ("attributes", "children", "name")

    def __init__(self, name: str, attributes: Mapping[str, str]) -> None:
        self.name, self.attributes = name, attributes
        self.children: dict[str, list[MarkupElement]] = {}

    def add(self, child: MarkupElement) -> None:
        self.children.setdefault(child.name, []).append(child)

    def holds(self, path: str) -> bool:
        """Whether it has what `report.item.0.@id` leads to; of several elements of one name a number says which."""
        found: list[MarkupElement] = [self]
        for step in path.split("."):
            if len(found) > 1:
                if not step.isdecimal() or int(step) >= len(found):
                    return False
                found = [found[int(step)]]
            elif step.startswith("@"):
                return step[1:] in found[0].attributes and path.endswith(f".{step}")
            else:
                found = found[0].children.get(step, [])
                if not found:
                    return False
        return True


class _Builder:
    """Puts the elements of a document together as they begin and end."""

    def __init__(self) -> None:
        self.root = MarkupElement("", {})
        self._open = [self.root]
        self._count = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._count += 1
        if len(self._open) > DEEPEST or self._count > MOST_ELEMENTS:
            raise NotMarkupError("it has too many elements, or they are too deep")
        self._open[-1].add(
            child := MarkupElement(_plain(name), {_plain(key): value for key, value in attributes.items()})
        )
        self._open.append(child)

    def end(self, _: str) -> None:
        self._open.pop()


def _plain(name: str) -> str:
    """A name as it is written: the parser gives its name space, itself and its prefix."""
    parts = name.split(" ")
    return f"{parts[2]}:{parts[1]}" if len(parts) == 3 else parts[-1]


@lru_cache(maxsize=8)
def parse_xml(text: str) -> MarkupElement:
    """The document that a text is, in an element without a name. Raises NotMarkupError if it is not XML."""
    if len(text) > LONGEST:
        raise NotMarkupError(f"it has more than {LONGEST:,} characters")
    parser, builder = expat.ParserCreate("utf-8", " "), _Builder()
    parser.namespace_prefixes = True
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.StartDoctypeDeclHandler = _refuse_declarations
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise NotMarkupError(f"it is not XML: {error}") from None
    return builder.root


def _refuse_declarations(name: str, system: str | None, public: str | None, has_declarations: bool) -> None:
    if has_declarations:
        raise NotMarkupError("its document type has declarations, which are not read")


@lru_cache(maxsize=8)
def find_xml(text: str) -> MarkupElement | None:
    """The outermost elements that are whole in a text, in an element without a name; None if there is none."""
    root = MarkupElement("", {})
    opened: list[MarkupElement] = [root]
    for tag in _tags(text[:LONGEST]):
        name = tag["name"]
        if not tag["closing"]:
            element = MarkupElement(name, _attributes(tag["attributes"]))
            if tag["attributes"].rstrip().endswith("/"):
                opened[-1].add(element)
            elif len(opened) <= DEEPEST:
                opened.append(element)
        elif opened[-1].name == name and len(opened) > 1:
            closed = opened.pop()
            opened[-1].add(closed)
        else:
            opened = [root]
    for unclosed in opened[1:]:
        for children in unclosed.children.values():
            for child in children:
                root.add(child)
    return root if root.children else None


class _Tag(NamedTuple):
    closing: str
    name: str
    attributes: str


def _tags(text: str) -> Iterator[Mapping[str, str]]:
    for count, tag in enumerate(_TAG.finditer(text)):
        if count > MOST_ELEMENTS:
            return
        if tag["name"]:
            yield tag.groupdict()


_ATTRIBUTE = lazy.pattern(rf"({_NAME})\s*=")


def _attributes(text: str) -> dict[str, str]:
    return dict.fromkeys(_ATTRIBUTE.findall(text), "")


class _Html:
    """Which elements of the standard a text has, and whether text is outside of them."""

    def __init__(self, text: str) -> None:
        self.known: list[str] = []
        self.bare = ""
        self._open: list[str] = []
        position = 0
        for count, tag in enumerate(_TAG.finditer(text)):
            if count > MOST_ELEMENTS:
                break
            self._data(text[position : tag.start()])
            position = tag.end()
            if tag["name"]:
                (self._end if tag["closing"] else self._start)(tag["name"].lower())
        self._data(text[position:])

    def _start(self, name: str) -> None:
        if name in KNOWN or "-" in name:
            self.known.append(name)
        if name not in VOID and len(self._open) < DEEPEST:
            self._open.append(name)

    def _end(self, name: str) -> None:
        if name in self._open:
            while self._open.pop() != name:
                pass

    def _data(self, data: str) -> None:
        if data.strip() and "body" not in self.known[:MOST_LEADING] and not {*self._open[-1:]} - _IN_TABLES - {"html"}:
            self.bare = self.bare or data.strip()


@lru_cache(maxsize=8)
def why_not_html(text: str) -> str:
    """Why a text is not HTML and nothing else; the empty string if it is."""
    text = text.strip()
    if not text:
        return "it is empty"
    if len(text) > LONGEST:
        return f"it has more than {LONGEST:,} characters"
    if text[:5].lower() == "<?xml":
        return "it is XML"
    reader = _Html(text)
    if not reader.known:
        return "it has no element of HTML"
    if reader.bare:
        return f"there is text outside of its elements: {reader.bare[:40]!r}"
    return ""


def has_html(text: str) -> bool:
    """Whether a text holds an element of HTML, or begins a document of it."""
    text = text[:LONGEST]
    return bool(_Html(text).known) or "<!doctype html" in text.lower()
