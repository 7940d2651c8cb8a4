"""Whether the log of a turn tells that the backend broke: its verdict would be one on the backend, not on the agent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from karat.telemetry.events import Event, parse_all
from karat.text.regexes import lazy

_BROKE = lazy.pattern(
    r"stream[\W_]*(?:error|fail|abort|broke|interrupt|closed)|rate[\W_]*limit|too many requests|overloaded|quota"
    r"|(?:llm|model|provider|backend|upstream|inference|completion|gateway)[\W_]*(?:error|fail|timeout|unavailable|down)"
    r"|(?:status|code|http)\W{0,4}(?:429|502|503|529)\b|service unavailable",
    re.IGNORECASE,
)
_BAD = lazy.pattern(r"error|fail|exception|abort|rate[\W_]*limit|overloaded|unavailable", re.IGNORECASE)
_BAD_LEVEL = lazy.pattern(r"error|fatal|critical", re.IGNORECASE)
_MENDED = lazy.pattern(r"end|complete|finish|done|response|result|success|recover", re.IGNORECASE)
_BAD_LINE = lazy.pattern(r"[^\w{]*[^{]{0,80}\b(?:ERROR|FATAL|CRITICAL)\b")


def broken_backend(lines: tuple[str, ...], written: str = "") -> str | None:
    """The line that tells it; none if the same source came through later in the turn."""
    events = parse_all(lines, written)
    for place, (line, event) in enumerate(zip(lines, events, strict=True)):
        if _tells(line, event) and not _mended(event, events[place + 1 :]):
            return line
    return None


def _tells(line: str, event: Event | None) -> bool:
    if event is None:
        return _BAD_LINE.match(line[:400]) is not None and _BROKE.search(line[:2_000]) is not None
    if event.tool is not None or not (_BAD.search(event.event) or _BAD_LEVEL.fullmatch(event.level)):
        return False
    return _BROKE.search(f"{event.source} {event.event} {(event.error or '')[:2_000]}") is not None


def _mended(broke: Event | None, later: Sequence[Event | None]) -> bool:
    if broke is None or not broke.source:
        return False
    return any(
        event is not None
        and event.source == broke.source
        and _MENDED.search(event.event)
        and not _BAD.search(event.event)
        for event in later
    )
