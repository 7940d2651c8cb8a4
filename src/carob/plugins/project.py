"""A project: the configuration that holds in a folder, with the checks, reports and prices that it names.

It is in `carob.toml`, or in `[tool.carob]` of pyproject.toml; problems have their line.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field, structs

from carob.errors import ConfigError
from carob.plugins.features import all_features, load
from carob.system.portable import own_user
from carob.text.wording import did_you_mean, join_words, kind, shorten
from carob.text.words import published_lists

if TYPE_CHECKING:
    from carob.model.cost import TokenPrices

PREFIX = "python:"
KEPT_PROJECTS = 32
SETTLED_NS = 2_000_000_000
FORMER_FILE = "karat.toml"
FILES: Mapping[str, tuple[str, ...]] = {"carob.toml": (), "pyproject.toml": ("tool", "carob"), FORMER_FILE: ()}
"""Each file that may hold a configuration, and the section of it that does."""
UNKNOWN = re.compile(r"unknown field `(.*?)`", re.DOTALL)
FEW = 8
"""As many keys of a table are named where none is like the unknown one."""
_ENUM = re.compile(r"Invalid enum value '(.*)'", re.DOTALL)
_PROBLEM = re.compile(r"^(?P<problem>.*?)(?: - at (?:`key` in )?`\$\.?(?P<path>.*)`)?$", re.DOTALL)

Form = TypeVar("Form", bound=Struct)


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
    rules: list[str] = field(default_factory=list)
    """Files of rules that hold in every suite, next to its own."""
    claims: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Claims of coding agents: their words, and the command that bears each out."""
    evaluators: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What evaluators of other tools mean, in the fields of `expected`."""
    trust_code: bool = False
    """Whether the user of this run trusts the code that suites hold; no file can say so."""
    agent: str = ""
    """The agent whose answers are judged, where that is known: a judge's licence is for one agent."""
    labels_from: str = ""
    """The revision of git whose labels decide, in place of those in the folder."""
    suite_folder: str = ""
    """The folder of the suite that is judged, where that is known."""

    def __hash__(self) -> int:
        return hash((self.folder, self.file, self.trust_code))

    def judging(self, agent: str, suite: str) -> Project:
        """The project while answers of this agent to this suite are judged."""
        return structs.replace(self, agent=agent, suite_folder=os.path.dirname(os.path.join(self.folder, suite)))

    @property
    def root(self) -> Path:
        return Path(self.file).parent

    def where(self, table: str, name: str) -> str:
        """`carob.toml:7`, where the table names it."""
        return line_of(Path(self.file), join_dotted(self.section, table), name)

    def load(self, table: str, name: str, spec: str) -> Any:
        """Load the code that a table names."""
        where = self.where(table, name)
        if not spec.startswith(PREFIX):
            fix = f"Write it as '{PREFIX}file.py:{name}' or '{PREFIX}module:{name}'."
            raise ConfigError(f"{spec!r} does not name any code.", where=where, fix=fix)
        from carob.plugins.code import load_attribute  # few projects have code of their own

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
    project = read_project(folder, files)
    from carob.redaction.named import name_secrets  # a guard reads a policy without a project

    name_secrets(project.content.get("secrets"), os.environ)
    return project


class _File(NamedTuple):
    """A file as it is now: it has changed if any of this has."""

    path: str
    changed_ns: int
    size: int
    inode: int
    owner: int


def _files_upward(folder: str) -> Iterator[_File]:
    """The files that may hold the configuration of a folder, the nearest first: up to the repository or the home."""
    home = os.path.realpath(os.path.expanduser("~"))
    while True:
        for name in FILES:
            path = os.path.join(folder, name)
            with suppress(OSError):
                state = os.stat(path)
                if stat.S_ISREG(state.st_mode):
                    yield _File(path, state.st_mtime_ns, state.st_size, state.st_ino, state.st_uid)
        is_end = folder == home or os.path.exists(os.path.join(folder, ".git"))
        folder, below = os.path.dirname(folder), folder
        if is_end or folder == below:
            return


