"""Agents' text made inert: shown as it is, but unable to steer a terminal or to become markup; JSON of it too."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import msgspec

from carob.text.regexes import lazy

CELL_LIMIT: Final = 200

# Everything that moves a cursor, starts an escape sequence, reorders text or cannot be seen: the Unicode categories
# Cc, Cf, Cs, Zl and Zp, then blank letters and selectors that hide text. A test compares the ranges with unicodedata.
_HIDDEN: Final = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_hidden = re.compile(f"[{_HIDDEN}]")
_hidden_in_lines = re.compile("[{}]".format(_HIDDEN.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f")))
# What a job prints is read by its forge: `::error::` where a line begins, `##[error]` and `##vso[task]` anywhere.
_command = re.compile(r"^\s*:(?=:)|##(?=\w{0,20}\[)")

_markup = re.compile(r"[\\`*_\[\]<>#!|~&@$]|://|www\.|" + f"[{_HIDDEN}]", re.IGNORECASE)
# A renderer that links bare addresses looks at the text after entities are read: only a character between breaks them.
_BREAK: Final = "&#8203;"
_MARKDOWN: Final = {
    **{ord(mark): f"\\{mark}" for mark in "`*_[]<>!~&"},
    # Table rows are cut at `|` before escapes are read, so neither a pipe nor a foreign backslash may be in a cell.
    **{ord(mark): f"&#{ord(mark)};" for mark in "|\\$"},
    ord("@"): f"@{_BREAK}",
    ord("#"): f"\\#{_BREAK}",
}
_address = lazy.pattern(r"(:)(?=//)|(www)(?=\.)", re.IGNORECASE)

_encoder: Final = msgspec.json.Encoder()
_surrogate = re.compile("[\ud800-\udfff]")
# DEL, C1 controls, line separators, reordering and invisible characters, as UTF-8: JSON allows them unescaped,
# but a terminal that shows the file would obey them.
_risky = re.compile(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
    rb"|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)


def _visible(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _spell_command(match: re.Match[str]) -> str:
    """A command with one character of its mark spelled out."""
    return f"{match[0][:-1]}\\x{ord(match[0][-1]):02x}"


def terminal(text: str, limit: int | None = None) -> str:
    """One line without control, reordering or invisible characters: each becomes a visible escape such as `\\x1b`.

    Nor does it hold a command that a forge would look for in what a job prints.
    """
    if limit is not None:
        text = clip(text, limit)
    if "##" in text or "::" in text:
        text = _command.sub(_spell_command, text)
    if text.isascii() and text.isprintable():
        return text
    return _hidden.sub(_visible, text)


def replace_hidden(text: str, wrap: Callable[[str], str]) -> str:
    """Text with its lines and tabs; each other hidden character becomes what `wrap` makes of its visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return _hidden_in_lines.sub(lambda match: wrap(_visible(match)), text)


def markdown_cell(text: str, limit: int = CELL_LIMIT) -> str:
    """Text that is nothing but text in Markdown, in a table cell as well as elsewhere within a line."""
    text = clip(text, limit)
    if not _markup.search(text):
        return text.strip()
    line = terminal(text).strip().translate(_MARKDOWN)
    return _address.sub(lambda match: match[0] + _BREAK, line)


def markdown_link(name: str, file: str) -> str:
    """A link to a file next to the report, for relative paths only: a trace may name anything."""
    if file.startswith(("/", "\\")):
        return f"{markdown_cell(name)} ({markdown_cell(file)})"
    return f"[{markdown_cell(name)}]({quote(file, errors='replace')})"


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, an ellipsis where something is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def encode(value: object) -> bytes:
    """A value as one line of JSON that any reader accepts and that is harmless to print."""
    try:
        line = _encoder.encode(value)
    except UnicodeEncodeError:
        line = _encoder.encode(_replace_surrogates(msgspec.to_builtins(value, enc_hook=msgspec.json.decode)))
    if line.isascii() and b"\x7f" not in line:
        return line
    return _risky.sub(_escape, line)


def _escape(match: re.Match[bytes]) -> bytes:
    units = match[0].decode().encode("utf-16-be")
    return b"".join(b"\\u%04x" % int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))


def _replace_surrogates(value: object) -> object:
    """The same with each lone surrogate as one U+FFFD, so that the offsets of evidence still hold."""
    if isinstance(value, str):
        return _surrogate.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(entry) for key, entry in value.items()}
    return [_replace_surrogates(entry) for entry in value] if isinstance(value, list | tuple) else value
