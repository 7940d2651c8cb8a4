"""One turn's lines of the app's telemetry log."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path

from msgspec import structs

from carob.evidence.logs.events import BEGINS, ENDS, PREFIX, parse, parse_all, read_object, tool_calls
from carob.evidence.logs.jsonl_tail import CaptureBrokenError, Fits, LogSegment
from carob.features.browser.options import Line, LogOptions
from carob.model.trace import PossibleCall, ToolCall
from carob.targets.base import TargetError
from carob.text.wording import shorten, visible

FOLLOW = 0.05
QUIET = 0.5
"""So many seconds without a new line, and no line of an earlier turn is expected any more."""
LONGEST_WAIT = 3.0
BEGIN_RUNNING = ("call", "start")
EXCERPT = 80
COMPLAINT = 300
MAY_BE_LATE = (
    "a call to {!r} was logged during the turn, and it may be a late line of an earlier case: name the field that "
    "contains the conversation with telemetry = {{ correlation_field = ... }}, or, if nothing is logged after a turn "
    "has ended, set telemetry = {{ complete = true }}"
)


class TurnLog:
    """Begun before the prompt is sent, and read all along. A capture that is broken makes the case an ERROR."""

    def __init__(
        self, path: Path, telemetry: LogOptions, session: str, session_query: str = "", dialect: str = ""
    ) -> None:
        self._telemetry = telemetry
        self._dialect = dialect
        field = telemetry.correlation_field
        ends = _is_event(telemetry.end_source, telemetry.end_event) if telemetry.end_event else None
        if ends is not None and session_query and not field:
            ends = _only_own(ends, session_query, session)
        try:
            self._segment = LogSegment(path, _has(field, session, dialect) if field else None, ends)
        except CaptureBrokenError as error:
            raise _capture_error(error) from error
        self._judged = 0
        self._why: CaptureBrokenError | None = None
        self._following = asyncio.create_task(self._follow())

    def is_ended(self) -> bool:
        """Whether the line that ends the turn is there."""
        self._read()
        if self._why is not None:
            raise _capture_error(self._why) from self._why
        return self._segment.ended

    def stop_if_broken(self) -> None:
        """Raise TargetError if a line says that the turn broke."""
        self._read()
        signs = self._telemetry.failure
        for line in self._segment.lines[self._judged :] if signs else ():
            if any(_fits(line, sign) for sign in signs):
                raise TargetError("agent", f"the app's log says: {visible(shorten(line.strip(), COMPLAINT))}")
            self._judged += 1

    def so_far(self) -> list[str]:
        """What was seen of the turn, whether or not it ended."""
        self._read()
        return self._segment.lines

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that it reports so far."""
        return tool_calls(tuple(self.so_far()), self._dialect)

    async def finish(self) -> tuple[str, ...]:
        """All lines of the turn, once it has ended."""
        self.is_ended()
        self._following.cancel()
        try:
            lines = tuple(await self._segment.finish(self._telemetry.wait_ms / 1000))
        except CaptureBrokenError as error:
            raise _capture_error(error) from error
        self.stop_if_broken()
        return lines

    def close(self) -> None:
        self._following.cancel()
        self._segment.close()

    async def _follow(self) -> None:
        """Read often, so that no file that is rotated away is missed."""
        while self._why is None:
            self._read()
            await asyncio.sleep(FOLLOW)

    def _read(self) -> None:
        """Once broken, always broken."""
        if self._why is None:
            try:
                self._segment.read()
            except CaptureBrokenError as error:
                self._why = error


async def wait_until_quiet(path: Path) -> bool:
    """Wait, before a prompt, until nothing was written to the log for a moment; False if that takes too long."""
    for _ in range(int(LONGEST_WAIT / FOLLOW)):
        try:
            if time.time() - path.stat().st_mtime >= QUIET:
                return True
        except OSError:
            return True  # nothing was ever written
        await asyncio.sleep(FOLLOW)
    return False


def select_own_lines(
    lines: tuple[str, ...], session: str, dialect: str, *, was_quiet: bool = False
) -> tuple[tuple[str, ...], tuple[PossibleCall, ...]]:
    """The lines of a turn, without events of tools that may be of an earlier one, and the calls these may be.

    Those that name the conversation are its own. If the log was quiet before the prompt, so is every call that begins
    after it, with its result: only a result without its start gives reason for doubt.
    """
    own_lines: list[str] = []
    possible: dict[str, PossibleCall] = {}
    running: Counter[str] = Counter()
    for line, event in zip(lines, parse_all(lines, dialect), strict=True):
        if event is None or event.tool is None:
            own_lines.append(line)
            continue
        is_own = bool(session) and session in line
        if was_quiet and not is_own:
            is_own = event.event in BEGINS or running[event.tool] > 0
        if is_own:
            running[event.tool] += (event.event in BEGIN_RUNNING) - (event.event in ENDS and running[event.tool] > 0)
            own_lines.append(line)
        else:
            possible[event.tool] = PossibleCall(event.tool, MAY_BE_LATE.format(event.tool))
    return tuple(own_lines), tuple(possible.values())


def _capture_error(error: CaptureBrokenError) -> TargetError:
    return TargetError("telemetry", f"telemetry capture is broken: {error}")


def _has(field: str, session: str, dialect: str) -> Fits:
    """Whose line it is. A tool's line that cannot be attributed may be this conversation's: then nothing is proved."""

    def fits(line: str) -> bool:
        event = parse(line, dialect)
        tool = event.source if event is not None and event.tool is not None else ""
        if session not in line and not tool and f'"{PREFIX}' not in line:
            return False
        fields = read_object(line) or {}
        if not fields and not tool:
            raise CaptureBrokenError(f"a line of it cannot be read: {shorten(line, EXCERPT)}")
        if fields.get(field) in (None, "") and tool:
            raise CaptureBrokenError(f"an event of {tool} has no {field!r}, so its conversation is unknown")
        return fields.get(field) == session

    return fits


def _is_event(source: str, event: str) -> Fits:
    def fits(line: str) -> bool:
        if event not in line:
            return False
        fields = read_object(line) or {}
        return fields.get("event") == event and (not source or fields.get("source") == source)

    return fits


def _fits(line: str, sign: Line) -> bool:
    """Whether a line has all that a sign names; a tool's own failure is in its result, not here."""
    if sign.text.casefold() not in line.casefold():
        return False
    fields = read_object(line) or {}
    return all(
        not expected or fields.get(field) == expected
        for field, expected in structs.asdict(sign).items()
        if field != "text"
    )


def _only_own(ends: Fits, field: str, session: str) -> Fits:
    """Refuses the end of a turn that names another conversation in the very field that names this one to the app."""

    def fits(line: str) -> bool:
        if not ends(line):
            return False
        conversation = (read_object(line) or {}).get(field)
        if isinstance(conversation, str) and conversation not in ("", session):
            excerpt = shorten(conversation, EXCERPT)
            message = f"a turn of {field} {excerpt!r} ended in it: set `correlation_field`, if {field!r} is one"
            raise CaptureBrokenError(message)
        return True

    return fits
