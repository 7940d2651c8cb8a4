"""The assistant's text as lines with a role, so that a page can set them well without changing a word."""

import re
from dataclasses import dataclass

HEADING_LIMIT = 48


@dataclass(frozen=True, slots=True)
class Line:
    """`kind` is `heading`, `item`, `score`, `label`, `text` or `gap`."""

    kind: str
    text: str


def _kind(line: str, starts_block: bool, block_goes_on: bool) -> str:
    if not line.strip():
        return "gap"
    if re.match(r"(?:[-*]|\d{1,2}\.)\s+\S", line):
        return "item"
    if re.match(r"[A-Z_]*SCORE:\s", line):
        return "score"
    if re.match(r"[A-Z][A-Z0-9_ ]{2,30}:\s", line):
        return "label"
    plain = len(line) <= HEADING_LIMIT and ": " not in line and line[-1] not in ".,:;?!"
    return "heading" if plain and starts_block and block_goes_on else "text"


def lines_of(text: str) -> list[Line]:
    raw = text.splitlines()
    lines = []
    for number, line in enumerate(raw):
        starts_block = number == 0 or not raw[number - 1].strip()
        block_goes_on = number + 1 < len(raw) and bool(raw[number + 1].strip())
        lines.append(Line(_kind(line, starts_block, block_goes_on), line))
    return lines
