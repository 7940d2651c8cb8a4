"""A target put into the configuration that holds for a folder; the rest of the file stays as it is."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from karat.errors import ArtifactError, ConfigError
from karat.plugins.project import Project
from karat.setup.inspect.inspection import Inspection
from karat.setup.inspect.toml import target_table

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
