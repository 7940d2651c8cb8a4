"""`carob stress`: run a suite, break the world of the cases that pass, and judge what the agent does then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from carob.checks.catalog import catalog_for
from carob.engine.case_runner import settle, target_of_suite
from carob.engine.request import AnyTarget, ProgramKeywords, RunOptions, RunRequest
from carob.engine.rescoring import STRESS
from carob.engine.session import PreviousRun, resume_suite, run_suite
from carob.errors import CarobError, ConfigError, UsageError
from carob.features.stress.expectations import DECLARED
from carob.features.stress.judging import failed_checks, judge_cell
from carob.features.stress.kinds import SHIPPED, read_injections
from carob.features.stress.model import CellResult, CellStatus, StressReport
from carob.features.stress.planning import Cell, Planner, StressPlan
from carob.features.stress.report import stress_html, stress_json
from carob.journal.reader import Journal
from carob.model.faults import Fault, Hit
from carob.model.run import CaseRecord
from carob.model.suite import Suite
from carob.model.verdict import CaseStatus
from carob.options import SelectionKeywords
from carob.plugins.project import Project, read_settings
from carob.reports.artifacts import open_atomic
from carob.reports.run_facts import guard_words
from carob.reports.run_result import RunResult
from carob.scoring.verdicts import judge_case
from carob.suites.decisions import spell_turn
from carob.suites.documents.source import read_bytes
from carob.suites.documents.yaml_text import block, item
from carob.suites.reading import LocatedSuite, locate_suite
from carob.suites.rules import spelled_rule
from carob.suites.selection import EVERYTHING, select
from carob.targets.capabilities import UNREACHABLE, WHERE, reach_of
from carob.targets.config import Config
from carob.text.wording import pluralize

COPIED = ("category", "tags", "setup_prompts", "preconditions", "max_turns")
"""What a case of a written suite has of the case that its cell was made of."""
ONLY_RULES = (
    "# A cell of a rule passes too once the agent does nothing that the rule is about. If that is so for all rules,",
    "# the exit code is 5: see that the agent still does its task, then remove the rules or say what to expect.",
)
"""What a reader of a written suite with rules must know."""
PROBE = (Fault(hits="model", kind="hang"),)
SHORTEST_DEADLINE = 20.0
LONGER = 5
"""The deadline of a cell, as a multiple of the longest case without a fault."""


class StressTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[stress]` of carob.toml."""

    injections: str = ""


class StressOptions(Struct, frozen=True, kw_only=True):
    """How cells are chosen; kept in the journal, so that a run can be continued with the same cells."""

    seed: int = 0
    max_runs: Annotated[int, Meta(ge=1)] = 200
    base: str = ""
    """The journal of a run without faults; without one, the suite is run first."""
    injections: str = ""
    faults: tuple[str, ...] = ()
    """Only faults of these names, which may hold `*`."""


class StressKeywords(SelectionKeywords, ProgramKeywords, total=False):
    """The keywords of `carob.stress`: those of `run` that make sense with a fault, and how cells are chosen."""

    max_runs: int
    seed: int
    injections: str | Path | None
    faults: Sequence[str] | None
    baseline: str | None
    """With a guard: a stress run without it, to compare with."""


class StressResult(Struct, frozen=True):
    """A finished stress run: its report, the plan that it followed, and its files."""

    report: StressReport
    plan: StressPlan
    run: RunResult
    artifacts: tuple[Path, ...]


async def stress_suite(
    file: str,
    target: AnyTarget | None,
    how: RunOptions,
    request: RunRequest,
    results_dir: Path,
    config: Config,
    options: StressOptions,
    previous: Journal | None = None,
) -> StressResult | RunResult:
    """Run the cells of a suite and judge them; the run without faults alone, if that did not come to its end."""
    if previous is not None:
        options = _options_of(previous)
    project = config.project
    located = locate_suite(read_bytes(file), file, catalog_for(project))
    chosen = select(located.suite, request.selection)
    reached = _find_hits(target or target_of_suite(located.suite, config), how, request, config, located.suite)
    if options.base:
        base = Journal(options.base, project=project)
        target = base.header.target if target is None else target
    else:
        request.notice("first without faults: only cases that pass can show what a fault does")
        first = await run_suite(chosen, target, structs.replace(how, baseline=None), request, results_dir, config)
        if first.summary.incomplete:
            return first
        base = first.journal
        options = structs.replace(options, base=base.path)
    plan = plan_cells(located, chosen, base, project, options, reached)
    sources = {cell.source for cell in plan.cells}
    runs = pluralize(len(plan.cases), "run")
    request.notice(f"{pluralize(len(plan.cells), 'cell')} of {pluralize(len(sources), 'case')}, {runs}")
    cells = _suite_of(located.suite, plan)
    how = structs.replace(how, timeout=how.timeout or _deadline(base), repeat=1, confirm=0, retries=0)
    request = structs.replace(
        request, selection=EVERYTHING, header={STRESS: structs.asdict(options)}, reports=("html",)
    )
    if previous is None:
        run = await run_suite(cells, target, how, request, results_dir, config)
    else:
        again = PreviousRun(previous)
        run = await resume_suite(again, cells, target, how, request, results_dir, config)
    report = report_of(plan, run.journal, options, located.suite.file)
    return StressResult(report, plan, run, (*_write(report, run), *run.artifacts))


