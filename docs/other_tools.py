"""Writes the tables of docs/other-tools.md from docs/other-tools.yaml: `python docs/other_tools.py`."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import TypedDict

from carob.suites.documents.yaml import YamlDocument
from carob.suites.documents.yaml_text import text

HERE = Path(__file__).parent
PAGE = HERE / "other-tools.md"
MARK = "<!-- Written by docs/other_tools.py from here on. -->\n"


class Row(TypedDict, total=False):
    """What a tool says, and by which way Carob says it, or why it does not."""

    says: list[str]
    way: str
    note: str
    absent: str


class Way(TypedDict):
    """What a case expects, an answer that is right by it and one that is wrong."""

    expected: dict[str, object]
    right: object
    wrong: object


class Tool(TypedDict, total=False):
    """A tool, where it tells of its assertions, and what they are here."""

    page: str
    about: str
    rows: list[Row]


class Table(TypedDict):
    """All of it."""

    ways: dict[str, Way]
    tools: dict[str, Tool]


def table() -> Table:
    tree: Table = YamlDocument((HERE / "other-tools.yaml").read_bytes()).tree
    return tree


def page() -> str:
    """The page with its tables; what is before the mark is written by hand."""
    by_hand, mark, _ = PAGE.read_text().partition(MARK)
    return "\n".join([f"{by_hand}{mark}", *_lines(table())])


def _lines(known: Table) -> Iterator[str]:
    for name, tool in known["tools"].items():
        about = f" {tool['about']}" if "about" in tool else ""
        yield f"## {name}\n\n[Documentation]({tool['page']}).{about}\n\n| {name} | Carob |\n|---|---|"
        for row in tool["rows"]:
            says = ", ".join(f"`{one}`" for one in row["says"])
            in_carob = f"`{shown(known['ways'][row['way']]['expected'])}`" if "way" in row else "not in Carob"
            note = row.get("note", row.get("absent"))
            yield f"| {says} | {in_carob.replace('|', chr(92) + '|')}{f': {note}' if note else ''} |"
        yield ""


def shown(expected: dict[str, object]) -> str:
    """What a case expects, as it stands below `expected`."""
    return ", ".join(f"{key}: {flow(value)}" for key, value in expected.items())


def flow(value: object) -> str:
    """A value on one line of YAML."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{text(key)}: {flow(below)}' for key, below in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    return text(value) if isinstance(value, str) else dumps(value)


if __name__ == "__main__":
    PAGE.write_text(page())
