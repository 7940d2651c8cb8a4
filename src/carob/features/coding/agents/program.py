"""What there is to know of the program of a coding agent: its call without a person, its settings, its log."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from msgspec import Struct

from carob.evidence.exports.base import ExportFormat
from carob.evidence.exports.reading import read_conversations
from carob.evidence.exports.record import ExportError, RecordedConversation
from carob.evidence.exports.sessions.session import read_rows

KEY_FIX: Final = "Set {} in the environment of Carob, or in the `env` of the target."
RETRIES: Final = 2
"""So often a program may ask a model again that failed."""


class AgentRun(Struct, frozen=True):
    """One run of the program: what it is asked, where, and what it finds in its environment."""

    prompt: str
    model: str
    folder: Path
    home: Path
    environment: Mapping[str, str]
    """What the target and Carob's own proxy set, and the keys and addresses of models that Carob was started with."""


class KnownFailure(NamedTuple):
    """Words by which the program says why it did not work, and what helps."""

    words: re.Pattern[str]
    fix: str


class AgentProgram(ABC):
    """The program of one coding agent."""

    name: ClassVar[str]
    program: ClassVar[str]
    """How the program is called."""
    install: ClassVar[str]
    tried: ClassVar[str]
    """The version, as far as it counts, that Carob was tried with."""
    format: ClassVar[ExportFormat]
    """That of its log."""
    passed_on: ClassVar[tuple[str, ...]]
    """Variables of Carob's environment that it needs: keys and addresses of models."""
    own_files: ClassVar[tuple[str, ...]]
    """What it writes for itself: below HOME, or where a path begins with `/`."""
    made_files: ClassVar[tuple[str, ...]] = ()
    """What it makes in the folder in which it works, whatever it is asked."""
    failures: ClassVar[tuple[KnownFailure, ...]]
    default_model: ClassVar[str] = ""
    asks_version: ClassVar[bool] = True
    """Whether it has `--version`; else only its log says which it is."""
    reads_stdin: ClassVar[bool] = False
    """Whether it takes the prompt from its standard input."""

    def prepare(self, run: AgentRun) -> None:  # noqa: B027 - few have settings below HOME
        """Write its settings below HOME, before it is started."""

    def is_stuck(self, row: Mapping[str, Any]) -> bool:
        """Whether an object of its output says that it goes on trying to reach its model, without end."""
        return False

    @abstractmethod
    def variables(self, run: AgentRun) -> dict[str, str]:
        """What its environment gets: no telemetry home, no updates, few retries."""

    @abstractmethod
    def arguments(self, run: AgentRun) -> list[str]:
        """The arguments of the call that answers one prompt without a person."""

    def read_log(self, run: AgentRun, output: Sequence[Mapping[str, Any]]) -> RecordedConversation | None:
        """What it wrote of the run: the objects of its output, or what it left below HOME. None if there is nothing."""
        return read_rows(self.format, [*output], f"the output of {self.program}")

    def find_fix(self, said: str) -> str:
        """What helps against a failure that the program words like this; the empty string if it is not known."""
        return next((failure.fix for failure in self.failures if failure.words.search(said)), "")


def read_session_files(format: ExportFormat, folder: Path, pattern: str) -> RecordedConversation | None:
    """The conversation of the latest session file below a folder; None if there is none that can be read."""
    paths = [path for path in folder.glob(pattern) if path.is_file() and not path.is_symlink()]
    if not paths:
        return None
    try:
        return next(read_conversations([max(paths, key=lambda path: path.stat().st_mtime)], format=format.name), None)
    except (ExportError, OSError):
        return None
