"""Texts and tables of the configuration with places in them: `{prompt}`, `{conversation.id}`, `${NAME}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from carob.text.key_names import suggest_keys
from carob.text.wording import join_words

PLACES = ("prompt", "messages", "conversation.id", "case.id")
KNOWN = f"There are {join_words((f'{{{name}}}' for name in PLACES), 'and')}."
GIVEN = {"otlp": "It needs telemetry = { otlp = true }.", "mcp": "It needs mcp_record."}
"""Places that are filled before, where the target asks for what they name."""
_PLACE = re.compile(r"\$\{(?P<variable>[^{}]*)\}|\{\{(?P<literal>[\w.]+)\}\}|\{(?P<name>[A-Za-z_][\w.]*)\}")


class Template:
    """What is sent, once its places are filled. A text that is nothing but one place takes the value as it is.

    A place whose value is not known yet is left out: the key of a table with it, or its part of a longer text.
    """

    def __init__(self, content: object, environ: Mapping[str, str]) -> None:
        """Raises ValueError for a place that there is not, and for a variable that is not set."""
        self._given = _read(content, environ)

    @property
    def fixed(self) -> bool:
        """Whether it is a text without places."""
        return isinstance(self._given, str)

    def fill(self, values: Mapping[str, object]) -> object:
        return _fill(self._given, values)

    def address(self, values: Mapping[str, object]) -> str:
        """As a part of a URL: what is filled in is not syntax of it."""
        if isinstance(self._given, str):
            return self._given
        return str(_fill(self._given, {name: quote(str(value or ""), safe="") for name, value in values.items()}))


class _Text(tuple[str | tuple[str], ...]):
    """A text in pieces: plain ones, and the names of places as tuples of one."""

    __slots__ = ()


def variables(content: object) -> Iterator[str]:
    """The names of the environment variables that a text or table asks for."""
    for text in texts(content):
        yield from (match["variable"] for match in _PLACE.finditer(text) if match["variable"])


def texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        for value in content.values():
            yield from texts(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from texts(value)


def _read(content: object, environ: Mapping[str, str]) -> object:
    if isinstance(content, str):
        return _pieces(content, environ)
    if isinstance(content, Mapping):
        return {key: _read(value, environ) for key, value in content.items()}
    return [_read(value, environ) for value in content] if isinstance(content, list | tuple) else content


def _pieces(text: str, environ: Mapping[str, str]) -> str | _Text:
    pieces: list[str | tuple[str]] = []
    end = 0
    for match in _PLACE.finditer(text):
        pieces += [text[end : match.start()], _piece(match, environ)]
        end = match.end()
    pieces.append(text[end:])
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(piece for piece in pieces if isinstance(piece, str))
    return _Text(piece for piece in pieces if piece)


def _piece(match: re.Match[str], environ: Mapping[str, str]) -> str | tuple[str]:
    if match["literal"]:
        return f"{{{match['literal']}}}"
    if match["variable"] is not None:
        return _variable(match["variable"], environ)
    if match["name"] not in PLACES:
        hint = GIVEN.get(match["name"]) or suggest_keys(match["name"], PLACES) or KNOWN
        raise ValueError(f"there is no placeholder {match[0]}. {hint} For the text itself, write {{{match[0]}}}")
    return (match["name"],)


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if not re.fullmatch(r"\w+", name):
        raise ValueError(f"${{{name}}} names no environment variable. Write it as ${{NAME}}")
    if not environ.get(name):
        raise ValueError(f"the environment variable {name} is not set. Set it before the run")
    return environ[name]


def _fill(content: object, values: Mapping[str, object]) -> object:
    if isinstance(content, _Text):
        if len(content) == 1:
            return values[content[0][0]]
        return "".join(piece if isinstance(piece, str) else str(values[piece[0]] or "") for piece in content)
    if isinstance(content, dict):
        filled = {key: _fill(value, values) for key, value in content.items()}
        return {key: value for key, value in filled.items() if value is not None or content[key] is None}
    return [_fill(value, values) for value in content] if isinstance(content, list) else content
