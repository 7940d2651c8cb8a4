"""A project: the configuration that holds in a folder, with the checks, reports and prices that it names."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct, field

from karat.errors import ConfigError
from karat.model.cost import TokenPrices
from karat.plugins.code import load_attribute
from karat.plugins.tables import FILES, Tables, find_tables, join_dotted, line_of, read
from karat.text.wording import did_you_mean, kind
from karat.text.words import LISTS

PREFIX = "python:"
KEPT_PROJECTS = 32
SETTLED_NS = 2_000_000_000


class OwnReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A report that every run of the project has: of its own code if `use` says where, at `path` if that is given."""

    use: str = ""
    path: str = ""


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    """What tokens cost, in USD per million."""

    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]


class Project(Struct, frozen=True):
    """What holds in a `folder`: the nearest configuration upward, found and read once, and what a team names there.

    It is a value: handed to whoever needs it, so that several can be used in one process. Paths are relative to the
    folder of `file`; `content` is all that the file says in its `section`.
    """

    folder: str = ""
    file: str = ""
    section: str = ""
    content: dict[str, object] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    reports: dict[str, OwnReport] = field(default_factory=dict)
    prices: Prices | None = None
    effects: dict[str, list[str]] = field(default_factory=dict)
    """What tools change and the words that claim it, for suites that do not declare their own."""
    words: dict[str, list[str]] = field(default_factory=dict)
    """Word lists in place of the published ones."""
    evaluators: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What evaluators of other tools mean, in the fields of `expected`."""
    trust_code: bool = False
    """Whether the user of this run trusts the code that suites hold; no file can say so."""

    def __hash__(self) -> int:
        return hash((self.folder, self.file, self.trust_code))

    @property
    def root(self) -> Path:
        return Path(self.file).parent

    def where(self, table: str, name: str) -> str:
        """`karat.toml:7`, where the table names it."""
        return line_of(Path(self.file), join_dotted(self.section, table), name)

    def load(self, table: str, name: str, spec: str) -> Any:
        """Load the code that a table names."""
        where = self.where(table, name)
        if not spec.startswith(PREFIX):
            fix = f"Write it as '{PREFIX}file.py:{name}' or '{PREFIX}module:{name}'."
            raise ConfigError(f"{spec!r} does not name any code.", where=where, fix=fix)
        try:
            return load_attribute(spec.removeprefix(PREFIX), self.root, [self.root])
        except ConfigError as error:
            error.where, error.fix = where, error.fix or "Fix it, or remove the line."
            raise


def find_project(folder: str | Path = ".") -> Project:
    """Find and read the project of a folder, by default of this one; without a configuration it is empty."""
    folder = os.path.realpath(folder)
    files = tuple(_files_upward(folder))
    newest = max((file.changed_ns for file in files), default=0)
    # Two changes within one tick of the file system's clock have one time: only what is older is known by it.
    read_project = _read_project if time.time_ns() - newest > SETTLED_NS else _read_project.__wrapped__
    return read_project(folder, files)


class _File(NamedTuple):
    """A file as it is now: it has changed if any of this has."""

    path: str
    changed_ns: int
    size: int
    inode: int


def _files_upward(folder: str) -> Iterator[_File]:
    """The files that may hold the configuration of a folder, the nearest first."""
    while True:
        for name in FILES:
            path = os.path.join(folder, name)
            with suppress(OSError):
                state = os.stat(path)
                if stat.S_ISREG(state.st_mode):
                    yield _File(path, state.st_mtime_ns, state.st_size, state.st_ino)
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return


@lru_cache(maxsize=KEPT_PROJECTS)
def _read_project(folder: str, files: tuple[_File, ...]) -> Project:
    tables = find_tables(Path(file.path) for file in files)
    if tables is None:
        return Project(folder)
    given = _table(tables, "prices")
    return Project(
        folder,
        str(tables.file),
        tables.section,
        tables.content,
        checks=_specs(tables, "checks", "check"),
        formats=_specs(tables, "formats", "format"),
        reports={name: _report(tables, name, value) for name, value in _table(tables, "reports").items()},
        prices=read(given, Prices, tables.file, join_dotted(tables.section, "prices")) if given else None,
        effects=_effects(tables),
        words=_words(tables),
        evaluators=_evaluators(tables),
    )


def _evaluators(tables: Tables) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, given in _table(tables, "evaluators").items():
        if not isinstance(given, dict) or not given:
            where = line_of(tables.file, join_dotted(tables.section, "evaluators"), name)
            fix = f'Write what it expects, as in `expected`: {name} = {{ must_say_any = ["..."] }}.'
            raise ConfigError(f"{name!r} is not a table of expectations.", where=where, fix=fix)
        found[name] = given
    return found


def _effects(tables: Tables) -> dict[str, list[str]]:
    return {tool: _phrases(tables, "effects", tool, given) for tool, given in _table(tables, "effects").items()}


def _words(tables: Tables) -> dict[str, list[str]]:
    words = {}
    for name, given in _table(tables, "words").items():
        known = LISTS.get(name)
        if known is None or not known.replaceable:
            where, fix = line_of(tables.file, join_dotted(tables.section, "words"), name), did_you_mean(name, LISTS)
            raise ConfigError(f"no word list is called {name!r}.", where=where, fix=fix or "docs/words.md lists them.")
        more = given.get("add") if isinstance(given, dict) else None
        words[name] = [*known.entries] if isinstance(given, dict) else []
        words[name] += _phrases(tables, "words", name, given if more is None else more)
    return words


def _phrases(tables: Tables, table: str, name: str, given: object) -> list[str]:
    if isinstance(given, list) and given and all(isinstance(one, str) and one.strip() for one in given):
        return given
    where = line_of(tables.file, join_dotted(tables.section, table), name)
    raise ConfigError(f"{name!r} is not a list of words.", where=where, fix=f'Write {name} = ["...", "..."].')


def _table(tables: Tables, name: str) -> dict[str, object]:
    table = tables.content.get(name, {})
    if not isinstance(table, dict):
        where, fix = line_of(tables.file, tables.section, name), f"Write it as a table, [{name}]."
        raise ConfigError(f"`{name}` is {kind(table)}.", where=where, fix=fix)
    return table


def _specs(tables: Tables, table: str, what: str) -> dict[str, str]:
    """A table of names and the code of each."""
    found: dict[str, str] = {}
    for name, value in _table(tables, table).items():
        if not isinstance(value, str):
            where = line_of(tables.file, join_dotted(tables.section, table), name)
            fix = f"Write it as '{PREFIX}file.py:{name}'."
            raise ConfigError(f"the {what} is {kind(value)}.", where=where, fix=fix)
        found[name] = value
    return found


def _report(tables: Tables, name: str, value: object) -> OwnReport:
    if isinstance(value, dict):
        return read(value, OwnReport, tables.file, join_dotted(tables.section, "reports", name))
    if isinstance(value, str):
        return OwnReport(use=value) if value.startswith(PREFIX) else OwnReport(path=value)
    if value is True:
        return OwnReport()
    where = line_of(tables.file, join_dotted(tables.section, "reports"), name)
    fix = f"Write true, the path of its file, or '{PREFIX}file.py:Class'."
    raise ConfigError(f"the report is {kind(value)}.", where=where, fix=fix)


def token_prices(project: Project) -> TokenPrices | None:
    """What tokens cost in this project."""
    prices = project.prices
    return None if prices is None else (prices.input, prices.output)
