"""What the runner and a worker say to each other, each as one frame of JSON."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from karat.engine.plan import Item
from karat.engine.work import Done, Settings
from karat.errors import ConfigError, Diagnostic, KaratError, SuiteError
from karat.model.suite import Case
from karat.plugins.project import Project
from karat.targets.config import TargetConfig


class Start(Struct, frozen=True, tag="start"):
    """The first message: what to open, and how many cases to carry out at once."""

    target: TargetConfig
    settings: Settings
    secrets: tuple[str, ...]
    path: list[str]
    concurrency: int = 1
    project: Project = Project()
    """Whose checks judge."""
    folder: str = ""
    """Where the run was started."""


class Assignment(Struct, frozen=True, tag="assignment", omit_defaults=True):
    """One case to carry out, and those that are to be torn down before it."""

    token: int
    item: Item
    attempt: int
    untidy: tuple[Case, ...] = ()


class Ready(Struct, frozen=True, tag="ready"):
    """The target is open."""


class Refused(Struct, frozen=True, tag="refused"):
    """The target cannot be opened; nothing was run."""

    message: str
    where: str
    fix: str
    slug: str
    problems: tuple[Diagnostic, ...] = ()


class Begun(Struct, frozen=True, tag="begun"):
    """One case is being carried out."""

    token: int


class Finished(Struct, frozen=True, tag="finished"):
    """One case carried out. `last` if the worker ends with it, because this case alone held up all the others.

    `deaf`: it ignores its cancellation and goes on until its process is ended.
    """

    token: int
    done: Done
    last: bool = False
    deaf: bool = False


class Returned(Struct, frozen=True, tag="returned", omit_defaults=True):
    """One case that was not carried out, or whose time-out others may have caused: then it is to be run alone."""

    token: int
    alone: bool = False


def refusal(error: KaratError) -> Refused:
    """An error as a message, because errors do not travel between processes."""
    problems = error.problems if isinstance(error, SuiteError) else ()
    return Refused(error.message, error.where, error.fix, error.slug, problems)


def refused_as(message: Refused) -> KaratError:
    """The error that a message tells of."""
    if message.problems:
        return SuiteError(message.problems)
    return ConfigError(message.message, where=message.where, fix=message.fix, slug=message.slug)


def _read(kind: type, value: object) -> object:
    """A path; whatever is called an object is what it is."""
    return value if kind is object else kind(value)


encode = msgspec.json.Encoder(enc_hook=str).encode
for_worker = msgspec.json.Decoder(Start | Assignment, dec_hook=_read).decode
for_runner = msgspec.json.Decoder(Ready | Refused | Begun | Finished | Returned).decode
