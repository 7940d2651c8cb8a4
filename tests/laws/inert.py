"""What inert means in each format that Carob writes: a file is parsed as those do who read it, and gives only text."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import yaml
from markdown_it import MarkdownIt
from pyarrow import parquet

from carob.reports.escaping import terminal
from reports.hostile import OWNED, TRAP

PLAIN = "\n\t\u200c\u200d"
"""What a screen may hold besides letters; joiners belong to words of some languages."""
FORMULA = ("=", "+", "@", "-", "＝", "＋", "＠", "－")
LOADS = frozenset(("iframe", "object", "embed", "base", "video", "audio", "marquee", "frame", "applet", "math"))
ADDRESSES = frozenset(("href", "src", "srcset", "action", "data", "formaction", "poster", "xlink:href", "style"))
OWN_MARKUP = re.compile(r"</?(?:details|summary|sub|sup|br|b|code|table|tr|td|th)\s*/?>")
JUNIT = re.compile("testsuites?|testcase|failure|error|skipped|propert(?:y|ies)|system-(?:out|err)")
COMMANDS = ("::add-mask", "::stop-commands", "::set-", "::group", "##[", "##vso[")
Complaints = Iterator[str]


class _Page(HTMLParser):
    """A page as a browser takes it apart, as far as the texts of others could change it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.script: str | None = None
        self.kind = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in LOADS:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            address = (value or "").lower().replace("\t", "").replace("\n", "").strip()
            leads_away = TRAP in address or address.startswith(("javascript:", "//", "file:", "data:text"))
            if name.startswith("on") or name == "srcdoc" or (name in ADDRESSES and leads_away):
                self.found.append(f"<{tag} {name}={value!r}>")
        if tag == "script":
            self.script, self.kind = "", dict(attrs).get("type") or ""

    def handle_data(self, data: str) -> None:
        if self.script is not None:
            self.script += data

    def handle_endtag(self, tag: str) -> None:
        if tag != "script" or self.script is None:
            return
        if "json" in self.kind:
            self.found += [*_json_problem(self.script)]
        elif OWNED in self.script:
            self.found.append("a text runs as a script")
        self.script = None


def in_html(path: Path) -> Complaints:
    page = _Page()
    page.feed(path.read_text("utf-8"))
    page.close()
    yield from page.found


def in_markdown(path: Path) -> Complaints:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(path.read_text("utf-8"))
    for token in [*tokens, *(child for block in tokens for child in block.children or ())]:
        if token.type in ("html_block", "html_inline") and OWN_MARKUP.sub("", token.content).strip():
            yield f"markup {token.content[:200]!r}"
        address = str(token.attrs.get("href", token.attrs.get("src", "")))
        if token.type == "image" or TRAP in address or address.lower().startswith(("javascript:", "data:", "file:")):
            yield f"{token.type} {address!r}"
        if token.type == "heading_open" and token.markup in ("=", "==="):
            yield "a heading made of a line below it"


def in_csv(path: Path) -> Complaints:
    csv.field_size_limit(1 << 24)
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
    if len({len(row) for row in rows}) != 1:
        yield "rows of several lengths"
    for cell in (cell for row in rows[1:] for cell in row):
        if cell.lstrip().startswith(FORMULA):
            yield f"a formula {cell[:80]!r}"
        if terminal(cell) != cell:
            yield f"not plain {cell[:80]!r}"


def in_junit(path: Path) -> Complaints:
    for element in ElementTree.parse(path).iter():
        if not JUNIT.fullmatch(element.tag):
            yield f"<{element.tag}>"
        for text in (*element.attrib.values(), element.text or ""):
            if any(ord(char) < 32 and char not in "\n\t" for char in text):
                yield f"not plain {text[:80]!r}"
        if element.get("name") == "forged":
            yield "a forged case"


def _json_problem(text: str) -> Complaints:
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except ValueError as error:  # of JSON, or of a lone surrogate
        yield f"{error}: {text[:80]!r}"


def in_json(path: Path) -> Complaints:
    yield from _json_problem(path.read_bytes().decode())


def in_lines(path: Path) -> Complaints:
    for line in path.read_bytes().decode().removesuffix("\n").split("\n"):
        yield from _json_problem(line)


def in_sqlite(path: Path) -> Complaints:
    with closing(sqlite3.connect(path)) as database:
        if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            yield "it is damaged"
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            database.execute(f'SELECT * FROM "{table}"').fetchall()  # text that is not UTF-8 raises


def in_parquet(path: Path) -> Complaints:
    if not parquet.read_table(path).num_rows:
        yield "no rows"


def in_yaml(path: Path) -> Complaints:
    if not isinstance(yaml.safe_load(path.read_text("utf-8")), dict):
        yield "not a mapping"


def in_toml(path: Path) -> Complaints:
    tomllib.loads(path.read_text("utf-8"))
    yield from on_screen(path.read_text("utf-8"))


def in_text(path: Path) -> Complaints:
    yield from on_screen(path.read_bytes().decode())


FORMATS: dict[str, Callable[[Path], Complaints]] = {
    ".html": in_html,
    ".md": in_markdown,
    ".csv": in_csv,
    ".xml": in_junit,
    ".json": in_json,
    ".jsonl": in_lines,
    ".ndjson": in_lines,
    ".sqlite": in_sqlite,
    ".parquet": in_parquet,
    ".yaml": in_yaml,
    ".toml": in_toml,
    ".txt": in_text,
    "": in_text,
}


def on_screen(shown: str) -> Complaints:
    """What of a screen steers a terminal, or a forge that reads it line by line."""
    yield from (f"{char!r}" for char in sorted({*shown}) if terminal(char) != char and char not in PLAIN)
    yield from (line[:80] for line in shown.splitlines() if line.lstrip().startswith(COMMANDS))
