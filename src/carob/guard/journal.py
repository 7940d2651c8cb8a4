"""What a guard heard and decided, one line each: without secrets, in files of bounded size that replace each other."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from carob.errors import JournalError
from carob.guard.decision import Decision
from carob.model.trace import SECRETS_REMOVED
from carob.rules.events import ConversationEvent

FORMAT: Final = 1
LARGEST_FILE: Final = 16 << 20
KEPT_FILES: Final = 4
LARGEST_VALUE: Final = 1 << 14
"""A larger result or text is not written, only that it was there."""
NOT_WRITTEN: Final = "it was too long to be written"
SPAN_EVENT: Final = "carob.guard.decision"
_encode = msgspec.json.Encoder().encode


class GuardLine(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One line of the file of a guard."""

    at: float
    conversation: str
    event: ConversationEvent | None = None
    decision: Decision | None = None


class GuardHeader(Struct, frozen=True):
    """The first line of each file."""

    carob_guard: int
    policy: str
    """The hash of the rules."""
    rules: tuple[str, ...]


class GuardJournal:
    """A file of decisions. It raises OSError where it cannot be written: then the call is refused."""

    def __init__(
        self,
        path: str | Path,
        header: GuardHeader,
        *,
        secrets: Mapping[str, str] | None = None,
        largest: int = LARGEST_FILE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        from carob.journal.redaction import Redactor  # hooks without a journal need none

        self._path = Path(path)
        self._header = header
        self._largest = largest
        self._clock = clock
        self._lock = threading.Lock()
        self._descriptor = -1
        self._redactor = Redactor.for_environ(os.environ if secrets is None else secrets)

    def write(
        self, conversation: str, event: ConversationEvent | None = None, decision: Decision | None = None
    ) -> None:
        """Add a line, without secrets."""
        line = GuardLine(
            at=self._clock(),
            conversation=conversation,
            event=None if event is None else _shorten(event),
            decision=None if decision is None else structs.replace(decision, arguments=None, approval=""),
        )
        data = _encode(line)
        if self._redactor.finds(data):
            data = _encode(_mark_removed(self._redactor.redact(msgspec.json.decode(data))))
        with self._lock:
            self._open_file(len(data))
            _write_whole(self._descriptor, data + b"\n")
        if decision is not None:
            _note_on_span(decision)

    def close(self) -> None:
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _open_file(self, size: int) -> None:
        """Make sure that the file is there, is ours alone to read, and has room."""
        if self._descriptor < 0:
            # A pipe without a reader is refused: it must not be waited for.
            flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            self._descriptor = os.open(self._path, flags, 0o600)
            os.set_blocking(self._descriptor, True)
        used = os.fstat(self._descriptor).st_size
        if used + size > self._largest and used:
            os.close(self._descriptor)
            self._descriptor = -1
            for number in range(KEPT_FILES - 1, 0, -1):
                older = self._path_of(number)
                if older.exists():
                    os.replace(older, self._path_of(number + 1))
            os.replace(self._path, self._path_of(1))
            self._open_file(size)
        elif not used:
            _write_whole(self._descriptor, _encode(self._header) + b"\n")

    def _path_of(self, number: int) -> Path:
        return older_path(self._path, number)


def _mark_removed(line: Any) -> Any:
    """The line, which says itself that its values are not what they were."""
    if isinstance(line.get("event"), dict):
        line["event"].setdefault("doubt", SECRETS_REMOVED)
    return line


def _shorten(event: ConversationEvent) -> ConversationEvent:
    """The event as it is written: large values are left out."""
    large = {
        name: None if name in ("arguments", "result") else str(value)[:LARGEST_VALUE]
        for name in ("arguments", "result", "text", "error")
        if (value := getattr(event, name)) and len(_encode(value)) > LARGEST_VALUE
    }
    return structs.replace(event, **large, doubt=event.doubt or NOT_WRITTEN) if large else event


def _write_whole(descriptor: int, data: bytes) -> None:
    """Write all of it, or raise OSError and leave no half line."""
    before = os.fstat(descriptor).st_size
    written = os.write(descriptor, data)
    if written != len(data):
        os.ftruncate(descriptor, before)
        raise OSError(28, "no space is left for the journal of the guard")


def _note_on_span(decision: Decision) -> None:
    """Tell OpenTelemetry, where the program uses it."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is not None:
        attributes = {"carob.guard.verdict": decision.verdict, "gen_ai.tool.name": decision.tool}
        if decision.rule:
            attributes["carob.guard.rule"] = decision.rule
        trace.get_current_span().add_event(SPAN_EVENT, attributes)


NAME_FILE = "Name a file that a guard wrote."


def older_path(path: Path, number: int) -> Path:
    """Where a file is kept that was replaced so many times: `decisions.1.jsonl`, which is read with its folder."""
    return path.with_name(f"{path.stem}.{number}{path.suffix}")


def files_of(path: str | Path) -> list[Path]:
    """The files of a journal, those that were replaced first."""
    older = (older_path(Path(path), number) for number in range(KEPT_FILES, 0, -1))
    return [*(file for file in older if file.exists()), Path(path)]


def read_guard_journal(path: str | Path) -> Iterator[GuardLine]:
    """The lines of a journal, those of the files that it replaced first. Raises JournalError where it is none."""
    for file in files_of(path):
        yield from _read_file(file)


def _read_file(path: str | Path) -> Iterator[GuardLine]:
    decode = msgspec.json.Decoder(GuardLine).decode
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    msgspec.json.decode(line, type=GuardHeader)
                elif line.endswith(b"\n") and not line.startswith(b'{"carob_guard"'):
                    yield decode(line)
    except OSError as error:
        raise JournalError(f"it cannot be read: {error.strerror}.", where=str(path), fix=NAME_FILE) from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        message = f"line {number}: not a line of a guard's journal: {error}."
        raise JournalError(message, where=str(path), fix=NAME_FILE) from None


def find_unasked(path: str | Path) -> Iterator[tuple[str, str]]:
    """The calls that ran without a decision: the conversation of each, and its tool where that is known."""
    # Hooks write journals and read none.
    from carob.evidence.exports.guard_journal import GUARD_JOURNAL
    from carob.evidence.exports.reading import read_conversations

    for conversation in read_conversations(files_of(path), format=GUARD_JOURNAL.name):
        for tool in conversation.unguarded:
            yield conversation.id, tool
