"""The tables [labels] and [judge] of carob.toml."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit, urlunsplit

from msgspec import Meta, Struct

from carob.criteria.identity import canonical
from carob.errors import ConfigError
from carob.plugins.project import Project, join_dotted, read_table

TEMPLATES = (1,)
Promise = Annotated[float, Meta(ge=0.01, le=0.5)]
Table = TypeVar("Table", bound=Struct)


class LabelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where people's labels are. `evidence`: whether what was read is kept next to them, or its hash alone."""

    folder: Annotated[str, Meta(min_length=1)] = "labels"
    evidence: bool = True


class JudgeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The model that is asked, or a command in its place, and what a licence promises: the shares of errors."""

    model: str = ""
    base_url: str = ""
    command: tuple[str, ...] = ()
    template: Annotated[int, Meta(ge=1)] = 1
    false_pass: Promise = 0.10
    false_fail: Promise = 0.20
    max_asks: Annotated[int, Meta(ge=1)] = 500
    concurrency: Annotated[int, Meta(ge=1, le=64)] = 4
    timeout: Annotated[float, Meta(gt=0)] = 60.0

    @property
    def identity(self) -> str:
        """Which judge it is: another model, address, template or parameter is another judge."""
        parts = urlsplit(self.base_url)
        address = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
        facts = {"model": self.model, "base_url": address, "template": self.template, "parameters": {"temperature": 0}}
        if self.command:
            facts["command"] = list(self.command)
        return hashlib.sha256(canonical(facts)).hexdigest()


def label_settings(project: Project) -> LabelSettings:
    return _read(project, "labels", LabelSettings) or LabelSettings()


def judge_settings(project: Project) -> JudgeSettings | None:
    """The judge of this project; None where only labels decide."""
    settings = _read(project, "judge", JudgeSettings)
    if settings is None:
        return None
    where = project.where("", "judge")
    if bool(settings.model) == bool(settings.command):
        raise ConfigError("[judge] needs either `model` or `command`.", where=where, fix='Write model = "openai:NAME".')
    if settings.template not in TEMPLATES:
        known = ", ".join(map(str, TEMPLATES))
        raise ConfigError(f"there is no template {settings.template}.", where=where, fix=f"Known: {known}.")
    if settings.command and settings.base_url:
        raise ConfigError("`base_url` cannot be combined with `command`.", where=where, fix="Remove one of them.")
    return settings


def _read(project: Project, name: str, form: type[Table]) -> Table | None:
    table = project.content.get(name)
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigError(f"`{name}` is not a table.", where=project.file, fix=f"Write it as a table, [{name}].")
    return read_table(table, form, Path(project.file), join_dotted(project.section, name))


def labels_folder(project: Project) -> Path:
    """The folder of labels: next to carob.toml; without one, next to the suite."""
    folder = Path(project.file).parent if project.file else Path(project.suite_folder or project.folder or ".")
    return Path(os.path.normpath(folder / label_settings(project).folder))
