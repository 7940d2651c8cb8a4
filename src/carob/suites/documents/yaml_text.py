"""Values as YAML that reads back to the same values, here and by other readers of YAML 1.1 or 1.2."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from carob.suites.diagnostics import Json

_STEP = 2
_WIDEST = 110
_SHORT = 40
_LONGEST_KEY = 1000
"""A longer key must be marked as one: YAML looks no further than 1024 characters for its colon."""

_PLAIN = re.compile(r"(?:[^\W\d]|\$)[\w ./()'+$%=;<>?!@*-]*+(?<! )")
_OTHER_MEANING = re.compile(r"null|true|false|yes|no|on|off|y|n|nan|inf", re.IGNORECASE)
"""Words that one version of YAML or another reads as something else than a text."""
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NESTED = (dict, list, tuple)
_COMMAND = re.compile(r"(?m)^\s*(?:::|##\[|##vso\[)")
"""A line that a forge obeys wherever it is printed."""
_LITERAL = re.compile(r"(?![ \n])(?:[^\n]*[^\n ])?(?:\n(?:[^\n]*[^\n ])?)*(?<!\n\n)")


def block(value: Mapping[str, Json] | Sequence[Json], indent: int = 0) -> list[str]:
    """The lines of an object or a list that is not empty."""
    if isinstance(value, Mapping):
        return [line for key, below in value.items() for line in _member(key, below, indent)]
    return [line for below in value for line in item(below, indent)]


def item(value: Json, indent: int) -> list[str]:
    """The lines of one entry of a list."""
    if not value or not isinstance(value, _NESTED):
        return _value_lines(f"{' ' * indent}-", value, indent)
    first, *others = block(value, indent + _STEP)
    return [f"{' ' * indent}- {first.lstrip(' ')}", *others]


def text(value: str, *, in_brackets: bool = False) -> str:
    """A text on one line: plain where nothing can be misread, else in quotes with all that is not seen spelled out.

    A question mark within brackets begins a key for some readers.
    """
    if not value.isprintable():
        return f'"{"".join(map(_escape, value))}"'
    asks = in_brackets and "?" in value
    if not asks and _PLAIN.fullmatch(value) and not (len(value) < _SHORT and _OTHER_MEANING.fullmatch(value)):
        return value
    return "'" + value.replace("'", "''") + "'" if '"' in value or "\\" in value else f'"{value}"'


def _escape(char: str) -> str:
    if char.isprintable():
        return f"\\{char}" if char in '"\\' else char
    if char in _SPELLED:
        return _SPELLED[char]
    if "\ud800" <= char <= "\udfff":
        return "\\ufffd"  # half a pair, which readers of YAML refuse
    return f"\\u{ord(char):04x}" if char <= "\uffff" else f"\\U{ord(char):08x}"


_short_key = lru_cache(1024)(text)
"""The same keys come again and again."""


def _member(key: str, value: Json, indent: int) -> list[str]:
    pad, spelled = " " * indent, _short_key(key) if len(key) < _SHORT else text(key)
    if len(spelled) <= _LONGEST_KEY:
        return _value_lines(f"{pad}{spelled}:", value, indent)
    return [f"{pad}? {spelled}", *_value_lines(f"{pad}:", value, indent)]


def _value_lines(head: str, value: Json, indent: int) -> list[str]:
    """A value after the key or dash that it belongs to, on the same line where it can be."""
    if isinstance(value, str) and "\n" in value and _is_literal(value):
        pad = " " * (indent + _STEP)
        lines = [f"{pad}{line}" if line else "" for line in value.removesuffix("\n").split("\n")]
        return [f"{head} |{'' if value.endswith(chr(10)) else '-'}", *lines]
    if not value or not isinstance(value, _NESTED):
        return [f"{head} {_scalar(value)}"]
    short = _in_brackets(value)
    return [f"{head} {short}"] if 0 < len(short) < _WIDEST - len(head) else [head, *block(value, indent + _STEP)]


def _is_literal(value: str) -> bool:
    """Whether a text of several lines can be written as it is: nothing hidden in it, and no command of a forge."""
    is_plain = value.replace("\n", "").isprintable() and not _COMMAND.search(value)
    return is_plain and _LITERAL.fullmatch(value) is not None


def _scalar(value: Json, *, in_brackets: bool = False) -> str:
    """What holds nothing else; an empty list or object is such a value too."""
    if isinstance(value, str):
        return text(value, in_brackets=in_brackets)
    spelled = json.dumps(value)
    # Without a dot, readers of YAML 1.1 take 1e-07 for a text.
    lacks_dot = isinstance(value, float) and "e" in spelled and "." not in spelled
    return spelled.replace("e", ".0e") if lacks_dot else spelled


def _in_brackets(value: Json) -> str:
    """A list of plain entries on one line, or nothing."""
    if not isinstance(value, list | tuple) or any(isinstance(entry, _NESTED) for entry in value):
        return ""
    return f"[{', '.join([_scalar(entry, in_brackets=True) for entry in value])}]"
