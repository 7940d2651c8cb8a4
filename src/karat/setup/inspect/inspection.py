"""What an inspection gives: what was seen, the target that follows from it, and the turn that proves it.

Passwords of addresses are not shown: the target names variables that hold them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from karat.errors import ArtifactError, ConfigError
from karat.journal.redaction import Redactor
from karat.model.trace import Trace
from karat.plugins.project import Project
from karat.setup.inspect.toml import target_table


class Observation(NamedTuple):
    """One thing that was looked for, and what was seen of it."""

    what: str
    seen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """Of one agent. `trace` is a turn with the very table that is proposed; without one, `problem` says why."""

    name: str
    table: dict[str, object]
    """The keys under `[targets.NAME]`."""
    sightings: tuple[Observation, ...]
    trace: Trace | None = None
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether a turn with this target gave an answer."""
        return self.trace is not None

    @property
    def toml(self) -> str:
        """The target as written in karat.toml."""
        return target_table(self.name, self.table)


_PASSWORD = re.compile(r"""(?i)(?<=://)(?P<user>[^\s/?#"'<>\\@:]*)(?P<colon>:?)(?P<password>[^\s/?#"'<>\\@]*)(?=@)""")


def without_passwords(found: Inspection) -> Inspection:
    """The inspection with `${NAME_PASSWORD}` in place of a password, and of a user that is let in without one."""
    known: dict[str, str] = {}
    prefix = re.sub(r"\W", "_", found.name).upper()

    def name_password(match: re.Match[str]) -> str:
        user, secret = (match["user"], match["password"]) if match["colon"] else ("", match["user"])
        if not secret or secret.startswith("${"):
            return match[0]
        number = f"_{len(known) + 1}" if known and secret not in known else ""
        name = known.setdefault(secret, f"{prefix}_PASSWORD{number}")
        return f"{user}{match['colon']}${{{name}}}"

    table = {key: _replace_in(value, name_password) for key, value in found.table.items()}
    if not known:
        return found
    redactor = Redactor(known)
    seen = [Observation(what, tuple(map(redactor.message, lines))) for what, lines in found.sightings]
    kept = Observation("a password", tuple(f"is not shown: set {name} in the environment" for name in known.values()))
    return replace(
        found,
        table=table,
        sightings=(*seen, kept),
        trace=found.trace and redactor.trace(found.trace),
        problem=redactor.message(found.problem),
    )


def _replace_in(value: object, named: Callable[[re.Match[str]], str]) -> object:
    if isinstance(value, str):
        return _PASSWORD.sub(named, value)
    if isinstance(value, dict):
        return {key: _replace_in(item, named) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_in(item, named) for item in value]
    return value


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
