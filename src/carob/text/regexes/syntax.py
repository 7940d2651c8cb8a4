"""Reading a regex just enough to bound it and to fit it to the text it will see.

Regexes see a text whose quotes, dashes, spaces and line ends are plain ones and whose invisible characters are gone. A
pattern that names such a character (as itself or as an escape) would never match, and a `must_not_match_regex` with it
would never fail, so the pattern is made plain in the same way. Patterns that mean what JavaScript means by them (no
flags, `$` is the very end) are translated.
"""

import re
from functools import lru_cache
from typing import Final
from unicodedata import lookup, normalize

from carob.text.characters import INVISIBLE, PLAIN_FORMS, WIDE_SPACES
from carob.text.regexes import lazy

_LONGEST_PATTERN: Final = 4096
_MOST_REPEATS: Final = 1000
# `(?:a{1000}){1000}` is written out by the compiler: nested counts multiply in time and memory.
_MOST_NESTED_REPEATS: Final = 10_000
_DEEPEST_NESTING: Final = 100
_KNOWN_FLAGS: Final = frozenset("aimsux")
_ALWAYS_ON: Final = frozenset("im")

_ESCAPE = r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|N\{[^}]*\}|.|$)"
_TOKEN = lazy.pattern(
    rf"(?P<escape>{_ESCAPE})"
    r"|(?P<recursion>\(\?(?:R|[0-9]+|&\w+|P>\w+)\))"
    r"|(?P<flags>\(\?(?P<on>[a-zA-Z0-9]*)(?:-(?P<off>[a-zA-Z]+))?(?P<scope>[:)]))"
    r"|(?P<open>\((?:\?#[^)]*)?)|(?P<close>\))"
    r"|(?P<repeat>\{(?P<least>[0-9]*),?(?P<most>[0-9]*)\})"
    r"|(?P<fuzzy>\{[0-9<=+,eids\s]*[eids][0-9<=+,eids\s]*(?::[^}]*)?\})"
    r"|(?P<set>\[\^?\]?)|(?P<char>.)",
    re.DOTALL,
)
_SET_TOKEN = lazy.pattern(
    rf"(?P<posix>\[:\^?\w+:\])|(?P<unset>\])"
    rf"|(?P<range>(?P<low>{_ESCAPE}|[^\\])-(?P<high>{_ESCAPE}|[^\\\]]))|(?P<escape>{_ESCAPE})|(?P<char>.)",
    re.DOTALL,
)
_INVISIBLE = lazy.pattern(f"[{INVISIBLE}]")
_WIDE_SPACE = lazy.pattern(f"[{WIDE_SPACES}]")
_RETURN_NEWLINE = lazy.pattern(r"(?:\\r|\r)(\\n|\n)(?![?*])")
_JAVASCRIPT_TOKEN: Final = lazy.pattern(r"\\k<\w+>|\\.|\(\?[a-z]+[:)]|\[\^?\]?|\]|[$.^]", re.DOTALL)
_JAVASCRIPT_CLASSES: Final = {"d": "0-9", "w": "A-Za-z0-9_"}
# The block of typographic punctuation: a range within it means quotes, dashes or spaces.
_PUNCTUATION: Final = ("\u2000", "\u206f")


class BadPattern(ValueError):
    """A regex that cannot be used; the message says why and where."""


def rewrite(pattern: str) -> str:
    """The pattern as it is to be compiled, or BadPattern if it is too big or asks for what suites may not use."""
    if len(pattern) > _LONGEST_PATTERN:
        raise BadPattern(f"longer than {_LONGEST_PATTERN:,} characters ({len(pattern):,})")
    source = _RETURN_NEWLINE.sub(r"\1", normalize("NFC", pattern))
    repeats, parts, position, in_set = _Repeats(), [], 0, False
    while position < len(source):
        token = (_SET_TOKEN if in_set else _TOKEN).match(source, position)
        assert token is not None  # both end in "any character"
        kind = token.lastgroup
        if kind in ("char", "escape"):
            parts.append(_fit(token[0], in_set))
        elif kind == "range":
            parts.append(
                token[0] + _plain_forms_between(_named_character(token["low"]), _named_character(token["high"]))
            )
        else:
            parts.append(token[0])
        if not in_set:
            _refuse(token)
            repeats.read(token)
        in_set = kind == "set" or (in_set and kind != "unset")
        position = token.end()
    return "".join(parts)


