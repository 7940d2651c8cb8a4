"""What a guard heard and decided, one line each: without secrets, in a log that several processes may share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from carob.errors import JournalError
from carob.features.guard.decision import Decision
from carob.journal.append_log import USUAL_LIMITS, AppendLog, LogLimits, list_files
from carob.model.trace import SECRETS_REMOVED
from carob.rules.events import ConversationEvent

FORMAT: Final = 1
LARGEST_VALUE: Final = 1 << 14
"""A larger result or text is not written, only that it was there."""
NOT_WRITTEN: Final = "it was too long to be written"
SPAN_EVENT: Final = "carob.features.guard.decision"
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
        limits: LogLimits = USUAL_LIMITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        from carob.redaction.redactor import Redactor  # hooks without a journal need none

        self._log = AppendLog(Path(path), lambda: _encode(header), limits)
        self._clock = clock
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
        self._log.append(lambda: data)
        if decision is not None:
            _note_on_span(decision)

    def close(self) -> None:
        self._log.close()


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


def _note_on_span(decision: Decision) -> None:
    """Tell OpenTelemetry, where the program uses it."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is not None:
        attributes = {"carob.features.guard.verdict": decision.verdict, "gen_ai.tool.name": decision.tool}
        if decision.rule:
            attributes["carob.features.guard.rule"] = decision.rule
        trace.get_current_span().add_event(SPAN_EVENT, attributes)


NAME_FILE = "Name a file that a guard wrote."


def read_guard_journal(path: str | Path) -> Iterator[GuardLine]:
    """The lines of a journal, those of the files that it replaced first. Raises JournalError where it is none."""
    for file in list_files(path):
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

    for conversation in read_conversations(list_files(path), format=GUARD_JOURNAL.name):
        for tool in conversation.unguarded:
            yield conversation.id, tool
