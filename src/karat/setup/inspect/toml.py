"""A target as TOML, plain values under its header and long ones under headers of their own; added to karat.toml."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from karat.errors import ArtifactError, ConfigError
from karat.plugins.project import Project
from karat.setup.inspect.inspection import Inspection

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")
APART = frozenset({"options", "ui_vocabulary", "preconditions", "stream"})
"""Tables that are written below a header of their own."""


def target_table(name: str, table: Mapping[str, object], section: str = "") -> str:
    """`[targets.NAME]` with all that it holds."""
    path = ".".join(filter(None, (section, "targets", key(name))))
    return "\n".join(_lines(path, table))


def _lines(path: str, table: Mapping[str, object]) -> Iterator[str]:
    yield f"[{path}]"
    below = []
    for name, value in table.items():
        if name in APART and isinstance(value, dict) and value:
            below.append((name, value))
        else:
            yield f"{key(name)} = {inline(value)}"
    for name, value in below:
        yield ""
        yield from _lines(f"{path}.{key(name)}", value)


def key(name: str) -> str:
    return name if _BARE.fullmatch(name) else inline(name)


def inline(value: object) -> str:
    """A value on one line."""
    if isinstance(value, str):
        # JSON's escapes are TOML's too, apart from the characters that TOML does not allow unescaped.
        return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key(k)} = {inline(v)}' for k, v in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return json.dumps(value)


NEW = "karat.toml"


def add(inspection: Inspection, project: Project) -> Path:
    """Write the target at the end of the configuration, or of a new karat.toml; the file."""
    file = Path(project.file or Path(project.folder) / NEW)
    targets = project.content.get("targets")
    if isinstance(targets, dict) and inspection.name in targets:
        fix = "Choose another with --name, or remove that one."
        raise ConfigError(f"it has a target {inspection.name!r} already.", where=str(file), fix=fix, slug="name-taken")
    before = file.read_text("utf-8-sig") if project.file else ""
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    addition = f"{gap}{target_table(inspection.name, inspection.table, project.section)}\n"
    _try(before + addition, file)
    try:
        with file.open("ab" if before else "xb", buffering=0) as out:
            out.write(addition.encode())
            os.fsync(out.fileno())
    except OSError as error:
        raise ArtifactError(f"it cannot be written: {error.strerror}.", where=str(file)) from error
    return file


def _try(text: str, file: Path) -> None:
    """Whether the file would still be TOML: one whose `targets` are an inline table cannot be added to."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fix = "Print the target instead, and add it by hand."
        message = "`targets` is written inline, so no table can be added at the end of the file."
        raise ConfigError(message, where=str(file), fix=fix) from error
