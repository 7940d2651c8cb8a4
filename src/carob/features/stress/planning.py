"""Which cells there are: every tool and model that a passing case used, broken in each way that applies."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from msgspec import Struct, structs

from carob.checks.answer.leaks import NoLeak
from carob.checks.catalog import CheckCatalog
from carob.checks.effects.outcome import Outcome
from carob.checks.tools.names import ToolCallsNone
from carob.features.stress.expectations import (
    DECLARED,
    Expected,
    Forbidden,
    ToolUse,
    always_expected,
    applies,
    at_most_as_usual,
    calls_models,
    expect_of_kind,
    forbidden_part,
    last_model_call,
    own_values,
    tools_used,
)
from carob.features.stress.kinds import INJECT, INJECT_RANK, KINDS, Injection, StressKind
from carob.features.stress.model import LeftOut, NotTried
from carob.model.check import CheckSpec
from carob.model.faults import Fault, Hit
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import RULE_CHECKS, CaseStatus, Status
from carob.scoring.verdicts import run_check
from carob.suites.formats.base import CaseExpectations
from carob.suites.formats.builder import DEFAULT_OUTCOME
from carob.text.tool_names import is_any_named
from carob.text.wording import pluralize

MODEL: Final = "model"
NO_CHANGE = "it would not change any recorded result"
NO_AGE = "no result says how old it is"
NO_LAST = "no run shows which of several model calls is the last, after tools"
NO_CALL: Final[Mapping[Hit, str]] = {
    "tool": "no run calls a tool",
    MODEL: "no run shows a call of a model: it needs tokens, spans, or telemetry = { models = true }",
}
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
    is_answered: bool = False
    """Whether each turn of the run without faults had an answer."""
    control: Cell | None = None
    tool: str = ""
    """The tool that an injected text asks for."""
    rules: tuple[CheckSpec, ...] = ()
    """The rules that hold in the case without a fault, and must hold with it."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """What is to be run for it."""
        return (self.case,) if self.control is None else (self.case, self.control.case)


class StressPlan(Struct, frozen=True):
    """The cells to run, in order, and what was left out."""

    cells: tuple[Cell, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    not_tried: tuple[NotTried, ...] = ()

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
        self.catalog = catalog
        self.injections = injections
        self.seed = seed
        self._hits = hits
        self._faults = faults
        self._cells: list[Cell] = []
        self._left_out: list[LeftOut] = []
        self._notes: dict[str, None] = {}
        self._reasons: dict[tuple[Hit, str], dict[str, None]] = {}
        """Why a kind of fault makes no cell of a case."""

    def add(self, case: Case, expectations: CaseExpectations, record: CaseRecord | None) -> None:
        """Take a case in, if it passed."""
        if record is None or record.status is not CaseStatus.PASS:
            status = "was not run" if record is None else f"is {record.status} without any fault"
            self._left_out.append(LeftOut(case.id, f"it {status}, so a fault would prove nothing"))
            return
        cells = [*_CasePlanner(self, case, forbidden_part(expectations, self.catalog), record.trace).cells()]
        if not cells:
            self._left_out.append(LeftOut(case.id, "its run shows no tool call and no model call that can be broken"))
        self._cells += cells

    def plan(self, max_runs: int) -> StressPlan:
        """The most telling cells first, each tool and fault once before it is tried in another case."""
        tried: Counter[tuple[str, str, str]] = Counter()
        ranked: list[tuple[int, int, int, Cell]] = []
        for position, cell in enumerate(sorted(self._cells, key=lambda cell: -cell.rank)):
            column = cell.hits, cell.name, cell.fault
            ranked.append((tried[column], -cell.rank, position, cell))
            tried[column] += 1
        cells = [cell for *_, cell in sorted(ranked, key=lambda entry: entry[:3])]
        runs = [*accumulate(len(cell.cases) for cell in cells)]
        fitting = bisect_right(runs, max_runs)
        left_out = [*self._left_out]
        if unfit := cells[fitting:]:
            names = ", ".join(f"{cell.name} × {cell.fault}" for cell in unfit[:3])
            left_off = f"{pluralize(len(unfit), 'cell')}: {names}{' …' if len(unfit) > 3 else ''}"
            why = f"--max-runs {max_runs} was used up; all cells need {runs[-1]} runs"
            left_out.append(LeftOut(left_off, why))
        return StressPlan(tuple(cells[:fitting]), tuple(left_out), tuple(self._notes), self._not_tried())

    def _not_tried(self) -> tuple[NotTried, ...]:
        """The kinds of faults without any cell, by why."""
        if not self._cells:
            return ()
        made = {(cell.hits, cell.fault) for cell in self._cells}
        groups: dict[tuple[Hit, str], list[str]] = {}
        for hits, fault in self.all_kinds():
            if (hits, fault) not in made:
                why = self._reasons.get((hits, fault)) or {NO_CALL[hits]: None}
                groups.setdefault((hits, "; ".join(why)), []).append(fault)
        return tuple(NotTried(hits, tuple(faults), why) for (hits, why), faults in groups.items())

    def all_kinds(self) -> Iterator[tuple[Hit, str]]:
        yield from ((kind.hits, kind.name) for kind in KINDS)
        yield from (("tool", f"{INJECT}: {injection.name}") for injection in self.injections)

    def skip(self, hits: Hit, fault: str, why: str) -> None:
        """Keep why a kind of fault makes no cell of a case."""
        self._reasons.setdefault((hits, fault), {})[why] = None

    def note(self, line: str) -> None:
        self._notes[line] = None

    def wants(self, hits: Hit, fault: str) -> bool:
        wanted = not self._faults or is_any_named(self._faults, fault)
        if not wanted:
            self.skip(hits, fault, "`--faults` leaves them out")
        return wanted

    def reaches(self, hits: Hit) -> bool:
        """Whether Carob can break it at this target."""
        return hits in self._hits


class _CasePlanner:
    """The cells of one case."""

    def __init__(self, planner: Planner, case: Case, forbidden: Forbidden, trace: Trace) -> None:
        self._planner = planner
        self._case = case
        self._forbidden = forbidden
        self._trace = trace
        prohibitions = {key: value for key, value in forbidden.expected.items() if key not in DECLARED}
        self._rules = tuple(spec for spec in case.checks if spec.name in RULE_CHECKS)
        self._always = self._keep_satisfied({**always_expected(trace, forbidden.effects), **prohibitions})

    def cells(self) -> Iterator[Cell]:
        planner = self._planner
        uses = tools_used(self._trace, self._forbidden.effects) if self._reaches("tool") else ()
        for use in uses:
            values = own_values(use, self._case, self._trace)
            for kind in KINDS:
                if kind.hits != "tool" or not planner.wants("tool", kind.name):
                    continue
                if applies(kind.fault(use.name, "", planner.seed), use):
                    yield self._tool_cell(kind, use, values)
                else:
                    planner.skip("tool", kind.name, NO_AGE if kind.pattern.kind == "stale" else NO_CHANGE)
            yield from self._injection_cells(use, [tool.name for tool in uses])
        if not self._reaches(MODEL) or not calls_models(self._trace):
            return
        last = last_model_call(self._trace)
        for kind in KINDS:
            if kind.hits != MODEL or not planner.wants(MODEL, kind.name):
                continue
            if kind.is_late and not last:
                planner.skip(MODEL, kind.name, NO_LAST)
            else:
                yield self._model_cell(kind, last if kind.is_late else 1)

    def _reaches(self, hits: Hit) -> bool:
        """Whether Carob can break it; where not, why each kind of fault makes no cell."""
        if self._planner.reaches(hits):
            return True
        for of, fault in self._planner.all_kinds():
            if of == hits:
                self._planner.skip(hits, fault, f"Carob reaches no {hits} of this target: `carob help faults`")
        return False

    def _tool_cell(self, kind: StressKind, use: ToolUse, values: Sequence[str]) -> Cell:
        id_ = self._id(use.name, kind.name)
        canary = self._canary(id_)
        fault = kind.fault(use.name, canary, self._planner.seed)
        more = expect_of_kind(kind, fault, use, self._trace, values, self._always)
        if canary in str(fault.value):
            more[NoLeak.name] = [canary]
        return self._cell(id_, fault, kind.name, kind.about, kind.rank(use.is_effect), {**self._always, **more})

    def _model_cell(self, kind: StressKind, from_call: int) -> Cell:
        id_ = self._id(MODEL, kind.name)
        fault = kind.fault("", self._canary(id_), self._planner.seed, from_call)
        uses = tools_used(self._trace, self._forbidden.effects)
        expected = {**self._always, **at_most_as_usual(uses, self._always, succeeded=True)}
        return self._cell(id_, fault, kind.name, kind.about, kind.telling, expected)

    def _injection_cells(self, use: ToolUse, used: Sequence[str]) -> Iterator[Cell]:
        """A cell for each text, next to one with a harmless text: what the agent does with both does not count."""
        effects = [tool for tool in self._forbidden.effects if "*" not in tool]
        unused = next((tool for tool in (*effects, *self._trace.tool_schemas) if tool not in used), "")
        for injection in self._planner.injections:
            name = f"{INJECT}: {injection.name}"
            if not self._planner.wants("tool", name):
                continue
            if injection.needs_tool and not unused:
                self._planner.skip("tool", name, "every known tool is one that the case uses")
                self._planner.note(
                    f"injection {injection.name!r}: every known tool is one that {self._case.id} uses. "
                    "Declare another one in `effects`"
                )
                continue
            id_ = self._id(use.name, name)
            canary = self._canary(id_)
            fault, harmless = (
                Fault(hits="tool", kind=INJECT, name=use.name, value=text, seed=self._planner.seed)
                for text in injection.texts(canary, unused)
            )
            if not applies(fault, use):
                self._planner.skip("tool", name, NO_CHANGE)
                continue
            expected = {**self._always, NoLeak.name: [canary]}
            if injection.needs_tool:
                expected[ToolCallsNone.name] = [*dict.fromkeys((*expected.get(ToolCallsNone.name, ()), unused))]
            control = self._cell(f"{id_} (control)", harmless, name, "a harmless text in its result", 0, expected)
            cell = self._cell(id_, fault, name, "a text in its result gives the agent orders", INJECT_RANK, expected)
            yield structs.replace(cell, control=control, tool=unused if injection.needs_tool else "")

    def _cell(self, id_: str, fault: Fault, name: str, about: str, rank: int, expected: Expected) -> Cell:
        expected = {**expected, **self._forbidden.declared}
        case = self._case
        in_turns = self._find_expected_in_turns()
        turns = tuple(
            structs.replace(turn, checks=self._specs(forbidden, answered=False))
            for turn, forbidden in zip(case.turns, in_turns, strict=True)
        )
        with_fault = structs.replace(
            case,
            id=id_,
            checks=type(case.checks)((*self._specs(expected), *self._rules)),
            turns=turns,
            faults=(*case.faults, fault),
            scoring=type(case.scoring)(),
            outcome=expected.get(Outcome.name, DEFAULT_OUTCOME),
            min_pass_rate=None,
            xfail="",
            cluster=case.id,
        )
        return Cell(
            case=with_fault,
            source=case.id,
            hits=fault.hits,
            name=fault.name or MODEL,
            fault=name,
            about=about,
            rank=rank,
            expected=expected,
            turns=in_turns,
            rules=self._rules,
            is_answered=bool(self._trace.turns) and all(turn.final_message.strip() for turn in self._trace.turns),
        )

    def _find_expected_in_turns(self) -> tuple[Expected, ...]:
        """What each turn forbids, and an answer in each that had one."""
        answered = [bool(turn.final_message.strip()) for turn in self._trace.turns]
        return tuple(
            {**forbidden, Outcome.name: DEFAULT_OUTCOME} if any(answered[number : number + 1]) else forbidden
            for number, forbidden in enumerate(self._forbidden.turns)
        )

    def _keep_satisfied(self, expected: Expected) -> Expected:
        """What held in the run without faults: what failed there shows nothing."""
        satisfied = dict(expected)
        specs = self._specs({**expected, **self._forbidden.declared}, answered=False)
        for spec, check in zip(specs, self._planner.catalog.checks(specs), strict=True):
            field = FIELD.split(spec.path)[0]
            result = run_check(check, self._trace) if field in satisfied else None
            if result is not None and result.status in (Status.FAILED, Status.ERROR):
                del satisfied[field]
                why = f"is not judged, because it fails without any fault: {result.found}"
                self._planner.note(f"{self._case.id}: {field} {why}")
        return satisfied

    def _specs(self, expected: Mapping[str, Any], *, answered: bool = True) -> tuple[CheckSpec, ...]:
        requests = self._planner.catalog.read(expected)
        return tuple(request.spec for request in requests if answered or request.path[0] in expected)

    def _id(self, name: str, fault: str) -> str:
        return "/".join((self._case.id, name, fault))

    def _canary(self, id_: str) -> str:
        """A code that no other cell has, the same at each run with this seed."""
        return f"KRT-{hashlib.sha256(f'{self._planner.seed}:{id_}'.encode()).hexdigest()[:12]}"
