"""How a secret may be written in a text: as it is, escaped in some way and more than once, or encoded.

A text is looked at in several views: as it is, with one level of its escapes taken away, with two, and so on; each also
as quoted-printable, and without its white space. In each view the secret is searched for as it is and encoded. What is
found is mapped back to where it came from. Each view is made in one pass: the time grows with the length of the text
alone, whatever the text holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from carob.text.folding import OffsetMap, Span, Stretch
from carob.text.regexes import lazy

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

KEY_FORMATS = (
    r"(?i:\b(?:(?:sk|pk|rk|ghp|gho|ghs|xox[abps]|glpat|hf|npm|pypi)[-_]|AKIA|ASIA|AIza)(?=[a-z_-]*\d)[\w-]{16,})"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"
    r"|\bBearer [A-Za-z0-9._~+/-]{12,}"
    r"|(?i:\b(?:password|passwd|pwd|secret|token|api[_-]?key)=[^\s&;,'\"]{4,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
"""What keys, tokens and passwords look like, as far as that is published; docs/draft.md prints it."""
_ESCAPES = lazy.pattern(
    rb"""(?xs)
      % (?:25)* (?P<byte> [0-9A-Fa-f]{2} )
    | & (?:amp;)* (?: (?P<entity> \# (?: [0-9]{1,8} | [xX] [0-9A-Fa-f]{1,8} ) | [A-Za-z][A-Za-z0-9]{1,31} ) ; )
    | (?: \\++ | % (?:25)* ) u (?:
          (?P<high> [dD][89abAB][0-9A-Fa-f]{2} ) (?: \\++ | % (?:25)* ) u (?P<low> [dD][c-fC-F][0-9A-Fa-f]{2} )
        | (?P<unit> [0-9A-Fa-f]{4} )
      )
    | \\++ (?:
          u\{ (?P<point> [0-9A-Fa-f]{1,6} ) \} | U (?P<wide> [0-9A-Fa-f]{8} )
        | x (?P<hex> [0-9A-Fa-f]{2} ) | (?P<octal> [0-3][0-7]{2} ) | (?P<char> \r?\n | [^\\] )
      )?
    """
)
_QUOTED_PRINTABLE = lazy.pattern(rb"=(?:(?P<byte>[0-9A-F]{2})|[ \t]*\r?\n)")
_WHITE = lazy.pattern(rb"\s+")
_CHARS = {b"\n": b"", b"\r\n": b""} | {
    bytes([key]): bytes([char]) for key, char in zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True)
}
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


class _View(NamedTuple):
    """Bytes, and how they lead back to the view that they were made from."""

    data: bytes
    source: _View | None = None
    offsets: OffsetMap | None = None

    def written_span(self, start: int, end: int) -> Span:
        """Where a piece came from, in the text itself."""
        if self.source is None or self.offsets is None:
            return start, end
        return self.source.written_span(*self.offsets.source_span(start, end))

    def replace(self, tokens: re.Pattern[bytes], decode: Callable[[re.Match[bytes]], bytes | None]) -> _View | None:
        """The view in which each token is what it is read as; None if that changes nothing."""
        pieces: list[bytes] = []
        stretches: list[Stretch] = []
        position = size = 0
        for token in tokens.finditer(self.data):
            value = decode(token)
            if value is None:
                continue
            start, end = token.span()
            size += start - position
            pieces += (self.data[position:start], value)
            stretches.append(Stretch(start, end, size, size + len(value)))
            size += len(value)
            position = end
        if not stretches:
            return None
        return _View(b"".join((*pieces, self.data[position:])), self, OffsetMap.of(stretches))


def _views(data: bytes) -> Iterator[_View]:
    """A text, and what it becomes when its escapes are taken away, level by level and in each way that fits."""
    level, contents = [_View(data)], {data}
    for _ in range(LEVELS):
        yield from level
        new = {
            view.data: view for earlier in level for view in _next_views(earlier) if view and view.data not in contents
        }
        contents |= new.keys()
        level = [*new.values()] if len(contents) <= MOST_VIEWS else [*new.values()][:1]


def _next_views(view: _View) -> Iterator[_View | None]:
    yield view.replace(_ESCAPES, _unescape)
    if b"\\x" in view.data:
        yield view.replace(_ESCAPES, _unescape_code_point)
    if b"=" in view.data:
        yield view.replace(_QUOTED_PRINTABLE, lambda token: bytes.fromhex((token["byte"] or b"").decode()))


def _unescape_code_point(token: re.Match[bytes]) -> bytes | None:
    """As JavaScript and Python texts have it, where `\\xe9` is a letter and not a byte."""
    return chr(int(token["hex"], 16)).encode() if token["hex"] else _unescape(token)


def _unescape(token: re.Match[bytes]) -> bytes | None:
    kind = token.lastgroup
    if kind is None:
        return None
    content = token[kind]
    if kind == "char":
        return _CHARS.get(content, content)
    if kind in ("byte", "hex"):
        return bytes.fromhex(content.decode())
    if kind == "octal":
        return bytes([int(content, 8)])
    if kind == "entity":
        import html

        entity = f"&{content.decode()};"
        return None if (text := html.unescape(entity)) == entity else _utf8(text)
    if kind == "low":
        return bytes.fromhex((token["high"] + content).decode()).decode("utf-16-be").encode()
    number = int(content, 16)
    return _utf8(chr(number)) if number < 0x110000 else None


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _encoded_forms(value: str) -> tuple[bytes, ...]:
    """The value as bytes in hex or in a list, and what it becomes in a text of Base64 or Base32 at any offset.

    It may begin at any place of a group of bytes; characters that it shares with its neighbours are left out. Base64
    may be of the value in JSON (as in a JWT), in UTF-16, or in Base64.
    """
    import json
    from base64 import b32encode

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
    from base64 import b64encode

    return [_core(b64encode(bytes(before) + data), before, len(data), 6) for before in range(3)]


def _core(form: bytes, before: int, size: int, bits: int) -> bytes:
    return form[(before * 8 + bits - 1) // bits : (before + size) * 8 // bits]


def _letter_forms(value: str) -> Iterator[bytes]:
    """The value as it is, without the escapes that it seems to have, in other normal forms, and wrongly decoded."""
    view: _View | None = _View(_utf8(value))
    while view is not None:
        yield view.data
        view = view.replace(_ESCAPES, _unescape)
    yield from (_utf8(unicodedata.normalize(form, value)) for form in ("NFC", "NFD"))
    yield from (_utf8(value).decode(code, "ignore").encode() for code in ("latin-1", "cp1252"))


def _longest_run(data: bytes) -> bytes:
    """Letters and digits, which few escapes change."""
    return max(re.findall(rb"[A-Za-z0-9]+", data), key=len, default=b"")


def _distinct(forms: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(form for form in forms if len(form) >= SHORTEST))


class SecretSearch:
    """Finds known values in texts, however they are written there."""

    def __init__(self, values: Iterable[str]) -> None:
        plain: list[bytes] = []
        loose: list[bytes] = []
        runs, loose_runs = set[bytes](), set[bytes]()
        for value in values:
            letters = list(dict.fromkeys(_letter_forms(value)))
            wide = [value.encode(f"utf-16-{order}", "surrogatepass") for order in ("le", "be")]
            plain += (*letters, *wide, *(b" ".join(form.split()) for form in letters))
            plain += (form.replace(b" ", b"+") for form in (*letters, *wide))
            loose += (encoded := _encoded_forms(value))
            for form in letters:
                bare = _WHITE.sub(b"", form)
                loose += [bare] if len(bare) >= (WRAPPED if bare == form else LONG_ENOUGH) else []
            runs.add(_longest_run(_utf8(value)))
            loose_runs |= {_longest_run(_WHITE.sub(b"", _utf8(value)))}
            loose_runs |= {quote(form.decode(), safe="").encode() for form in encoded}
        self._plain, self._loose = _distinct(plain), _distinct(loose)
        self._runs, self._loose_runs = tuple(runs), (*loose_runs, *self._loose)

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
        spans: set[Span] = set()
        for view in _views(data) if self._plain else ():
            spans.update(_find_forms(view, self._plain))
            spans.update(_find_forms(view.replace(_WHITE, lambda token: b"") or view, self._loose))
        return merge_spans(spans)

    def replace(self, data: bytes, replacement: Callable[[bytes], bytes]) -> bytes:
        """Bytes with something else where values were."""
        pieces: list[bytes] = []
        position = 0
        for start, end in self.spans(data):
            pieces += (data[position:start], replacement(data[start:end]))
            position = end
        return b"".join((*pieces, data[position:]))

    def find_torn(self, data: bytes) -> int | None:
        """Where the beginning of a value at the end of a text begins, which may end within an escape."""
        ends = [len(data)]
        if (escape := _UNFINISHED.search(data, max(0, len(data) - 40))) is not None:
            ends.append(escape.start())
        window = max(map(len, (*self._plain, *self._loose)), default=0) * 16
        return min((start for end in ends for start in self._find_begun(data, max(0, end - window), end)), default=None)

    def _find_begun(self, data: bytes, start: int, end: int) -> Iterator[int]:
        for view in _views(data[start:end]) if self._plain and start < end else ():
            last = view.data[-1] if view.data else None
            for form in (*self._plain, *self._loose):
                for size in range(len(form) - 1, SHORTEST - 1, -1):
                    if form[size - 1] == last and view.data.endswith(form[:size]):
                        yield start + view.written_span(len(view.data) - size, len(view.data))[0]
                        break


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The same places in order, without overlaps."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _find_forms(view: _View, forms: Iterable[bytes]) -> Iterator[Span]:
    for form in forms:
        at = view.data.find(form)
        while at >= 0:
            yield view.written_span(at, at + len(form))
            at = view.data.find(form, at + len(form))
