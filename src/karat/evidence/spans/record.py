"""One span as it arrived, in plain values, whatever it was sent as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from msgspec import Struct

Attributes = Mapping[str, object]

ERROR = 2
"""OTLP's status code of a span that failed."""
RESOURCE = 256
"""So many attributes of a resource are read: each of its spans is looked for in them."""


class SpanEvent(Struct, frozen=True):
    """Something that a span reports of a moment within it."""

    name: str
    at: float
    attributes: Attributes


class SpanRecord(Struct, frozen=True):
    """A span that has ended. Ids are hexadecimal; a root has no parent."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    started: float
    ended: float
    attributes: Attributes
    events: tuple[SpanEvent, ...] = ()
    failed: bool = False
    status: str = ""
    """What the span says of its failure."""
    scope: str = ""
    resource: Attributes = {}
    lossy: bool = False
    """Whether its maker had to leave attributes or events out."""


Sent = TypeVar("Sent")
_Sent = TypeVar("_Sent", contravariant=True)


class Origin(Protocol[_Sent]):
    """What can read the spans that came with it."""

    def record(self, span: _Sent, /) -> SpanRecord: ...


ArrivedSpan = tuple[bytes, Sent, Origin[Sent]]
"""A span that was received and not yet read: the id of its trace, the span, and what can read it."""


class SpanBatch(Protocol):
    """A request that was received, parsed, and not looked at any further."""

    def spans(self) -> list[ArrivedSpan[Any]]: ...
