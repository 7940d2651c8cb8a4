"""JSON that any reader accepts and that is harmless to print."""

from __future__ import annotations

import re
from typing import Final

import msgspec

_encoder: Final = msgspec.json.Encoder()
_surrogate = re.compile("[\ud800-\udfff]")
# DEL, C1 controls, line separators, reordering and invisible characters, as UTF-8: JSON allows them unescaped,
# but a terminal that shows the file would obey them.
_risky = re.compile(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
    rb"|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)


def encode(value: object) -> bytes:
    """One line of it."""
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