@lru_cache(maxsize=KEPT_PROJECTS)
def _read_project(folder: str, files: tuple[_File, ...]) -> Project:
    tables = _find_tables(Path(file.path) for file in files)
    if tables is None:
        return Project(folder)
    _refuse_foreign(folder, next(file for file in files if file.path == str(tables.file)))
    prices = tables.get("prices")
    return Project(
        folder,
        str(tables.file),
        tables.section,
        tables.content,
        checks={name: _spec(tables, "checks", name, spec) for name, spec in tables.get("checks").items()},
        formats={name: _spec(tables, "formats", name, spec) for name, spec in tables.get("formats").items()},
        reports={name: _report(tables, name, value) for name, value in tables.get("reports").items()},
        prices=read_table(prices, Prices, tables.file, join_dotted(tables.section, "prices")) if prices else None,
        effects={
            tool: [] if words == [] else _phrases(tables, "effects", tool, words)
            for tool, words in tables.get("effects").items()
        },
        words={name: _words(tables, name, words) for name, words in tables.get("words").items()},
        rules=_files(tables, "rules"),
        evaluators={name: _evaluator(tables, name, value) for name, value in tables.get("evaluators").items()},
        claims={name: _claim(tables, name, value) for name, value in tables.get("claims").items()},
    )


def _refuse_foreign(folder: str, file: _File) -> None:
    """Raise ConfigError for a configuration of another user: the code that it names would be run.

    Where root runs, as in containers, the folder may belong to who started them.
    """
    own = own_user()
    trusted = {own, 0} | ({os.stat(folder).st_uid} if own == 0 else set())
    if file.owner not in trusted:
        message = "it belongs to another user, and may name code that would be run as yours."
        raise ConfigError(message, where=file.path, fix="Use a carob.toml of your own.", slug="foreign-config")


def _spec(tables: _Tables, table: str, name: str, spec: object) -> str:
    """The code that a table names."""
    if isinstance(spec, str):
        return spec
    fix = f"Write it as '{PREFIX}file.py:{name}'."
    raise tables.error(table, name, f"the {table.removesuffix('s')} is {kind(spec)}.", fix)


def _report(tables: _Tables, name: str, value: object) -> OwnReport:
    if isinstance(value, dict):
        return read_table(value, OwnReport, tables.file, join_dotted(tables.section, "reports", name))
    if isinstance(value, str):
        return OwnReport(use=value) if value.startswith(PREFIX) else OwnReport(path=value)
    if value is True:
        return OwnReport()
    fix = f"Write true, the path of its file, or '{PREFIX}file.py:Class'."
    raise tables.error("reports", name, f"the report is {kind(value)}.", fix)


def _phrases(tables: _Tables, table: str, name: str, words: object) -> list[str]:
    if isinstance(words, list) and words and all(isinstance(word, str) and word.strip() for word in words):
        return words
    raise tables.error(table, name, f"{name!r} is not a list of words.", f'Write {name} = ["...", "..."].')


def _claim(tables: _Tables, name: str, claim: object) -> dict[str, Any]:
    is_claim = isinstance(claim, dict) and claim.keys() == {"words", "run"} and isinstance(claim["run"], str)
    if isinstance(claim, dict) and is_claim and claim["run"].strip():
        return {"words": _phrases(tables, "claims", name, claim["words"]), "run": claim["run"]}
    raise tables.error(
        "claims", name, f"{name!r} is not a claim.", f'{name} = {{ words = ["tests pass"], run = "^pytest" }}.'
    )


def _words(tables: _Tables, name: str, words: object) -> list[str]:
    """A word list in place of a published one, or one with more words."""
    published = published_lists().get(name)
    if published is None or not published.replaceable:
        fix = did_you_mean(name, published_lists()) or "`carob help words` lists them."
        raise tables.error("words", name, f"no word list is called {name!r}.", fix)
    if not isinstance(words, dict):
        return _phrases(tables, "words", name, words)
    return [*published.entries, *_phrases(tables, "words", name, words.get("add", words))]


def _files(tables: _Tables, name: str) -> list[str]:
    """The files that a key lists."""
    listed = tables.content.get(name, [])
    if isinstance(listed, list) and all(isinstance(file, str) and file.strip() for file in listed):
        return listed
    raise tables.error("", name, f"`{name}` is not a list of files.", f'Write {name} = ["policy.carob.yaml"].')


def _evaluator(tables: _Tables, name: str, expected: object) -> dict[str, Any]:
    if isinstance(expected, dict) and expected:
        return expected
    fix = f'Write what it expects, as in `expected`: {name} = {{ must_say_any = ["..."] }}.'
    raise tables.error("evaluators", name, f"{name!r} is not a table of expectations.", fix)


class _Tables(NamedTuple):
    """A configuration file, and the section of it that is ours."""

    file: Path
    section: str
    content: dict[str, object]

    def get(self, name: str) -> dict[str, object]:
        table = self.content.get(name, {})
        if not isinstance(table, dict):
            raise self.error("", name, f"`{name}` is {kind(table)}.", f"Write it as a table, [{name}].")
        return table

    def error(self, table: str, name: str, message: str, fix: str) -> ConfigError:
        where = line_of(self.file, join_dotted(self.section, table), name)
        return ConfigError(message, where=where, fix=fix)


