"""What a target says of itself: what it can bear, what it keeps secret, and what of its surroundings Carob reaches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from carob.errors import ConfigError
from carob.model.faults import Hit
from carob.model.suite import Case

FOREVER = 1e9
"""Seconds; JSON knows no infinity."""
NOTHING: Final[frozenset[Hit]] = frozenset()
TOOLS: Final[frozenset[Hit]] = frozenset({"tool"})
ALL: Final[frozenset[Hit]] = frozenset({"tool", "service", "model"})
UNREACHABLE = "faults-unreachable"
WHERE = (
    "Carob can reach tools of known frameworks in `langgraph:` and `python:` targets, functions that a `python:` "
    "agent hands to `conversation.tool`, the functions of an `openai:` target in the mode 'loop', and tools of MCP "
    "servers that [tape] names in `services` or `stdio`: see `carob help faults`."
)


class Limits(Struct, frozen=True, omit_defaults=True):
    """What a target can bear. None: no limit of its own."""

    max_concurrency: int | None = None
    per_minute: float | None = None
    why: str = ""
    """Why no more cases may run at once, if the target itself says so."""
    max_per_worker: int | None = None
    """How many cases may run at once in each process, where each has an agent of its own."""
    max_workers: int | None = None
    """In how many processes the target can be open at once."""
    why_workers: str = ""


def secrets_of(target: object) -> tuple[str, ...]:
    """What a target knows that no artifact may show: its `secrets`, where it has any."""
    return tuple(getattr(target, "secrets", ()))


def version_of(target: object) -> str:
    """What a target says of its own version, where it does."""
    return str(getattr(target, "version", "") or "")


def reach_of(target: object) -> frozenset[Hit]:
    """What a target says that stubs and faults can hit: its `reaches`, where it has any."""
    return frozenset(getattr(target, "reaches", NOTHING))


def hit_by(case: Case) -> dict[Hit, str]:
    """What the stubs and faults of a case hit, each with an example."""
    if not (case.stubs or case.faults):
        return {}
    stubbed: dict[Hit, str] = {"tool": f"the stub of {case.stubs[0].tool}"} if case.stubs else {}
    return {fault.hits: f"the fault {fault}" for fault in reversed(case.faults)} | stubbed


def refuse_unreachable(cases: Iterable[Case], target: object, use: str) -> None:
    """Raise ConfigError, before anything runs, for a case whose stubs or faults the target cannot have."""
    reaches = reach_of(target)
    for case in cases:
        for hits, example in () if case.skip else hit_by(case).items():
            if hits not in reaches:
                message = f"case {case.id!r} has {example}, and Carob cannot reach the {hits}s of {use!r}."
                raise ConfigError(message, fix=WHERE, slug=UNREACHABLE)
