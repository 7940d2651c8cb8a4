"""What the events of a protocol hold: JSON, or an error that shows them."""

from __future__ import annotations

from karat.suites.diagnostics import Json
from karat.targets.base import TargetError
from karat.targets.http.streams import WireEvent
from karat.text.wording import shorten, visible

DONE = "[DONE]"
"""What ends a stream of many protocols; no event of it."""
MISFIT = "check the address and the kind in `use`"


def protocol_error(what: str) -> TargetError:
    """The error of a service that speaks another protocol: one of the configuration, unless others were understood."""
    return TargetError("config", f"{what}: {MISFIT}")


class EventKinds:
    """Whether any event of a stream was of the protocol, and how the first other one is called."""

    __slots__ = ("_fits", "_other", "_protocol")

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._fits = False
        self._other = ""

    def note(self, kind: str, *, fits: bool) -> None:
        self._fits = self._fits or fits
        self._other = self._other or kind

    def end_error(self, what: str) -> TargetError:
        """The error of a stream without its last event: it was cut off, or of another protocol."""
        return self.protocol_error or TargetError("bad-answer", f"{what}: it was cut off")

    @property
    def protocol_error(self) -> TargetError | None:
        """The error of a stream that has events, and none of the protocol."""
        if self._fits or not self._other:
            return None
        return protocol_error(f"no event is {self._protocol}; the first is {visible(shorten(self._other, 80))!r}")


def event_object(event: WireEvent, protocol: str) -> dict[str, Json]:
    """An event as the object that it has to be."""
    payload = event_json(event, protocol)
    if not isinstance(payload, dict) or not isinstance(payload.get("type"), str):
        raise protocol_error(f"an event is not a valid {protocol}: {visible(shorten(event.data, 200))}")
    return payload


def event_json(event: WireEvent, protocol: str) -> Json:
    try:
        return event.json()
    except ValueError as error:
        if event.torn:
            raise TargetError("bad-answer", "the stream ended within an event") from error
        shown = visible(shorten(event.data, 200))
        raise TargetError("bad-answer", f"an event is not a valid {protocol}: {error}: {shown}") from error
