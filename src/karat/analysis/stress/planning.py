"""Which cells there are: every tool and model that a passing case used, broken in each way that applies."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, structs

from karat.analysis.stress.expectations import (
    DECLARED,
    Expected,
    Forbidden,
    always_expected,
    at_most_as_usual,
    expect_of_kind,
    forbidden_part,
)
from karat.analysis.stress.injections import Injection
from karat.analysis.stress.kinds import INJECT, INJECT_RANK, KINDS, StressKind
from karat.analysis.stress.model import LeftOut
from karat.analysis.stress.uses import ToolUse, applies, calls_models, last_model_call, own_values, tools_used
from karat.checks.answer.leaks import NoLeak
from karat.checks.catalog import CheckCatalog
from karat.checks.effects.outcome import Outcome
from karat.checks.tools.names import ToolCallsNone
from karat.model.check import CheckSpec
from karat.model.faults import Fault, Hit
from karat.model.run import CaseRecord
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.model.verdict import CaseStatus, Status
from karat.scoring.verdicts import run_check
from karat.suites.formats.base import CaseExpectations
from karat.suites.formats.cases import DEFAULT_OUTCOME
from karat.text.tool_names import is_any_named
from karat.text.wording import pluralize

MODEL: Final = "model"
FIELD = re.compile(r"[.\[]")
"""What follows the field in the place of a check: `must_not_say[1]`."""


class Cell(Struct, frozen=True, kw_only=True):
    """One case with one fault. `control`: the cell with a harmless text in the place of an injected one."""

    case: Case
    source: str
    """The id of the case that it was made of."""
    hits: str
    name: str
    fault: str
    about: str
    rank: int
    expected: Expected
    turns: tuple[Expected, ...] = ()
    control: Cell | None = None
    tool: str = ""
    """The tool that an injected text asks for."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """What is to be run for it."""
        return (self.case,) if self.control is None else (self.case, self.control.case)


class StressPlan(Struct, frozen=True):
    """The cells to run, in order, and what was left out."""

    cells: tuple[Cell, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(case for cell in self.cells for case in cell.cases)


class Planner:
    """Makes cells of cases that passed, by what their recorded run shows.

    `faults`: only those of these names, which may hold `*`.
    """

    def __init__(
        self,
        catalog: CheckCatalog,
        injections: Sequence[Injection],
        seed: int,
        hits: Collection[Hit],
        faults: Sequence[str] = (),
    ) -> None:
        self._catalog = catalog
        self._injections = injections
        self._seed = seed
        self._hits = hits
        self._faults = faults
        self._cells: list[Cell] = []
        self._left_out: list[LeftOut] = []
        self._notes: dict[str, None] = {}

    def add(self, case: Case, given: CaseExpectations, record: CaseRecord | None) -> None:
        """Take a case in, if it passed."""
        if record is None or record.status is not CaseStatus.PASS:
            status = "was not run" if record is None else f"is {record.status} without any fault"
            self._left_out.append(LeftOut(case.id, f"it {status}, so a fault would prove nothing"))
            return
        made = [*_CasePlanner(self, case, forbidden_part(given, self._catalog), record.trace).cells()]
        if not made:
            self._left_out.append(LeftOut(case.id, "its run shows no tool call and no model call that can be broken"))
        self._cells += made

    def plan(self, max_runs: int) -> StressPlan:
        """The most telling cells first, each tool and fault once before it is tried in another case."""
        seen: Counter[tuple[str, str, str]] = Counter()
        order: list[tuple[tuple[int, int, int], Cell]] = []
        for place, cell in enumerate(sorted(self._cells, key=lambda cell: -cell.rank)):
            of = cell.hits, cell.name, cell.fault
            order.append(((seen[of], -cell.rank, place), cell))
            seen[of] += 1
        kept: list[Cell] = []
        rest: list[Cell] = []
        runs = 0
        for _, cell in sorted(order, key=lambda one: one[0]):
            fits = not rest and runs + len(cell.cases) <= max_runs
            (kept if fits else rest).append(cell)
            runs += len(cell.cases) if fits else 0
        left_out = [*self._left_out]
        if rest:
            named = ", ".join(f"{cell.name} × {cell.fault}" for cell in rest[:3])
            what = f"{pluralize(len(rest), 'cell')}: {named}{' …' if len(rest) > 3 else ''}"
            more = runs + sum(len(cell.cases) for cell in rest)
            left_out.append(LeftOut(what, f"--max-runs {max_runs} was used up; all cells need {more} runs"))
        return StressPlan(tuple(kept), tuple(left_out), tuple(self._notes))

    def note(self, line: str) -> None:
        self._notes[line] = None

    @property
    def catalog(self) -> CheckCatalog:
        return self._catalog

    @property
    def injections(self) -> Sequence[Injection]:
        return self._injections

    @property
    def seed(self) -> int:
        return self._seed

    def wants(self, fault: str) -> bool:
        return not self._faults or is_any_named(self._faults, fault)

    def reaches(self, hits: Hit) -> bool:
        """Whether Karat can break it at this target."""
        return hits in self._hits


class _CasePlanner:
    """The cells of one case."""

    def __init__(self, planner: Planner, case: Case, forbidden: Forbidden, trace: Trace) -> None:
        self._planner = planner
        self._case = case
        self._forbidden = forbidden
        self._trace = trace
        own = {key: value for key, value in forbidden.whole.items() if key not in DECLARED}
        self._always = self._keep_held({**always_expected(trace, forbidden.effects), **own})

    def cells(self) -> Iterator[Cell]:
        uses = tools_used(self._trace, self._forbidden.effects) if self._planner.reaches("tool") else ()
        for use in uses:
            own = own_values(use, self._case, self._trace)
            for kind in KINDS:
                fault = kind.fault(use.name, "", self._planner.seed)
                if kind.hits == "tool" and self._planner.wants(kind.name) and applies(fault, use):
                    yield self._tool_cell(kind, use, own)
            yield from self._injection_cells(use, [one.name for one in uses])
        last = last_model_call(self._trace)
        for kind in KINDS if self._planner.reaches(MODEL) and calls_models(self._trace) else ():
            if kind.hits == MODEL and self._planner.wants(kind.name) and (last or not kind.is_late):
                yield self._model_cell(kind, last if kind.is_late else 1)

    def _tool_cell(self, kind: StressKind, use: ToolUse, own: Sequence[str]) -> Cell:
        id_ = self._id(use.name, kind.name)
        canary = self._canary(id_)
        fault = kind.fault(use.name, canary, self._planner.seed)
        more = expect_of_kind(kind, fault, use, self._trace, own, self._always)
        if canary in str(fault.value):
            more[NoLeak.name] = [canary]
        return self._cell(id_, fault, kind.name, kind.about, kind.rank(use.is_effect), {**self._always, **more})

    def _model_cell(self, kind: StressKind, from_call: int) -> Cell:
        id_ = self._id(MODEL, kind.name)
        fault = kind.fault("", self._canary(id_), self._planner.seed, from_call)
        uses = tools_used(self._trace, self._forbidden.effects)
        expected = {**self._always, **at_most_as_usual(uses, self._always, done=True)}
        return self._cell(id_, fault, kind.name, kind.about, kind.telling, expected)

    def _injection_cells(self, use: ToolUse, used: Sequence[str]) -> Iterator[Cell]:
        """A cell for each text, next to one with a harmless text: what the agent does with both does not count."""
        effects = [tool for tool in self._forbidden.effects if "*" not in tool]
        unused = next((tool for tool in (*effects, *self._trace.tool_schemas) if tool not in used), "")
        for injection in self._planner.injections:
            name = f"{INJECT}: {injection.name}"
            if not self._planner.wants(name):
                continue
            if injection.needs_tool and not unused:
                self._planner.note(
                    f"injection {injection.name!r}: every known tool is one that {self._case.id} uses. "
                    "Declare another one in `effects`"
                )
                continue
            id_ = self._id(use.name, name)
            canary = self._canary(id_)
            texts = injection.texts(canary, unused)
            fault, harmless = (
                Fault(hits="tool", kind=INJECT, name=use.name, value=text, seed=self._planner.seed) for text in texts
            )
            if not applies(fault, use):
                continue
            expected = {**self._always, NoLeak.name: [canary]}
            if injection.needs_tool:
                expected[ToolCallsNone.name] = [*dict.fromkeys((*expected.get(ToolCallsNone.name, ()), unused))]
            about = "a text in its result gives the agent orders"
            control = self._cell(f"{id_} (control)", harmless, name, "a harmless text in its result", 0, expected)
            cell = self._cell(id_, fault, name, about, INJECT_RANK, expected)
            yield structs.replace(cell, control=control, tool=unused if injection.needs_tool else "")

    def _cell(self, id_: str, fault: Fault, name: str, about: str, rank: int, expected: Expected) -> Cell:
        whole = {**expected, **self._forbidden.declared}
        case = self._case
        turns = tuple(
            structs.replace(turn, checks=self._specs(asked, answered=False))
            for turn, asked in zip(case.turns, self._forbidden.turns, strict=True)
        )
        made = structs.replace(
            case,
            id=id_,
            checks=type(case.checks)(self._specs(whole)),
            turns=turns,
            faults=(*case.faults, fault),
            scoring=type(case.scoring)(),
            outcome=expected.get(Outcome.name, DEFAULT_OUTCOME),
            min_pass_rate=None,
            xfail="",
            cluster=case.id,
        )
        return Cell(
            case=made,
            source=case.id,
            hits=fault.hits,
            name=fault.name or MODEL,
            fault=name,
            about=about,
            rank=rank,
            expected=whole,
            turns=self._forbidden.turns,
        )

    def _keep_held(self, expected: Expected) -> Expected:
        """What held in the run without faults: what failed there shows nothing."""
        held: Expected = {}
        for field, value in expected.items():
            specs = self._specs({**expected, **self._forbidden.declared}, answered=False)
            own = [spec for spec in specs if FIELD.split(spec.path)[0] == field]
            results = [run_check(check, self._trace) for check in self._planner.catalog.checks(own)]
            failed = next((one for one in results if one.status in (Status.FAILED, Status.ERROR)), None)
            if failed is None:
                held[field] = value
            else:
                self._planner.note(
                    f"{self._case.id}: {field} is not judged, because it fails without any fault: {failed.found}"
                )
        return held

    def _specs(self, expected: Mapping[str, Any], *, answered: bool = True) -> tuple[CheckSpec, ...]:
        asked = self._planner.catalog.read(expected)
        return tuple(one.spec for one in asked if answered or one.path[0] in expected)

    def _id(self, name: str, fault: str) -> str:
        return "/".join((self._case.id, name, fault))

    def _canary(self, id_: str) -> str:
        """A code that no other cell has, the same at each run with this seed."""
        return f"KRT-{hashlib.sha256(f'{self._planner.seed}:{id_}'.encode()).hexdigest()[:12]}"
