"""The project that this process works in: checks and reports of a team's own, as the nearest karat.toml names them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from karat.errors import ConfigError
from karat.plugins.code import extend_path, load_attribute
from karat.plugins.tables import Tables, dotted, line_of, nearest, read
from karat.text.wording import kind

PREFIX = "python:"


class OwnReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A report that every run of the project has: of its own code if `use` says where, at `path` if that is given."""

    use: str = ""
    path: str = ""


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    """What tokens cost, in USD per million."""

    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]


class Project(Struct, frozen=True):
    """What a team brings to Karat. Paths are relative to the folder of `file`."""

    file: str = ""
    section: str = ""
    checks: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    reports: dict[str, OwnReport] = field(default_factory=dict)
    prices: Prices | None = None

    @property
    def root(self) -> Path:
        return Path(self.file).parent

    def where(self, table: str, name: str) -> str:
        """`karat.toml:7`, where the table names it."""
        return line_of(Path(self.file), dotted(self.section, table), name)

    def load(self, table: str, name: str, spec: str) -> Any:
        """The code that a table names."""
        where = self.where(table, name)
        if not spec.startswith(PREFIX):
            fix = f"Write it as '{PREFIX}file.py:{name}' or '{PREFIX}module:{name}'."
            raise ConfigError(f"{spec!r} names no code.", where=where, fix=fix)
        extend_path([self.root])
        try:
            return load_attribute(spec.removeprefix(PREFIX), self.root)
        except ConfigError as error:
            error.where, error.fix = where, error.fix or "Fix it, or remove the line."
            raise


_entered: list[Project | str] = []


def enter(project: Project | str) -> None:
    """From now on this process works in this project, or in that of a folder, wherever an agent may go."""
    _entered[:] = [project]


def current() -> Project:
    """The project that was entered; without, that of the current folder when it is first asked for."""
    if not _entered:
        enter(os.getcwd())
    if isinstance(_entered[0], str):
        enter(of_folder(_entered[0]))
    assert isinstance(_entered[0], Project)
    return _entered[0]


def of_folder(folder: str) -> Project:
    """The project of a folder; one that has nothing of its own if there is no configuration."""
    tables = nearest(Path(folder))
    if tables is None:
        return Project()
    checks, formats = _specs(tables, "checks", "check"), _specs(tables, "formats", "format")
    reports = {name: _report(tables, name, value) for name, value in _table(tables, "reports").items()}
    given = _table(tables, "prices")
    prices = read(given, Prices, tables.file, dotted(tables.section, "prices")) if given else None
    return Project(str(tables.file), tables.section, checks, formats, reports, prices)


def _table(tables: Tables, name: str) -> dict[str, object]:
    table = tables.content.get(name, {})
    if not isinstance(table, dict):
        where, fix = line_of(tables.file, tables.section, name), f"Write it as a table, [{name}]."
        raise ConfigError(f"`{name}` is {kind(table)}.", where=where, fix=fix)
    return table


def _specs(tables: Tables, table: str, what: str) -> dict[str, str]:
    """A table of names and the code behind each."""
    found: dict[str, str] = {}
    for name, value in _table(tables, table).items():
        if not isinstance(value, str):
            where = line_of(tables.file, dotted(tables.section, table), name)
            fix = f"Write it as '{PREFIX}file.py:{name}'."
            raise ConfigError(f"the {what} is {kind(value)}.", where=where, fix=fix)
        found[name] = value
    return found


def _report(tables: Tables, name: str, value: object) -> OwnReport:
    if isinstance(value, dict):
        return read(value, OwnReport, tables.file, dotted(tables.section, "reports", name))
    if isinstance(value, str):
        return OwnReport(use=value) if value.startswith(PREFIX) else OwnReport(path=value)
    if value is True:
        return OwnReport()
    where = line_of(tables.file, dotted(tables.section, "reports"), name)
    fix = f"Write true, the path of its file, or '{PREFIX}file.py:Class'."
    raise ConfigError(f"the report is {kind(value)}.", where=where, fix=fix)
