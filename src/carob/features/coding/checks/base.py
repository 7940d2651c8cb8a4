"""What the checks of a workspace share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import ClassVar

from carob.checks.base import CALLS, Check
from carob.evidence.deeds import NO_WORKSPACE, Deed, Deeds
from carob.model.trace import Channel, Trace
from carob.model.verdict import EvidenceLocation, Group
from carob.model.workspace import WorkspaceEvidence

DEEDS: frozenset[Channel] = CALLS | {"files", "processes"}
FILES: frozenset[Channel] = frozenset({"files"})
MOST_SHOWN = 5


class WorkspaceCheck(Check):
    """Base of the checks of what became of a workspace."""

    __slots__ = ()
    group: ClassVar = Group.WORKSPACE


class _Latest:
    """The deeds of the trace that was judged last: all checks of a case judge the same one."""

    __slots__ = ("pair",)

    def __init__(self) -> None:
        self.pair: tuple[Trace, Deeds] | None = None


_latest = _Latest()


def deeds_of(trace: Trace) -> Deeds:
    pair = _latest.pair
    if pair is None or pair[0] is not trace:
        pair = _latest.pair = trace, Deeds(trace)
    return pair[1]


def evidence_of(trace: Trace, channel: Channel) -> tuple[WorkspaceEvidence, str]:
    """What was seen in the workspace, or why nothing was."""
    if trace.workspace is None:
        return WorkspaceEvidence(), trace.why_unobserved(channel) or NO_WORKSPACE
    return trace.workspace, trace.why_unobserved(channel) or ""


def list_shown(items: Iterable[object], none: str) -> str:
    """A few of them, and how many more there are."""
    shown = [str(item) for item in items]
    more = f" and {len(shown) - MOST_SHOWN} more" if len(shown) > MOST_SHOWN else ""
    return f"{', '.join(shown[:MOST_SHOWN])}{more}" if shown else none


def list_deeds(deeds: Sequence[Deed]) -> str:
    return list_shown(deeds, "no such command")


def place_of(deed: Deed | None) -> EvidenceLocation | None:
    if deed is None:
        return None
    return EvidenceLocation("processes" if deed.of_process else "tool_calls", index=deed.index)


@lru_cache(maxsize=1024)
def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