def _refuse(token: re.Match[str]) -> None:
    """Refuse flags that change how the rest is read, and matching that is only roughly a match."""
    where = f"at position {token.start()}"
    if token["fuzzy"]:
        raise BadPattern(f"{token[0]} means fuzzy matching, which is not supported; write \\{{ for a brace {where}")
    if token["recursion"]:
        raise BadPattern(f"recursion {token[0]} is not supported {where}")
    if not token["flags"]:
        return
    flags = set(token["on"] + (token["off"] or ""))
    if flags - _KNOWN_FLAGS:
        raise BadPattern(f"flags {token[0]} are not supported, only {''.join(sorted(_KNOWN_FLAGS))} are {where}")
    if token["scope"] == ")" and token.start() > 0 and flags - _ALWAYS_ON:
        raise BadPattern(f"flags {token[0]} must be at the start of the pattern, not {where}")


class _Repeats:
    """How often the innermost part of a pattern can be repeated, with the counts of nested repeats multiplied."""

    def __init__(self) -> None:
        self._groups = [1]
        self._last = 1

    def read(self, token: re.Match[str]) -> None:
        if token["open"] or token["scope"] == ":":
            self._groups.append(1)
            if len(self._groups) > _DEEPEST_NESTING:
                raise BadPattern(f"groups are nested more than {_DEEPEST_NESTING} deep at position {token.start()}")
        elif token["close"] and len(self._groups) > 1:
            self._last = self._groups.pop()
        elif token["repeat"]:
            self._multiply(token)
        elif token[0] not in "*+?":
            self._last = 1
        self._groups[-1] = max(self._groups[-1], self._last)

    def _multiply(self, token: re.Match[str]) -> None:
        digits = max(token["least"], token["most"], key=len).lstrip("0")
        times = int(digits[:9] or "1")
        self._last *= times
        if times > _MOST_REPEATS:
            raise BadPattern(f"repeats {token[0]} more than {_MOST_REPEATS:,} times at position {token.start()}")
        if self._last > _MOST_NESTED_REPEATS:
            raise BadPattern(f"nested repeats of more than {_MOST_NESTED_REPEATS:,} at position {token.start()}")


def _fit(token: str, in_set: bool) -> str:
    """The token, or its plain form where it names a character that the text no longer holds."""
    char = _named_character(token)
    form = PLAIN_FORMS.get(char)
    if form is not None:
        return {"-": r"\-", "\n": r"\n"}.get(form, form)
    if _INVISIBLE.fullmatch(char):
        # An empty group, so that a quantifier after it has something to stand on.
        return "" if in_set else "(?:)"
    return r"\ " if _WIDE_SPACE.fullmatch(char) else token


def _named_character(token: str) -> str:
    """The character that a token names if it can be one that the text no longer holds, else something harmless."""
    if token[0] != "\\":
        return token
    body = token[1:]
    if body == "r":
        return "\r"
    if body[:2] == "N{":
        try:
            return lookup(body[2:-1])
        except KeyError:
            return ""
    if len(body) > 1:
        code = int(body[1:], 16)
        return chr(code) if code < 0x110000 else ""
    return "" if body.isascii() else body


def _plain_forms_between(low: str, high: str) -> str:
    if not (_PUNCTUATION[0] <= low <= high <= _PUNCTUATION[1]):
        return ""
    between = (chr(code) for code in range(ord(low), ord(high) + 1))
    return "".join(sorted({form for char in between if (form := _fit(char, in_set=True)) != char}))


@lru_cache(maxsize=4096)
def translate_javascript(pattern: str) -> str:
    """A pattern of JavaScript for the `regex` module. Raises BadPattern for what JavaScript does not know."""
    in_set = False

    def translate(match: re.Match[str]) -> str:
        nonlocal in_set
        token = match[0]
        if token.startswith("(?"):
            if not in_set and token != "(?P":
                raise BadPattern(f"JavaScript has no {token}: write both letters, such as [Aa]")
            return token
        if token.startswith("\\k<"):
            return f"(?P={token[3:-1]})"
        if token.startswith("\\"):
            ascii_class = _JAVASCRIPT_CLASSES.get(token[1].lower(), "")
            if not ascii_class or (in_set and token[1].isupper()):
                return token
            return ascii_class if in_set else f"[{'^' * token[1].isupper()}{ascii_class}]"
        if token.startswith("[") and not in_set:
            in_set = not token.endswith("]")
            return {"[]": "(?!)", "[^]": r"[\s\S]"}.get(token, token)
        if token == "]":
            in_set = False
            return token
        if in_set:
            return token.replace("[", r"\[")
        return {"$": r"\Z", ".": r"[^\n\r\u2028\u2029]"}.get(token, token)

    return _JAVASCRIPT_TOKEN.sub(translate, pattern)
