"""What the events of a protocol hold: JSON, or an error that shows them."""

from __future__ import annotations

from karat.suites.findings import Json
from karat.targets.base import TargetError
from karat.targets.http.streams import WireEvent
from karat.text.wording import shorten, visible


def event_object(event: WireEvent, protocol: str) -> dict[str, Json]:
    """An event as the object that it has to be."""
    told = event_json(event, protocol)
    if not isinstance(told, dict) or not isinstance(told.get("type"), str):
        raise TargetError("config", f"an event is no {protocol}: {visible(shorten(event.data, 200))}")
    return told


def event_json(event: WireEvent, protocol: str) -> Json:
    try:
        return event.json()
    except ValueError as error:
        if event.torn:
            raise TargetError("bad-answer", "the stream ended within an event") from error
        shown = visible(shorten(event.data, 200))
        raise TargetError("bad-answer", f"an event is no {protocol}: {error}: {shown}") from error