def _find_hits(
    target: AnyTarget | None, how: RunOptions, request: RunRequest, config: Config, suite: Suite
) -> frozenset[Hit]:
    """What of the agent's surroundings can be broken. Raises ConfigError, before anything runs, if it is nothing."""
    # Only with a fault of a model is there a proxy, which not every target can have.
    with_models = structs.replace(suite, cases=tuple(structs.replace(case, faults=PROBE) for case in suite.cases[:1]))
    try:
        agent, *_ = settle(target, how, request, config, with_models)
    except CarobError:
        agent, *_ = settle(target, how, request, config, suite)
    if reached := reach_of(agent.target):
        return reached
    raise ConfigError(f"Carob cannot break any tool or model of {agent.name!r}.", fix=WHERE, slug=UNREACHABLE)


def plan_cells(
    located: LocatedSuite,
    chosen: Suite,
    base: Journal,
    project: Project,
    options: StressOptions,
    reached: frozenset[Hit],
) -> StressPlan:
    """The cells of the chosen cases that pass in a recorded run."""
    file = options.injections or _injections_of(project)
    catalog = catalog_for(project)
    planner = Planner(catalog, read_injections(Path(file) if file else SHIPPED), options.seed, reached, options.faults)
    records = _passing(base.records())
    ids = {case.id for case in chosen.cases if not case.skip and not case.xfail}
    for case, expected in zip(located.suite.cases, located.expectations, strict=True):
        if case.id in ids:
            record = records.get(case.id)
            if record is not None and record.case.user_texts == case.user_texts:
                record = structs.replace(record, verdict=judge_case(case, record.trace, catalog))
            planner.add(case, expected, record)
    return planner.plan(options.max_runs)


def _injections_of(project: Project) -> str:
    """The file that [stress] of carob.toml names."""
    table: StressTable = read_settings(project, STRESS)
    return str(Path(project.file).parent / table.injections) if table.injections else ""


def _passing(records: Iterable[CaseRecord]) -> dict[str, CaseRecord]:
    """Of each case the first repeat that passed, else its last."""
    chosen: dict[str, CaseRecord] = {}
    for record in records:
        if record.case.id not in chosen or chosen[record.case.id].status is not CaseStatus.PASS:
            chosen[record.case.id] = record
    return chosen


def report_of(plan: StressPlan, journal: Journal, options: StressOptions, suite: str) -> StressReport:
    """How the cells of a plan came out, by the journal of their run."""
    records: Mapping[str, CaseRecord] = {record.case.id: record for record in journal.records()}
    judged = [judge_cell(cell, records) for cell in plan.cells]
    return StressReport(
        suite=suite,
        target=journal.header.target,
        journal=journal.path,
        base=options.base,
        seed=options.seed,
        cells=tuple(cell for cell in judged if cell is not None),
        left_out=plan.left_out,
        not_tried=plan.not_tried,
        notes=(*plan.notes, *guard_words(journal.summary)),
        incomplete=journal.summary.incomplete,
    )


def _write(report: StressReport, run: RunResult) -> list[Path]:
    """The table as JSON and as a page, next to the journal."""
    journal = Path(run.journal.file)
    page = next((path.name for path in run.artifacts if path.suffix == ".html"), "")
    paths = []
    for end, data in (("json", stress_json(report)), ("html", stress_html(report, page))):
        name = f"{journal.stem}.{STRESS}.{end}"
        with open_atomic(journal.with_name(name), replace=True) as out:
            out.write(data)
        paths.append(Path(run.journal.path).with_name(name))
    return paths


