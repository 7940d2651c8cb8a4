"""A conversation of an export, and what is wrong with an export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from carob.errors import CarobError
from carob.model.trace import Trace


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


class ExportError(CarobError):
    """A file of conversations that cannot be read as what it is."""

    slug = "bad-export"
