"""The tables of `karat.toml`, or of `[tool.karat]` in pyproject.toml; problems have their line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from karat.errors import ConfigError
from karat.text.wording import did_you_mean

Form = TypeVar("Form", bound=Struct)

UNKNOWN = re.compile(r"unknown field `(.*?)`", re.DOTALL)
_PLACE = re.compile(r"^(?P<what>.*?)(?: - at (?:`key` in )?`\$\.?(?P<path>.*)`)?$", re.DOTALL)


class Tables(NamedTuple):
    """A configuration file, and the section of it that is ours."""

    file: Path
    section: str
    content: dict[str, object]


FILES: Mapping[str, tuple[str, ...]] = {"karat.toml": (), "pyproject.toml": ("tool", "karat")}
"""Each file that may hold a configuration, and the section of it that does."""


def find_tables(files: Iterable[Path]) -> Tables | None:
    """Read the first of these files that holds a configuration."""
    for file in files:
        section = FILES[file.name]
        if (content := _content(file, section)) is not None:
            return Tables(file, ".".join(section), content)
    return None


def read(table: dict[str, object], form: type[Form], file: Path, place: str) -> Form:
    """One table of the file as a struct."""
    try:
        return msgspec.convert(table, form)
    except msgspec.ValidationError as error:
        message = str(error)
    unknown, match = UNKNOWN.search(message), _PLACE.match(message)
    if unknown is not None:
        raise ConfigError(
            f"unknown key {unknown[1]!r}.",
            where=line_of(file, place, unknown[1]),
            fix=did_you_mean(unknown[1], form.__struct_encode_fields__),
            slug="unknown-key",
        )
    what, path = (match["what"], match["path"] or "") if match else (message, "")
    key = re.split(r"[.\[]", path)[0]
    raise ConfigError(f"`{join_dotted(place, path)}`: {what}.", where=line_of(file, place, key))


def join_dotted(*parts: str) -> str:
    return ".".join(filter(None, parts))


def line_of(file: Path, table: str, key: str) -> str:
    """`file:line` of a key, or of the table that it is, where it can be found by looking; else the file."""
    current, own = "", join_dotted(table, key)
    lines = file.read_text("utf-8-sig").splitlines() if file.is_file() else ()
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            current = header[1].replace('"', "").replace("'", "")
            if key and f"{current}.".startswith(f"{own}."):
                return f"{file}:{number}"
        elif key and current == table and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
            return f"{file}:{number}"
    return str(file)


def _content(file: Path, section: tuple[str, ...]) -> dict[str, object] | None:
    import tomllib

    try:
        text = file.read_bytes().decode("utf-8-sig")
        table: object = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"it cannot be read: {error}", where=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        if section and ".".join(section) not in text:
            return None  # a broken pyproject that says nothing of Karat is another tool's business
        raise ConfigError(f"it is not TOML: {error}", where=str(file)) from error
    for name in section:
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None
