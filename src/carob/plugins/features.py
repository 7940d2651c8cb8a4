"""What a feature brings, as names: its commands, targets, formats and the rest, each with the place of its code.

Carob's own features and those of other packages are the same class. Nothing of a feature is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Final

from carob.errors import ConfigError
from carob.plugins.packages import FIX, load_all

OWN: Final = "carob.features.catalog:FEATURES"
ENTRY_POINTS: Final = "carob.features"


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `carob`: the heading that it is listed under in the help, and one line of what it is for."""

    name: str
    group: str
    summary: str
    loads: str


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target, the word before the colon, with an example of a spec.

    `is_recorded`: its answers are read from a file, so that no agent is asked. `completes`: a function that
    fills in the configuration of a target of this kind.
    """

    name: str
    loads: str
    example: str
    is_recorded: bool = False
    completes: str = ""


@dataclass(frozen=True, slots=True)
class SuiteFormat:
    """A suite format. A file of it holds one of `marks`; `late`: it takes less certain files, after eval sets."""

    name: str
    loads: str
    marks: tuple[str, ...] = ()
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A thing that a user can name, and all that the rest of Carob knows of it. Places are written `module:attribute`.

    `target_wrappers`: what a run can put around a target, a function of the target, what it is given, and the kind of
    the target. `settings`: tables of carob.toml by their names, each a struct. `library`: public names of `carob`.
    `services`: what the core asks for by name. `recordings`: readers of results of other tools.
    `extras`: by the name of an extra of the package, the modules that it installs.
    """

    name: str
    summary: str
    commands: tuple[Command, ...] = ()
    targets: tuple[TargetKind, ...] = ()
    target_wrappers: Mapping[str, str] = field(default_factory=dict)
    formats: tuple[SuiteFormat, ...] = ()
    checks: tuple[str, ...] = ()
    reports: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    library: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    recordings: tuple[str, ...] = ()
    mcp_tools: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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


def all_features() -> tuple[Feature, ...]:
    return (*own_features(), *outside_features())


def find_service(name: str) -> Any:
    """What a feature does for the core under this name. Raises ConfigError if no feature that is there does it."""
    for feature in all_features():
        if name in feature.services:
            return load(feature.services[name])
    raise ConfigError(f"no feature of this installation provides {name!r}.", fix="Install Carob whole.")


def load(place: str) -> Any:
    """What a place `module:attribute` names."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
