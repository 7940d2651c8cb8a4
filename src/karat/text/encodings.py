"""How a secret may be written in a text: as it is, escaped in some way and more than once, or encoded.

A text is looked at in several views: as it is, with one level of its escapes taken away, with two, and so on; each also
as quoted-printable, and without its white space. In each view the secret is searched for as it is and encoded. What is
found is mapped back to where it came from. Each view is made in one pass: the time grows with the length of the text
alone, whatever the text holds.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from base64 import b32encode, b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from karat.text.regexes import lazy

SHORTEST = 4
"""Anything shorter cannot be distinguished from plain text."""
LEVELS = 6
"""So many escapes may be inside one another. A run of backslashes, and `%2525…`, count as one."""
MOST_VIEWS = 16
"""Beyond them, only the usual escapes are taken away."""
LONG_ENOUGH = 8
"""A secret of so many letters is not by chance what is left of a text without its white space."""
WRAPPED = 20
"""Nor is one of so many that has no white space of its own: it may be wrapped into lines."""
Span = tuple[int, int]

_ESCAPES = lazy.pattern(
    rb"""(?xs)
      % (?:25)* (?P<percent> [0-9A-Fa-f]{2} )
    | & (?:amp;)* (?: (?P<entity> \# (?: [0-9]{1,8} | [xX] [0-9A-Fa-f]{1,8} ) | [A-Za-z][A-Za-z0-9]{1,31} ) ; )
    | (?: \\++ | % (?:25)* ) u (?:
          (?P<high> [dD][89abAB][0-9A-Fa-f]{2} ) (?: \\++ | % (?:25)* ) u (?P<low> [dD][c-fC-F][0-9A-Fa-f]{2} )
        | (?P<unit> [0-9A-Fa-f]{4} )
      )
    | \\++ (?:
          u\{ (?P<point> [0-9A-Fa-f]{1,6} ) \} | U (?P<wide> [0-9A-Fa-f]{8} )
        | x (?P<byte> [0-9A-Fa-f]{2} ) | (?P<octal> [0-3][0-7]{2} )
        | (?P<letter> [abfnrtv] ) | (?P<end> \r?\n ) | (?P<itself> [^\\] )
      )?
    """
)
_QUOTED_PRINTABLE = lazy.pattern(rb"=(?:(?P<byte>[0-9A-F]{2})|[ \t]*\r?\n)")
_WHITE = lazy.pattern(rb"\s+")
_LETTERS = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_UNFINISHED = lazy.pattern(
    rb"(?:%(?:u[0-9A-Fa-f]{0,3}|[0-9A-Fa-f])?|&#?[0-9A-Za-z]{0,31}|\\+(?:u\{?[0-9A-Fa-f]{0,6}|U[0-9A-Fa-f]{0,7}|x[0-9A-Fa-f]?|[0-3][0-7]?)?|=[0-9A-F]?)\Z"
)
"""An escape that was cut off."""
_HIDING = lazy.pattern(
    rb"""(?xi)
      \\ (?: u00 [02-7] | u\{ | u000000 | x [02-7] | [01][0-7][0-7] | [ ]* \r?\n )
    | % (?:25)* (?: u00 | 2[36bdf] | 3[0-9ad] | 4[1-9a-f] | 5[0-9ac] | 6[1-9a-f] | 7[0-9a] )
    | & (?:amp;)* (?: \# | plus | sol | equals | lowbar | hyphen | dash )
    | = (?: [0-9A-F]{2} = [0-9A-F]{2} | (?: \\+ r)? \\+ n )
    """
)
"""Escapes, as they are in a record, that change letters, digits, what Base64 is made of, or begin another escape."""
_LOOSE = lazy.pattern(rb"(?:\\++[nrt]?|[ \t\r\n]|%(?:25)*(?:0[9AaDd]|20)|=(?:20|0[9AD]))++")
"""White space and backslashes, as they are in a record."""


class TextView:
    """Bytes, and where in another view each of them came from."""

    __slots__ = ("_ends", "_from", "_of", "_starts", "_to", "data")

    def __init__(self, data: bytes, of: TextView | None = None) -> None:
        self.data = data
        self._of = of
        self._starts: list[int] = []
        """Where what became of each token begins, where that ends, and where the token began and ended."""
        self._ends: list[int] = []
        self._from: list[int] = []
        self._to: list[int] = []

    def source(self, start: int, end: int) -> Span:
        """Where a piece came from, in the text itself."""
        if self._of is None:
            return start, end
        return self._of.source(self._place(start, self._from, 0), self._place(end - 1, self._to, 1))

    def _place(self, at: int, within: list[int], more: int) -> int:
        token = bisect_right(self._starts, at) - 1
        if token < 0:
            return at + more
        if at < self._ends[token]:
            return within[token]
        return self._to[token] + at - self._ends[token] + more

    def through(self, tokens: re.Pattern[bytes], read: Callable[[re.Match[bytes]], bytes | None]) -> TextView | None:
        """The view in which each token is what it is read as; None if that changes nothing."""
        pieces: list[bytes] = []
        made, last, size = TextView(b"", self), 0, 0
        for match in tokens.finditer(self.data):
            value = read(match)
            if value is None:
                continue
            first, end = match.span()
            size += first - last
            pieces += (self.data[last:first], value)
            made._starts.append(size)
            size += len(value)
            made._ends.append(size)
            made._from.append(first)
            made._to.append(end)
            last = end
        if not made._starts:
            return None
        made.data = b"".join((*pieces, self.data[last:]))
        return made


def views(data: bytes) -> Iterator[TextView]:
    """A text, and what it becomes when its escapes are taken away, level by level and in each way that fits."""
    level, seen = [TextView(data)], {data}
    for _ in range(LEVELS):
        yield from level
        new = {view.data: view for earlier in level for view in _next(earlier) if view.data not in seen}
        seen |= new.keys()
        level = [*new.values()] if len(seen) <= MOST_VIEWS else [*new.values()][:1]


def _next(view: TextView) -> Iterator[TextView]:
    ways = [(_ESCAPES, _unescape)]
    if b"\\x" in view.data:
        ways.append((_ESCAPES, _code_point))
    if b"=" in view.data:
        ways.append((_QUOTED_PRINTABLE, _printable))
    yield from (new for tokens, read in ways if (new := view.through(tokens, read)) is not None)


def _printable(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match["byte"].decode()) if match["byte"] else b""


def _code_point(match: re.Match[bytes]) -> bytes | None:
    """As JavaScript and Python texts have it, where `\\xe9` is a letter and not a byte."""
    return chr(int(match["byte"], 16)).encode() if match["byte"] else _unescape(match)


def _unescape(match: re.Match[bytes]) -> bytes | None:
    kind, given = match.lastgroup, match[match.lastgroup or 0]
    if kind is None:
        return None
    if kind in ("percent", "byte"):
        return bytes.fromhex(given.decode())
    if kind == "octal":
        return bytes([int(given, 8)])
    if kind == "itself":
        return given
    if kind == "letter":
        return bytes([_LETTERS[given[0]]])
    if kind == "end":
        return b""
    if kind == "entity":
        name = f"&{given.decode()};"
        return None if (found := html.unescape(name)) == name else _utf8(found)
    if kind == "low":
        pair = bytes.fromhex(f"{match['high'].decode()}{given.decode()}")
        return pair.decode("utf-16-be").encode()
    number = int(given, 16)
    return _utf8(chr(number)) if number < 0x110000 else None


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


class SecretForms:
    """What one secret is searched for as: in every view, and in those without white space."""

    def __init__(self, value: str) -> None:
        plain = list(_levels(_utf8(value)))
        lines = [b" ".join(form.split()) for form in plain]
        self.encoded = encodings_of(value)
        """Without the value itself: also looked for where it is wrapped into lines."""
        wide = [value.encode(f"utf-16-{order}", "surrogatepass") for order in ("le", "be")]
        spaced = [form.replace(b" ", b"+") for form in (*plain, *wide)]
        self.plain = _distinct((*plain, *lines, *spaced, *wide, *_other_letters(value)))
        loose = [
            (_WHITE.sub(b"", form), LONG_ENOUGH if _WHITE.search(form) else WRAPPED)
            for form in (*plain, *_other_letters(value))
        ]
        self.loose = _distinct((*self.encoded, *(form for form, enough in loose if len(form) >= enough)))
        self.run = max(re.findall(rb"[A-Za-z0-9]+", _utf8(value)), key=len, default=b"")
        """Letters and digits, which few escapes change."""
        self.loose_run = max(re.findall(rb"[A-Za-z0-9]+", _WHITE.sub(b"", _utf8(value))), key=len, default=b"")


def encodings_of(value: str) -> tuple[bytes, ...]:
    """The value as bytes in hex or in a list, and what it becomes in a text of Base64 or Base32 at any offset.

    It may begin at any place of a group of bytes; characters that it shares with its neighbours are left out. Base64
    may be of the value in JSON (as in a JWT), in UTF-16, or in Base64.
    """
    data = _utf8(value)
    in_json = [_utf8(json.dumps(value, ensure_ascii=every)[1:-1]) for every in (True, False)]
    sources = (data, *in_json, value.encode("utf-16-le", "surrogatepass"), _in_base64(data)[0])
    in_64 = [core for source in _distinct(sources) for core in _in_base64(source)]
    in_32 = [_core(b32encode(bytes(before) + data), before, len(data), 5) for before in range(5)]
    for_urls = [core.translate(bytes.maketrans(b"+/", b"-_")) for core in in_64]
    in_hex = [data.hex(separator).encode() if separator else data.hex().encode() for separator in ("", ":", "-", " ")]
    in_list = [",".join(form.format(byte) for byte in data).encode() for form in ("{}", "0x{:02x}")]
    forms = (*in_hex, *map(bytes.upper, in_hex), *in_64, *for_urls, *in_32, *map(bytes.lower, in_32), *in_list)
    return tuple(form for form in _distinct(forms) if len(form) > SHORTEST)


def _in_base64(data: bytes) -> list[bytes]:
    return [_core(b64encode(bytes(before) + data), before, len(data), 6) for before in range(3)]


def _other_letters(value: str) -> list[bytes]:
    """The value in other normal forms of Unicode, and as UTF-8 that was read as Latin-1 or Windows-1252."""
    forms = [_utf8(unicodedata.normalize(form, value)) for form in ("NFC", "NFD")]
    misread = (_utf8(value).decode(code, "ignore").encode() for code in ("latin-1", "cp1252"))
    return [form for form in (*forms, *misread) if form != _utf8(value)]


def _core(form: bytes, before: int, size: int, bits: int) -> bytes:
    return form[(before * 8 + bits - 1) // bits : (before + size) * 8 // bits]


def _levels(data: bytes) -> Iterator[bytes]:
    """A secret may itself look escaped: it is searched for without its escapes as well."""
    at: TextView | None = TextView(data)
    while at is not None:
        yield at.data
        at = at.through(_ESCAPES, _unescape)


def _distinct(forms: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(form for form in forms if len(form) >= SHORTEST))


class SecretSearch:
    """Finds known values in texts, however they are written there."""

    def __init__(self, values: Iterable[str]) -> None:
        known = [SecretForms(value) for value in values]
        self._plain = _distinct(form for one in known for form in one.plain)
        self._loose = _distinct(form for one in known for form in one.loose)
        self._runs = tuple({one.run for one in known})
        quoted = (quote(form.decode(), safe="").encode() for one in known for form in one.encoded)
        self._loose_runs = tuple({*(one.loose_run for one in known), *self._loose, *quoted})

    def may_hold(self, record: bytes) -> bool:
        """Whether a record, as JSON, may hold one. Wrong only on the safe side."""
        if not self._runs:
            return False
        if any(run in record for run in self._runs) or _HIDING.search(record) is not None:
            return True
        marked = any(mark in record for mark in (b"\\", b"%", b"="))
        # Where nothing but white space can be loose, a table takes it out ten times as fast as the pattern.
        loose = _LOOSE.sub(b"", record) if marked else record.translate(None, b" \t\r\n")
        return any(run in loose for run in self._loose_runs)

    def spans(self, data: bytes) -> list[Span]:
        """Where values are, in order and without overlaps."""
        found: list[Span] = []
        for view in views(data) if self._plain else ():
            found += _places(view, self._plain)
            found += _places(view.through(_WHITE, _nothing) or view, self._loose)
        return _merge(found)

    def without(self, data: bytes, instead: bytes) -> bytes:
        """Bytes with something else where values were."""
        pieces: list[bytes] = []
        last = 0
        for first, end in self.spans(data):
            pieces += (data[last:first], instead)
            last = end
        return b"".join((*pieces, data[last:]))

    def find_torn(self, data: bytes) -> int | None:
        """Where the beginning of a value at the end of a text begins, which may end within an escape."""
        ends = [len(data)]
        if (broken := _UNFINISHED.search(data, max(0, len(data) - 40))) is not None:
            ends.append(broken.start())
        window = max(map(len, (*self._plain, *self._loose)), default=0) * 16
        found = [at for end in ends for at in self._find_begun(data[max(0, end - window) : end], max(0, end - window))]
        return min(found, default=None)

    def _find_begun(self, data: bytes, offset: int) -> Iterator[int]:
        for view in views(data) if self._plain and data else ():
            last = view.data[-1] if view.data else None
            for form in (*self._plain, *self._loose):
                ends = (at for at in range(len(form) - 2, SHORTEST - 2, -1) if form[at] == last)
                size = next((at + 1 for at in ends if view.data.endswith(form[: at + 1])), 0)
                if size:
                    yield offset + view.source(len(view.data) - size, len(view.data))[0]


def _nothing(match: re.Match[bytes]) -> bytes:
    return b""


def _places(view: TextView, forms: Iterable[bytes]) -> Iterator[Span]:
    for form in forms:
        at = view.data.find(form)
        while at >= 0:
            yield view.source(at, at + len(form))
            at = view.data.find(form, at + len(form))


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(set(spans)):
        if merged and first < merged[-1][1]:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged
