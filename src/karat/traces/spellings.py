"""How a secret may be spelled in a text: as it is, escaped letter by letter and more than once, or encoded."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 4
"""Anything shorter cannot be distinguished from plain text."""


def pattern(value: str) -> str:
    """A regex for a value as it is, as URLs, pages and JSON texts spell it, one inside the other, and encoded.

    Written for texts; as UTF-8 it finds the same in bytes.
    """
    one_line = " ".join(value.split())  # as the evidence of checks shows it
    spelled = ["".join(map(_letter, form)) for form in dict.fromkeys((value, one_line)) if len(form) >= SHORTEST]
    return "|".join((*spelled, *map(re.escape, encoded(value))))


def _letter(char: str) -> str:
    """Its escapes before itself: of `%25` more than the `%` is to go."""
    code, escaped = ord(char), html.escape(char)
    ways = [
        "".join(f"%(?:25)*(?i:{byte:02x})" for byte in char.encode(errors="surrogatepass")),
        f"&(?:amp;)*#(?:0*{code}|[xX]0*(?i:{code:x}));",
    ]
    if escaped != char:
        ways.append(f"&(?:amp;)*{escaped[1:]}")
    if not 32 <= code < 127:
        units = json.dumps(char)[1:-1].split("\\")[1:]
        ways.append("".join(rf"\\+(?i:{unit})" for unit in units))
    if char == " ":
        ways.append(r"\+")
    ways.append(re.escape(char) if char.isalnum() else rf"\\*{re.escape(char)}")
    return f"(?:{'|'.join(ways)})"


def encoded(value: str) -> tuple[str, ...]:
    """The value as hex, and what it becomes in a Base64 text at any offset of its source, in both alphabets.

    It may begin at any of three places of a group of bytes; characters that it shares with its neighbours are left out.
    """
    data = value.encode(errors="surrogatepass")
    cores = [
        b64encode(bytes(before) + data).decode()[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6]
        for before in range(3)
    ]
    safe = [core.replace("+", "-").replace("/", "_") for core in cores]
    forms = (data.hex(), data.hex().upper(), *cores, *safe, *(quote(core, safe="") for core in cores))
    return tuple(dict.fromkeys(form for form in forms if len(form) > SHORTEST))


def needles(value: str) -> tuple[str, ...]:
    """Texts of which at least one appears wherever the value does: no escape changes letters and digits."""
    plain = max(re.findall("[A-Za-z0-9]+", value), key=len, default="")
    return (plain, *encoded(value))


def beginnings(value: str) -> Iterator[str]:
    """Spellings of which a text that was cut off may hold the beginning."""
    yield from {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1], html.escape(value)}
