"""What a stress run found: for each tool or model and each fault, whether the agent held."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from carob.errors import ExitCode


class CellStatus(StrEnum):
    """How one cell came out. NOT_REACHED: the fault never took effect, so nothing is known of it."""

    BROKE = "broke"
    UNKNOWN = "unknown"
    HELD = "held"
    NOT_REACHED = "not reached"


WORST_FIRST = tuple(CellStatus)


class StressFinding(Struct, frozen=True, omit_defaults=True):
    """One thing that did not hold, or could not be decided: the rule, and what was found."""

    rule: str
    found: str
    status: CellStatus = CellStatus.BROKE


class CellResult(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One case with one fault, run and judged."""

    id: str
    """The id of its case in the journal."""
    case: str
    """The case that it was made of."""
    hits: str
    """What the fault hits: a tool or a model."""
    name: str
    """Of the tool; `model` for any model."""
    fault: str
    """The name of the fault, as the table has it."""
    about: str
    status: CellStatus
    landed: int = 0
    """How many calls the fault landed on."""
    findings: tuple[StressFinding, ...] = ()
    control: str = ""
    """The id of the run with a harmless text in the place of an injected one."""
    index: int = 0
    """The place of its case in the journal."""


class LeftOut(Struct, frozen=True):
    """A case, or cells of one, that were not run, and why."""

    what: str
    why: str


class NotTried(Struct, frozen=True):
    """Kinds of faults that no cell has, and why."""

    hits: str
    faults: tuple[str, ...]
    why: str


class StressReport(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All cells of a stress run, with what was left out."""

    suite: str
    target: str
    journal: str
    base: str
    """The journal of the run without faults."""
    seed: int
    cells: tuple[CellResult, ...]
    left_out: tuple[LeftOut, ...] = ()
    not_tried: tuple[NotTried, ...] = ()
    notes: tuple[str, ...] = ()
    incomplete: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The rows of the table: tools first, in the order in which they were met."""
        tools = dict.fromkeys(cell.name for cell in self.cells if cell.hits != "model")
        return (*tools, *dict.fromkeys(cell.name for cell in self.cells if cell.hits == "model"))

    @property
    def faults(self) -> tuple[str, ...]:
        """The columns of the table."""
        return tuple(dict.fromkeys(cell.fault for cell in self.cells))

    def at(self, name: str, fault: str) -> tuple[CellResult, ...]:
        """The cells of one tool and one fault, one for each case."""
        return tuple(cell for cell in self.cells if cell.name == name and cell.fault == fault)

    def count(self, status: CellStatus) -> int:
        return sum(cell.status is status for cell in self.cells)

    @property
    def exit_code(self) -> int:
        """1 where something broke, or where no fault was reached: then nothing is proved."""
        if self.incomplete:
            return ExitCode.INTERRUPTED
        if not self.cells:
            return ExitCode.NOTHING_SELECTED
        if self.count(CellStatus.BROKE) or self.count(CellStatus.NOT_REACHED) == len(self.cells):
            return ExitCode.FAILED
        return ExitCode.OK


def worst_status(cells: Iterable[CellResult]) -> CellStatus | None:
    """One status for several cells; None if there are none."""
    return min((cell.status for cell in cells), key=WORST_FIRST.index, default=None)
