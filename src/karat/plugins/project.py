"""The project that this process works in: checks and reports of a team's own, as the nearest karat.toml names them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from karat.errors import ConfigError
from karat.plugins.code import extend_path, load_attribute
from karat.plugins.tables import Tables, dotted, line_of, nearest, read
from karat.text.wording import did_you_mean, kind
from karat.text.words import LISTS

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
    reports: dict[str, OwnReport] = field(default_factory=dict)
    prices: Prices | None = None
    effects: dict[str, list[str]] = field(default_factory=dict)
    """What tools change and the words that claim it, for suites that do not declare their own."""
    words: dict[str, list[str]] = field(default_factory=dict)
    """Word lists in place of the published ones."""

    @property
    def root(self) -> Path:
        return Path(self.file).parent

    def where(self, table: str, name: str) -> str:
        """`karat.toml:7`, where the table names it."""
        return line_of(Path(self.file), dotted(self.section, table), name)

    def load(self, table: str, name: str, spec: str) -> Any:
        """The code that stands behind a name of a table."""
        where = self.where(table, name)
        if not spec.startswith(PREFIX):
            fix = f"Write it as '{PREFIX}file.py:{name}' or '{PREFIX}module:{name}'."
            raise ConfigError(f"{spec!r} names no code.", where=where, fix=fix)
        extend_path([self.root])
        try:
            return load_attribute(spec.removeprefix(PREFIX), self.root)
        except ConfigError as error:
            error.where, error.fix = where, error.fix or "Mend it, or leave the line out."
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
    checks = {name: _check(tables, name, value) for name, value in _table(tables, "checks").items()}
    reports = {name: _report(tables, name, value) for name, value in _table(tables, "reports").items()}
    given = _table(tables, "prices")
    prices = read(given, Prices, tables.file, dotted(tables.section, "prices")) if given else None
    return Project(str(tables.file), tables.section, checks, reports, prices, _effects(tables), _words(tables))


def _effects(tables: Tables) -> dict[str, list[str]]:
    return {tool: _phrases(tables, "effects", tool, given) for tool, given in _table(tables, "effects").items()}


def _words(tables: Tables) -> dict[str, list[str]]:
    words = {}
    for name, given in _table(tables, "words").items():
        known = LISTS.get(name)
        if known is None or not known.replaceable:
            where, fix = line_of(tables.file, dotted(tables.section, "words"), name), did_you_mean(name, LISTS)
            raise ConfigError(f"no word list is called {name!r}.", where=where, fix=fix or "docs/words.md has them.")
        more = given.get("add") if isinstance(given, dict) else None
        words[name] = [*known.entries] if isinstance(given, dict) else []
        words[name] += _phrases(tables, "words", name, given if more is None else more)
    return words


def _phrases(tables: Tables, table: str, name: str, given: object) -> list[str]:
    if isinstance(given, list) and given and all(isinstance(one, str) and one.strip() for one in given):
        return given
    where = line_of(tables.file, dotted(tables.section, table), name)
    raise ConfigError(f"{name!r} is not a list of words.", where=where, fix=f'Write {name} = ["...", "..."].')


def _table(tables: Tables, name: str) -> dict[str, object]:
    table = tables.content.get(name, {})
    if not isinstance(table, dict):
        where, fix = line_of(tables.file, tables.section, name), f"Write it as a table, [{name}]."
        raise ConfigError(f"`{name}` is {kind(table)}.", where=where, fix=fix)
    return table


def _check(tables: Tables, name: str, value: object) -> str:
    if not isinstance(value, str):
        where = line_of(tables.file, dotted(tables.section, "checks"), name)
        raise ConfigError(f"the check is {kind(value)}.", where=where, fix=f"Write it as '{PREFIX}file.py:{name}'.")
    return value


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
