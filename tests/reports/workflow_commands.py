"""GitHub's workflow commands as its runner reads them: where a line begins, and in their older spelling within one."""

from __future__ import annotations

import re
from typing import NamedTuple

LINE_ENDS = re.compile("\r\n|\r|\n")
COMMAND = re.compile(r"::(?P<name>[^\s:]+)(?: (?P<properties>[^:]*(?:%3A[^:]*)*))?::(?P<data>.*)", re.DOTALL)
OLDER = re.compile(r"##\[(?P<name>[^\s\]]+)(?: (?P<properties>[^\]]*))?\](?P<data>.*)", re.DOTALL)


class Command(NamedTuple):
    """What the runner would carry out."""

    name: str
    properties: dict[str, str]
    data: str


def commands(text: str) -> list[Command]:
    """Every command that a job would give by printing this."""
    return [command for line in LINE_ENDS.split(text) if (command := _command(line))]


def _command(line: str) -> Command | None:
    match = COMMAND.match(line.lstrip()) or OLDER.search(line)
    if match is None:
        return None
    pairs = (pair.partition("=") for pair in (match["properties"] or "").split(",") if pair)
    return Command(match["name"], {key.strip(): _read(value) for key, _, value in pairs}, _read(match["data"]))


def _read(text: str) -> str:
    for escape, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, char)
    return text
