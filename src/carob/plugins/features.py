"""What a feature brings, as names: its commands, targets, formats and the rest, each with the place of its code.

Carob's own features and those of other packages are the same class. Nothing of a feature is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Final, TypeVar

from carob.errors import ConfigError
from carob.plugins.packages import FIX, load_all

OWN: Final = "carob.features.catalog:FEATURES"
ENTRY_POINTS: Final = "carob.features"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `carob`: the heading that it is listed under in the help, and one line of what it is for.

    A name with an option in it, such as `compare --history`, is a form of that command, with arguments of its own; the
    help of the command lists it.
    `needs_processes`: it starts programs or waits for them, so that it is refused on Windows.
    """

    name: str
    group: str
    summary: str
    loads: str
    needs_processes: bool = False


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target, the word before the colon, with an example of a spec.

    `is_recorded`: its answers are read from a file, so that no agent is asked. `completes`: a function that
    fills in the configuration of a target of this kind. `extra`: the extra of Carob that it needs. `in_process`: its
    tools run in Carob's own process.
    """

    name: str
    loads: str
    example: str
    is_recorded: bool = False
    completes: str = ""
    extra: str = ""
    in_process: bool = False


@dataclass(frozen=True, slots=True)
class SuiteFormat:
    """A suite format. A file of it holds one of `marks`; `late`: it takes less certain files, after eval sets."""

    name: str
    loads: str
    marks: tuple[str, ...] = ()
    late: bool = False


@dataclass(frozen=True, slots=True)
class RecordingFormat:
    """Results of another tool: a `ResultReader`. A row of them has all keys of one of `keys`, which may be paths.

    A key with `*` at its end is any that begins so.
    """

    name: str
    loads: str
    keys: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the viewer: a function of a PageRequest, and next to it `templates/NAME.html`, which extends base.html.

    `address`: `/run/{key}/NAME` for a page on a run, else `/NAME`. One with a `title` is listed on the pages of each
    run; of runs with this `option` only, if it names one. `assets`: style and scripts next to the template.
    `writes`: a function of a PageRequest and a JSON object that was sent here, if a person was named who may write.
    """

    address: str
    loads: str
    title: str = ""
    option: str = ""
    assets: tuple[str, ...] = ()
    writes: str = ""

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of `carob mcp` that only reads: a function of texts that returns lines.

    Its parameters and docstring are what a coding agent reads. What is named `suite` or `journal` is a path, held to
    the project before the function is called; without a journal, it is given the last one.
    """

    name: str
    title: str
    loads: str


@dataclass(frozen=True, slots=True)
class CheckPlace:
    """A check, and where its class is. The key of `expected` that asks for it is called as the check.

    `more_keys`: those that only refine it. `has_key`: whether a key of `expected` asks for it at all.
    """

    name: str
    loads: str
    more_keys: tuple[str, ...] = ()
    has_key: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.name, *self.more_keys) if self.has_key else self.more_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A thing that a user can name, and all that the rest of Carob knows of it. Places are written `module:attribute`.

    `target_wrappers`: what a run can put around a target, a function of the target, what it is given, and the kind of
    the target. `settings`: tables of carob.toml by their names, each a struct. `library`: public names
    that other packages add to `carob`; those of Carob are in `__init__.pyi`, for type checkers. `services`: what the
    core asks for by name. `recordings`: results of other tools. `case_parts`: what the viewer shows below a case,
    each a function of a PageRequest, a record and its run.
    """

    name: str
    summary: str
    commands: tuple[Command, ...] = ()
    targets: tuple[TargetKind, ...] = ()
    target_wrappers: Mapping[str, str] = field(default_factory=dict)
    formats: tuple[SuiteFormat, ...] = ()
    checks: tuple[CheckPlace, ...] = ()
    reports: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    library: Mapping[str, str] = field(default_factory=dict)
    pages: tuple[Page, ...] = ()
    case_parts: tuple[Page, ...] = ()
    services: Mapping[str, str] = field(default_factory=dict)
    recordings: tuple[RecordingFormat, ...] = ()
    mcp_tools: tuple[McpTool, ...] = ()


@cache
def own_features() -> tuple[Feature, ...]:
    """Those of Carob itself, in the order of the catalog."""
    features: tuple[Feature, ...] = load(OWN)
    return features


def outside_features() -> Iterator[Feature]:
    """Those of installed packages."""
    for where, _, feature in load_all(ENTRY_POINTS):
        if not isinstance(feature, Feature):
            raise ConfigError("it is not a carob.Feature.", where=where, fix=FIX)
        yield feature


def all_features() -> Iterator[Feature]:
    yield from own_features()
    yield from outside_features()


def each_row(core: Iterable[T], of_feature: Callable[[Feature], Iterable[T]]) -> Iterator[T]:
    """What the core has and what features bring. Features are read, and packages asked, where that is not enough."""
    yield from core
    for feature in all_features():
        yield from of_feature(feature)


def find_service(name: str) -> Any:
    """What a feature does for the core under this name. Raises ConfigError if no feature that is there does it."""
    for feature in all_features():
        if name in feature.services:
            return load(feature.services[name])
    raise ConfigError(f"no feature of this installation provides {name!r}.", fix="Install Carob whole.")


def find_public_name(name: str) -> Any:
    """What a feature of another package adds to `carob` under this name; None if none does."""
    places = (feature.library[name] for feature in outside_features() if name in feature.library)
    place = next(places, None)
    return None if place is None else load(place)


def load(place: str) -> Any:
    """What a place `module:attribute` names."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


class Lazy(Mapping[str, T]):
    """Values by their names, each of which is made when it is first asked for.

    `every`: all names in their order, which are only found out for one that is not among `names`, and to list them.
    """

    def __init__(
        self, make: Callable[[str], T], names: Collection[str], every: Callable[[], Collection[str]] = tuple
    ) -> None:
        self._make, self._names, self._every = make, names, every
        self._made: dict[str, T] = {}

    @cached_property
    def _all(self) -> dict[str, None]:
        return dict.fromkeys((*self._every(), *self._names))

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            if name not in self:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    __eq__, __hash__ = object.__eq__, object.__hash__