def _find_tables(files: Iterable[Path]) -> _Tables | None:
    """Read the first of these files that holds a configuration."""
    for file in files:
        if file.name == FORMER_FILE:
            fix = "Rename it to carob.toml; if it is another tool's, put a carob.toml, which may be empty, next to it."
            raise ConfigError("Karat is called Carob now, and does not read this file.", where=str(file), fix=fix)
        section = FILES[file.name]
        if (content := _read_section(file, section)) is not None:
            return _Tables(file, ".".join(section), content)
    return None


def _suggest_toml(error: str, text: str) -> str:
    """What is usually wrong with the line that is refused; its value may be a secret, and is not shown."""
    place = re.search(r"at line (\d+)", error)
    lines = text.splitlines()
    line = lines[int(place[1]) - 1] if place and int(place[1]) <= len(lines) else ""
    key = shorten(line.partition("=")[0].strip(), 60)
    if "Cannot overwrite" in error or "Cannot declare" in error:
        if key == "[target]":
            return "`target` names one of the targets; write the table as [targets.NAME]."
        return f"{key} is there already: give one of them another name, or join the two."
    if "Invalid value" in error and "=" in line:
        return f'Put texts in quotes: {key} = "..."'
    return ""


def _read_section(file: Path, section: tuple[str, ...]) -> dict[str, object] | None:
    import tomllib

    try:
        text = file.read_bytes().decode("utf-8-sig")
        table: object = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"it cannot be read: {error}", where=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        if section and ".".join(section) not in text:
            return None  # a broken pyproject that says nothing of Carob is another tool's business
        raise ConfigError(f"it is not TOML: {error}", where=str(file), fix=_suggest_toml(str(error), text)) from error
    for name in section:
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def read_table(table: dict[str, object], form: type[Form], file: Path, name: str) -> Form:
    """One table of the file as a struct."""
    try:
        return msgspec.convert(table, form)
    except msgspec.ValidationError as error:
        message = str(error)
    unknown, match = UNKNOWN.search(message), _PROBLEM.match(message)
    if unknown is not None:
        raise ConfigError(
            f"unknown key {unknown[1]!r}.",
            where=line_of(file, name, unknown[1]),
            fix=_suggest_key(unknown[1], form.__struct_encode_fields__),
            slug="unknown-key",
        )
    problem, path = (match["problem"], match["path"] or "") if match else (message, "")
    key = re.split(r"[.\[]", path)[0]
    wrong, choices = _ENUM.match(problem), _choices(get_type_hints(form).get(key))
    fix = f"{did_you_mean(wrong[1], choices)} Known: {join_words(choices, 'and')}.".strip() if wrong and choices else ""
    raise ConfigError(f"`{join_dotted(name, path)}`: {problem}.", where=line_of(file, name, key), fix=fix)


def read_settings(project: Project, name: str) -> Any:
    """A table of carob.toml that a feature declares, as its struct; with its defaults if the file does not have it."""
    place = next(feature.settings[name] for feature in all_features() if name in feature.settings)
    table = project.content.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"`{name}` is not a table.", where=project.file, fix=f"Write it as a table, [{name}].")
    return read_table(table, load(place), Path(project.file), join_dotted(project.section, name))


def _choices(hint: object) -> list[str]:
    """The words that a type allows."""
    if get_origin(hint) is Literal:
        return [word for word in get_args(hint) if isinstance(word, str)]
    return [word for part in get_args(hint) for word in _choices(part)]


def _suggest_key(key: str, known: Collection[str]) -> str:
    """What a key of a table may be meant as; an option of a run is not set in the file."""
    from carob.options import HOW_TO_RUN

    near, option = did_you_mean(key, known), HOW_TO_RUN.get(key.replace("-", "_"))
    if option and key not in near:
        return f"It is an option of the command: {option.spellings[0]}."
    return near or (f"Known: {join_words(known, 'and')}." if len(known) <= FEW else "")


def join_dotted(*parts: str) -> str:
    return ".".join(filter(None, parts))


def line_of(file: Path, table: str, key: str) -> str:
    """`file:line` of a key, or of the table that it is, where it can be found by looking; else the file."""
    current, full_key = "", join_dotted(table, key)
    lines = file.read_text("utf-8-sig").splitlines() if file.is_file() else ()
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            current = header[1].replace('"', "").replace("'", "")
            if key and f"{current}.".startswith(f"{full_key}."):
                return f"{file}:{number}"
        elif key and current == table and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
            return f"{file}:{number}"
    return str(file)


def token_prices(project: Project) -> TokenPrices | None:
    """What tokens cost in this project."""
    prices = project.prices
    return None if prices is None else (prices.input, prices.output)
