"""One turn's lines of the app's telemetry log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from karat.targets.base import TargetError
from karat.targets.browser_options import Telemetry
from karat.telemetry.jsonl_tail import CaptureBrokenError, Fits, LogSegment


class TurnLog:
    """Begun before the prompt is sent. A capture that is broken makes the case an ERROR, never a verdict."""

    def __init__(self, path: Path, telemetry: Telemetry, session: str) -> None:
        self._telemetry = telemetry
        mine = _has(telemetry.correlation_field, session) if telemetry.correlation_field else None
        ends = _is_event(telemetry.end_source, telemetry.end_event) if telemetry.end_event else None
        try:
            self._segment = LogSegment(path, mine, ends)
        except CaptureBrokenError as error:
            raise _broken(error) from error

    def ended(self) -> bool:
        """Whether the line that ends the turn is there."""
        try:
            self._segment.read()
        except CaptureBrokenError as error:
            raise _broken(error) from error
        return self._segment.ended

    def so_far(self) -> list[str]:
        """What was seen of the turn, whether or not it ended."""
        try:
            self._segment.read()
        except CaptureBrokenError:
            return self._segment.lines  # why it is broken is told by the error that ended the turn
        return self._segment.lines

    async def finish(self) -> tuple[str, ...]:
        """All lines of the turn, once it has ended."""
        try:
            return tuple(await self._segment.finish(self._telemetry.wait_ms / 1000))
        except CaptureBrokenError as error:
            raise _broken(error) from error

    def close(self) -> None:
        self._segment.close()


def _broken(error: CaptureBrokenError) -> TargetError:
    return TargetError("telemetry", f"telemetry capture is broken: {error}")


def _has(field: str, value: str) -> Fits:
    return lambda line: value in line and _object(line).get(field) == value


def _is_event(source: str, event: str) -> Fits:
    def fits(line: str) -> bool:
        if event not in line:
            return False
        found = _object(line)
        return found.get("event") == event and (not source or found.get("source") == source)

    return fits


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