def _suite_of(suite: Suite, plan: StressPlan) -> Suite:
    file = Path(suite.file)
    name = str(file.with_name(f"{file.stem}-{STRESS}{file.suffix}"))
    return structs.replace(suite, file=name, cases=plan.cases, rules=(), warnings=())


def _deadline(base: Journal) -> float:
    longest = max((record.duration_ms for record in base.records()), default=0.0) / 1000
    return max(SHORTEST_DEADLINE, round(longest * LONGER, 1))


def _options_of(journal: Journal) -> StressOptions:
    try:
        return msgspec.convert(journal.header.options[STRESS], StressOptions)
    except (KeyError, msgspec.ValidationError):
        fix = "Name one that `carob stress` wrote."
        raise UsageError("this is not the journal of a stress run.", where=journal.path, fix=fix) from None


def write_broken(result: StressResult, path: Path) -> int:
    """Write the cells that broke as a Carob 1 suite, each with its fault and what must hold; how many there are."""
    broken = {cell.id: cell for cell in result.report.cells if cell.status is CellStatus.BROKE}
    controls = {record.case.id: failed_checks(record) for record in result.run if record.case.id not in broken}
    cells = [
        _with_broken_rules(_without_usual(cell, controls), broken[cell.case.id])
        for cell in result.plan.cells
        if cell.case.id in broken
    ]
    if cells:
        origin = f"Cells of `carob stress {result.report.suite}` that broke; each passes once the agent is fixed."
        with open_atomic(path, replace=True, elsewhere="name another place for it") as out:
            out.write(spell_cells(cells, origin).encode())
    return len(cells)


def _without_usual(cell: Cell, controls: Mapping[str, frozenset[str]]) -> Cell:
    """The cell without what a harmless text breaks as well: that is not what was found."""
    if cell.control is None:
        return cell
    anyway = controls.get(cell.control.case.id, frozenset())
    return structs.replace(cell, expected={key: value for key, value in cell.expected.items() if key not in anyway})


def _with_broken_rules(cell: Cell, result: CellResult) -> Cell:
    """The cell with the rules that it broke, if nothing else: rules that nothing triggers make a run untested."""
    broken = {finding.rule for finding in result.findings if finding.status is CellStatus.BROKE}
    rules = {spelled_rule(spec)["id"]: spec for spec in cell.rules}
    is_rules_alone = broken <= rules.keys()
    return structs.replace(cell, rules=tuple(rules[name] for name in rules if name in broken and is_rules_alone))


def spell_cells(cells: Sequence[Cell], origin: str) -> str:
    """A suite of these cells in YAML, with the rules that they keep."""
    declared: dict[str, Any] = {}
    for cell in cells:
        declared |= {key: cell.expected[key] for key in DECLARED if key in cell.expected}
    rules = {str(rule["id"]): rule for cell in cells for rule in map(spelled_rule, cell.rules)}
    if rules:
        declared["rules"] = [*rules.values()]
    comments = [f"# {origin}", *(ONLY_RULES if rules else ())]
    lines = [*comments, *block({"carob": 1, **_plain_value(declared)}), "cases:"]
    for cell in cells:
        lines += item(_plain_value(_case(cell)), 2)
    return "\n".join([*lines, ""])


def _case(cell: Cell) -> dict[str, Any]:
    case = cell.case
    value: dict[str, Any] = {"id": case.id, **{key: field for key in COPIED if (field := getattr(case, key))}}
    if case.turns:
        value["turns"] = [
            {**spell_turn(turn), **({"expected": undeclared} if (undeclared := _without_declared(expected)) else {})}
            for turn, expected in zip(case.turns, cell.turns, strict=True)
        ]
    else:
        value["prompt"] = case.prompt
    if case.replies:
        value["replies"] = [{"asks_for": reply.asks_for, "say": reply.say} for reply in case.replies]
    if case.stubs:
        value["stubs"] = {
            stub.tool: {"error": stub.error} if stub.error else {"result": stub.result} for stub in case.stubs
        }
    value["faults"] = [fault.spelled for fault in case.faults]
    return {**value, "expected": _without_declared(cell.expected)}


def _without_declared(expected: Mapping[str, Any]) -> dict[str, Any]:
    """What a suite says: texts of files by the names of their files, and what it declares at its top."""
    return {key: value for key, value in expected.items() if key not in DECLARED}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_value(inner) for key, inner in value.items()}
    return [*map(_plain_value, value)] if isinstance(value, list | tuple) else value
