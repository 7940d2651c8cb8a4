"""A `langgraph.json`: the graphs that it names, the environment that they get, and what they depend on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from karat.errors import ConfigError
from karat.traces.clean import loads

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*?)\s*")
_QUOTED = re.compile(r"""(['"])(?P<text>.*?)\1\s*(?:#.*)?""")

HOW_NAMED = 'Name graphs by file and attribute: "graphs": {"agent": "./agent.py:graph"}.'


@dataclass(frozen=True, slots=True)
class GraphProject:
    """What one file says. `missing` are packages that it asks for and that are not installed."""

    graphs: dict[str, object]
    env: dict[str, str]
    folders: tuple[Path, ...]
    missing: tuple[str, ...]


def read_project(file: Path) -> GraphProject:
    """Read a `langgraph.json`, or raise ConfigError."""
    try:
        table = loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"it cannot be read: {_why(error)}.", where=str(file), fix=HOW_NAMED) from error
    graphs = table.get("graphs") if isinstance(table, dict) else None
    if not isinstance(table, dict) or not isinstance(graphs, dict):
        raise ConfigError("it has no `graphs`.", where=str(file), fix=HOW_NAMED)
    needed = table.get("dependencies", [])
    if not isinstance(needed, list) or not all(isinstance(entry, str) for entry in needed):
        fix = 'For instance: "dependencies": ["."].'
        raise ConfigError("its `dependencies` are no list of texts.", where=str(file), fix=fix)
    local = [entry for entry in needed if entry.startswith((".", "/"))]
    folders = [folder for entry in local for folder in _folders(file, entry)]
    missing = tuple(entry for entry in needed if entry not in local and not _installed(entry))
    return GraphProject(graphs, _environment(file, table.get("env")), (*folders, file.parent), missing)


def _folders(file: Path, entry: str) -> list[Path]:
    """Where the modules of a local dependency are: in its folder, or in the `src` of it."""
    folder = file.parent / entry
    if not folder.is_dir():
        fix = "Mend `dependencies`."
        raise ConfigError(f"its dependency {entry!r} is no folder.", where=str(file), fix=fix)
    return [each for each in (folder / "src", folder) if each.is_dir()]


def _installed(entry: str) -> bool:
    name = _NAME.match(entry)
    try:
        return name is None or bool(version(name[0]))
    except PackageNotFoundError:
        return False


def _environment(file: Path, given: object) -> dict[str, str]:
    """`env`: a table, or the name of a file of `NAME=value` lines."""
    if given is None:
        return {}
    if isinstance(given, dict):
        return {str(name): str(value) for name, value in given.items()}
    if not isinstance(given, str):
        fix = 'For instance: "env": ".env".'
        raise ConfigError("its `env` is neither a table nor the name of a file.", where=str(file), fix=fix)
    try:
        lines = (file.parent / given).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        fix = "Write that file, or take `env` out."
        raise ConfigError(f"its `env` {given!r} cannot be read: {_why(error)}.", where=str(file), fix=fix) from error
    found = (_LINE.fullmatch(line) for line in lines)
    return {line["name"]: _unquoted(line["value"]) for line in found if line}


def _unquoted(value: str) -> str:
    quoted = _QUOTED.fullmatch(value)
    return quoted["text"] if quoted else re.split(r"\s+#", value)[0]


def _why(error: Exception) -> str:
    """What is wrong with a file whose name was told already."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
