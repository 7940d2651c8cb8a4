"""What to write instead of what JSON refuses, by the characters at the place of the error."""

from __future__ import annotations

import re

_WORDS = {b"True": "true", b"False": "false", b"None": "null"}
_WORD = re.compile(rb"True|False|None")
_BY_CHARACTER = {
    "'": "Put texts in double quotes.",
    "“": "Put texts in straight double quotes.",
    "/": "JSON has no comments: remove it.",
    "#": "JSON has no comments: remove it.",
}
_BY_REASON = (
    ("trailing comma", "Remove the comma before it."),
    ("trailing characters", "A suite is one JSON value. A journal has one on each line: carob rescore JOURNAL."),
    ("EOF while", "The file ends too early: close what is open."),
    ("control character", r"Write a line break in a text as \n."),
    ("invalid escape", r"Write \\ for \ in a text."),
    ("expected `,`", "Put a comma before it."),
    ("key must be a string", "Put keys in double quotes."),
)
NOT_A_SUITE = "A suite is JSON, or YAML in a .yaml file."


def advise(why: str, data: bytes, offset: int) -> str:
    """How to fix the text at the place of an error; empty where its message says enough."""
    if why == "expected value" and not data[:offset].strip():
        return NOT_A_SUITE
    if word := _WORD.match(data, offset):
        return f"Write {_WORDS[word[0]]}."
    character = data[offset : offset + 4].decode(errors="replace")[:1]
    return _BY_CHARACTER.get(character) or next((fix for reason, fix in _BY_REASON if why.startswith(reason)), "")
