"""What of an agent's surroundings Karat reaches: without that, no stub answers and no fault lands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karat.errors import ConfigError
from karat.model.faults import Hit
from karat.model.suite import Case
from karat.targets.base import Target

NOTHING: Final[frozenset[Hit]] = frozenset()
TOOLS: Final[frozenset[Hit]] = frozenset({"tool"})
ALL: Final[frozenset[Hit]] = frozenset({"tool", "service", "model"})
UNREACHABLE = "faults-unreachable"
WHERE = (
    "Karat can reach LangChain tools of `langgraph:` and `python:` targets, functions that a `python:` agent hands "
    "to `conversation.tool`, the functions of an `openai:` target in the mode 'loop', and tools of MCP servers that "
    "[tape] names in `services` or `stdio`: see docs/faults.md."
)


def reach_of(target: Target) -> frozenset[Hit]:
    """What a target says that stubs and faults can hit: its `reaches`, where it has any."""
    return frozenset(getattr(target, "reaches", NOTHING))


def hit_by(case: Case) -> dict[Hit, str]:
    """What the stubs and faults of a case hit, each with an example."""
    if not (case.stubs or case.faults):
        return {}
    stubbed: dict[Hit, str] = {"tool": f"the stub of {case.stubs[0].tool}"} if case.stubs else {}
    return {fault.hits: f"the fault {fault}" for fault in reversed(case.faults)} | stubbed


def refuse_unreachable(cases: Iterable[Case], target: Target, use: str) -> None:
    """Raise ConfigError, before anything runs, for a case whose stubs or faults the target cannot have."""
    reached = reach_of(target)
    for case in cases:
        beyond = {hits: what for hits, what in hit_by(case).items() if hits not in reached and not case.skip}
        for hits, what in beyond.items():
            message = f"case {case.id!r} has {what}, and Karat cannot reach the {hits}s of {use!r}."
            raise ConfigError(message, fix=WHERE, slug=UNREACHABLE)
