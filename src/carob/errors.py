"""One exception tree. Each error has a place, a cause, a fix and an exit code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """pytest's exit codes, because people who run CI know them."""

    OK = 0
    FAILED = 1
    INTERRUPTED = 2
    INTERNAL = 3
    USAGE = 4
    NOTHING_SELECTED = 5


def single_stops(text: str) -> str:
    """The text without the second full stop that arises where a message quotes a sentence of another program."""
    if not any(end in text for end in ("..", "?.", "!.", "….")):
        return text
    import re  # few messages get here

    return re.sub(r"(?<=[^.\s/])([.?!…])\.(?=\s|\Z)", r"\1", text)


class CarobError(Exception):
    """An error the user can fix; printed as one line without a traceback."""

    exit_code = ExitCode.USAGE
    slug = "error"

    def __init__(self, message: str, *, where: str = "", fix: str = "", slug: str = "") -> None:
        message = single_stops(message)
        super().__init__(message)
        self.message = message
        self.where = where
        self.fix = fix
        self.slug = slug or self.slug

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        stop = "" if self.message.endswith((".", "?", "!", "…", ":")) else "."
        fix = f"{stop} {self.fix}" if self.fix else ""
        return f"{where}{self.message}{fix} [{self.slug}]"


class UsageError(CarobError):
    """A command line or a library call that cannot be carried out as written."""

    slug = "usage"


class ConfigError(CarobError):
    """carob.toml or [tool.carob] says something Carob cannot follow."""

    slug = "config"


class PlatformError(CarobError):
    """What was asked for starts processes, which this system cannot end with all that they started."""

    slug = "platform"


class NothingSelectedError(CarobError):
    """The selection leaves no case to run."""

    exit_code = ExitCode.NOTHING_SELECTED
    slug = "nothing-selected"


class JournalError(CarobError):
    """A journal that cannot be read: torn in the middle, of another format, or no journal at all."""

    slug = "journal"


class ArtifactError(CarobError):
    """A journal or report could not be written."""

    exit_code = ExitCode.INTERNAL
    slug = "artifact"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing wrong with a suite, at its place: file, line and column, and a path, which is all without a file."""

    file: str
    line: int
    column: int
    path: str
    message: str
    slug: str
    warning: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", single_stops(self.message))

    def __str__(self) -> str:
        position = f"{self.file}:{self.line}:{self.column}" if self.file else ""
        where = " ".join(filter(None, (position, self.path)))
        level = "warning: " if self.warning else ""
        return f"{where}{': ' if where else ''}{level}{self.message} [{self.slug}]"


class SuiteError(CarobError):
    """Every problem of a suite file at once; nothing is run."""

    slug = "suite"

    def __init__(self, problems: tuple[Diagnostic, ...]) -> None:
        super().__init__(f"{len(problems)} problem{'s' if len(problems) != 1 else ''}")
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))

    def __reduce__(self) -> tuple[type[SuiteError], tuple[tuple[Diagnostic, ...]]]:
        return SuiteError, (self.problems,)
