"""A conversation of an export, and what is wrong with an export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct, structs

from carob.errors import CarobError
from carob.evidence.conversations import missing_turn
from carob.model.trace import Trace, TraceError

UNREAD = "unread"
"""The kind of error of a conversation whose row could not be read."""


class RecordedCase(NamedTuple):
    """What an agent did in a case, in the short form, as a result file of another tool has it.

    With `simulated` the user was a program: the case has one prompt, its script, and the turns are those of the two.
    """

    case_id: str
    form: dict[str, Any]
    repeat: int = 0
    """The number of the trial, which is counted where it is read."""
    simulated: bool = False
    said: tuple[str, ...] = ()
    """What the user said, in a file that does not name its cases."""
    identity: Mapping[str, object] = {}
    """What else such a file says of the case: it distinguishes cases in which the user said the same."""
    provider: str = ""
    """Who answered, in a file that holds the answers of several."""
    number: tuple[int, int] | None = None
    """The number of its test and prompt, where the file has it: otherwise its place in the file says nothing."""


class RecordedConversation(Struct, frozen=True, kw_only=True):
    """One conversation, whose turns are in `trace.turns` if there are several."""

    id: str
    """The id of its session; without one, that of its trace, or its place in the file."""
    trace: Trace
    format: str
    """The name of the format that it was read from."""
    source: str
    """The file, and the line where it is known."""
    has_session: bool = True
    """Whether the source says what belongs together; if not, a trace is a conversation, and earlier turns are setup."""
    started_at: float | None = None
    user: str = ""
    model: str = ""
    version: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    unguarded: tuple[str, ...] = ()
    """The tools whose calls ran although a guard wrote this and was not asked about them; empty: which it was is not
    known."""
    result: RecordedCase | None = None
    """The case that it is of, in results of another tool."""

    @property
    def unread(self) -> str:
        """Why nothing of it could be read; empty for one that was."""
        return self.trace.error.message if self.trace.error and self.trace.error.kind == UNREAD else ""


class ExportError(CarobError):
    """A file of conversations that cannot be read as what it is, or one row of it."""

    slug = "bad-export"


def unread_conversation(why: str, place: str, format: str = "", id: str = "") -> RecordedConversation:
    """What could not be read: every rule is unknown in it, and no other conversation is affected."""
    why = why.rstrip(".")
    trace = structs.replace(missing_turn(why, id or place), error=TraceError(UNREAD, why))
    return RecordedConversation(id=id or place, trace=trace, format=format, source=place, has_session=bool(id))
