"""What an inspection gives: what was seen, the target that follows from it, and the turn that proves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from karat.model.trace import Trace
from karat.setup.inspect.toml import target_table


class Observation(NamedTuple):
    """One thing that was looked for, and what was seen of it."""

    what: str
    seen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """Of one agent. `trace` is a turn with the very table that is proposed; without one, `problem` says why."""

    name: str
    table: dict[str, object]
    """The keys under `[targets.NAME]`."""
    sightings: tuple[Observation, ...]
    trace: Trace | None = None
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether a turn with this target gave an answer."""
        return self.trace is not None

    @property
    def toml(self) -> str:
        """The target as written in karat.toml."""
        return target_table(self.name, self.table)
