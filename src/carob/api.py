"""The front door: the command line, the library and whatever else runs Carob come in here.

Each thing is written once. What waits for agents is asynchronous, and its synchronous twin works inside a running event
loop too; what only computes is synchronous, and its asynchronous twin leaves the event loop free.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from carob.checks.catalog import catalog_for
from carob.engine import rescoring
from carob.engine.columns import PlannedColumn as PlannedColumn
from carob.engine.columns import plan_columns as plan_columns
from carob.engine.rescoring import AnyJournal, AnySuite, as_journals, load_in
from carob.engine.rescoring import default_results_dir as default_results_dir
from carob.engine.rescoring import find_journals as find_journals
from carob.engine.rescoring import find_run as find_run
from carob.engine.rescoring import last_journal as last_journal
from carob.engine.rescoring import load_file as load_file
from carob.engine.rescoring import load_recorded_suite as load_recorded_suite
from carob.engine.rescoring import open_journal as open_journal
from carob.engine.rescoring import project_for as project_for
from carob.engine.rescoring import trusting as trusting
from carob.engine.suite_files import convert as convert
from carob.engine.suite_files import list_cases as list_cases
from carob.engine.suite_files import refuse_place as refuse_place
from carob.engine.suite_files import refuse_taken as refuse_taken
from carob.engine.suite_files import schema as schema
from carob.engine.suite_files import write_schema as write_schema
from carob.engine.suite_files import write_suite as write_suite
from carob.errors import UsageError
from carob.journal.reader import Journal as Journal
from carob.model.run import Header
from carob.model.suite import Case, Suite, leave_unjudged_of
from carob.model.trace import Trace
from carob.model.verdict import Verdict
from carob.plugins.features import find_service
from carob.plugins.project import find_project as find_project
from carob.reports.artifacts import BinaryWriter
from carob.reports.catalog import refuse_one_file as refuse_one_file
from carob.reports.run_result import Allowances, ResultsPlace
from carob.reports.run_result import RunResult as RunResult
from carob.reports.writing import Each
from carob.scoring import verdicts
from carob.scoring.intervals import Runs
from carob.suites.documents.source import SuiteSource
from carob.suites.selection import Selection as Selection
from carob.suites.selection import select_each as select_each
from carob.system.sync_async import make_async, make_sync
from carob.targets.config import Config as Config
from carob.targets.config import read_config as read_config
from carob.text.wording import names_of, pluralize

if TYPE_CHECKING:
    from carob.engine.request import AnyTarget, ResumeKeywords, RunKeywords
    from carob.engine.tapes import Leak, TapeReport
    from carob.evidence.exports.record import RecordedConversation
    from carob.judging.judges import PreparedJudge
    from carob.options import SelectionKeywords
    from carob.plugins.project import Project as Project
    from carob.proxy.tape.file import Tape
    from carob.scoring.proofs import Proof

StatusName: TypeAlias = Literal["pass", "fail", "partial", "error", "skip", "xfail"]


def load_suite(suite: AnySuite) -> Suite:
    """Read a suite: a file, its text, or the object that it would hold. Raises SuiteError with every problem.

    A `str` is the path of a file, unless it begins as JSON does or has several lines.
    """
    return suite if isinstance(suite, Suite) else load_in(suite, find_project())


_aload_suite = make_async(load_in)


def find_config() -> Config:
    """The configuration of this folder, read."""
    return read_config(find_project())


def self_test() -> Iterator[Proof]:
    """Prove every check with its own examples, and the scoring with known verdicts."""
    from carob.scoring.proofs import proofs

    return proofs(catalog_for(find_project()))


def judge(case: Case | Mapping[str, object], trace: Trace | Mapping[str, object]) -> Verdict:
    """Judge what an agent did in one case, by the checks of the project in which its suite was read.

    A case that was made by hand, or read from a journal, is judged by those of this folder's project. A case may be a
    dict with the keys of a Carob 1 case, and a trace one with the keys that a `python:` agent may return.
    """
    from carob.engine.authoring import read_case, read_trace  # it loads targets, which few need to judge

    case = case if isinstance(case, Case) else read_case(case, find_project())
    trace = read_trace(trace, case)
    if trace.case_id not in ("", case.id):
        raise UsageError(f"the trace is of case {trace.case_id!r}, not of {case.id!r}.", slug="bad-trace")
    if not trace.error and len(case.turns) != len(trace.turns) and (case.turns or not case.replies):
        message = f"the case {case.id!r} has {pluralize(len(case.turns), 'turn')}, the trace {len(trace.turns)}."
        raise UsageError(message, fix="Give the trace of each turn in `turns`.", slug="bad-trace")
    return verdicts.judge_case(case, trace, case.catalog or catalog_for(find_project()))


async def arun(suite: AnySuite, target: AnyTarget | None = None, **how: Unpack[RunKeywords]) -> RunResult:
    """Run a suite against a target and judge every case.

    `target` is a function that takes a prompt and returns text, a dict or a Trace; or an object with open, run and
    close; or a spec such as `python:module:function`; or a name of carob.toml, by default its `target`. The other
    arguments are the options of `carob run` as carob.options declares them; `secrets` are values that no file may show.
    `listeners` hear the events of the run, and once `stop` is set, it ends and can be resumed. Without `results_dir`
    the journal lives in a temporary folder as long as the result does.
    """
    return await arun_by(read_config(project_for(suite)), suite, target, **how)


run = make_sync(arun)


async def arun_by(
    config: Config, suite: AnySuite, target: AnyTarget | None = None, **how: Unpack[RunKeywords]
) -> RunResult:
    """As `arun`, by a configuration that was read already."""
    from carob.engine.request import RunKeywords, RunOptions, RunRequest, refuse_unknown
    from carob.engine.session import run_suite

    refuse_unknown(how, RunKeywords)
    options, request = RunOptions.of(how), RunRequest.of(how, selection_of(how), how.get("reports"), _read_base)
    config, allowed = trusting(config, how.get("trust_code")), _allowances(how, config)
    with ResultsPlace(how.get("results_dir")) as results:
        loaded = leave_unjudged_of(await _aload_suite(suite, config.project), allowed.unjudged)
        return results.keep_for(await run_suite(loaded, target, options, request, results.folder, config), allowed)


def selection_of(how: SelectionKeywords) -> Selection:
    cases, categories = names_of("cases", how.get("cases")), names_of("categories", how.get("categories"))
    return Selection(cases, categories, names_of("tags", how.get("tags")), how.get("keyword"))


def _read_base(
    name: str, header: Header, path: str, cases: Sequence[Case], folder: Path, project: Project
) -> dict[int, Runs]:
    runs: dict[int, Runs] = find_service("base_reader")(name, header, path, cases, folder, project)
    return runs


async def aresume(
    journal: AnyJournal, suite: AnySuite | None = None, target: AnyTarget | None = None, **how: Unpack[ResumeKeywords]
) -> RunResult:
    """Finish a run that was interrupted or killed: only what is missing is run.

    Suite, selection, target, its options, `repeat`, and where, how fast and how long cases are run are those of the
    journal unless they are given anew; the other keywords are those of `run`. The result is a new, complete journal,
    by default next to the old one.
    """
    return await arerun_by(read_config(project_for(suite, journal)), journal, suite, target, status=(), **how)


resume = make_sync(aresume)


async def arerun(
    journal: AnyJournal,
    suite: AnySuite | None = None,
    target: AnyTarget | None = None,
    *,
    status: Collection[StatusName] = ("error", "fail"),
    **how: Unpack[ResumeKeywords],
) -> RunResult:
    """Run the cases of a run again that came out with one of these statuses, and whatever is missing; keep the others.

    All else is as for `resume`.
    """
    config = read_config(project_for(suite, journal))
    return await arerun_by(config, journal, suite, target, status=status, **how)


rerun = make_sync(arerun)


def _allowances(how: ResumeKeywords, config: Config) -> Allowances:
    partial, unknown, unjudged = how.get("allow_partial"), how.get("allow_unknown"), how.get("allow_unjudged")
    return rescoring.resolve_allowances(partial, unknown, unjudged, config)


async def arerun_by(
    config: Config,
    journal: AnyJournal,
    suite: AnySuite | None = None,
    target: AnyTarget | None = None,
    *,
    status: Collection[StatusName],
    **how: Unpack[ResumeKeywords],
) -> RunResult:
    """As `arerun`, or without a status as `aresume`, by a configuration that was read already."""
    from carob.engine.request import ResumeKeywords, RunOptions, RunRequest, parse_status, refuse_unknown
    from carob.engine.session import PreviousRun, resume_suite

    refuse_unknown(how, ResumeKeywords)
    request = RunRequest.of(how, reports=how.get("reports"), read_base=_read_base)
    config, allowed = trusting(config, how.get("trust_code")), _allowances(how, config)
    project = config.project
    previous = PreviousRun(
        open_journal(journal, project), frozenset(map(parse_status, names_of("status", status) or ()))
    )
    options = RunOptions.of(how, previous.journal.header)
    with ResultsPlace(how.get("results_dir") or Path(previous.journal.path).parent) as results:
        suite = load_recorded_suite(previous.journal, project) if suite is None else suite
        loaded = leave_unjudged_of(await _aload_suite(suite, project), allowed.unjudged)
        result = await resume_suite(previous, loaded, target, options, request, results.folder, config)
        return results.keep_for(result, allowed)


def rescore(
    journal: AnyJournal,
    suite: AnySuite | None = None,
    *,
    workers: int = 1,
    results_dir: str | Path | None = None,
    reports: Sequence[str] = (),
    allow_partial: bool | None = None,
    allow_unknown: bool | None = None,
    allow_unjudged: bool | None = None,
    trust_code: bool | None = None,
    each: Each | None = None,
    judge: Callable[[str], None] | None = None,
) -> RunResult:
    """Judge a recorded run again, by its own cases or by those of a suite, on as many processors as `workers`.

    A case of the suite that was not recorded, or with another prompt, is an ERROR; recorded cases that the suite does
    not have are the `left_out` of the result. Without `results_dir` the new journal lives as long as the result does.
    `each` is called with what became of each case, in suite order. With `judge`, the judge of carob.toml is asked about
    the criteria first; it is called with what there is to say of that.
    """
    config = trusting(read_config(project_for(suite, journal)), trust_code)
    loaded = None if suite is None else load_in(suite, config.project)
    allowed = rescoring.resolve_allowances(allow_partial, allow_unknown, allow_unjudged, config)
    with ResultsPlace(results_dir) as results:
        further = names_of("reports", reports) or ()
        run = open_journal(journal, config.project)
        if loaded is not None:
            loaded = leave_unjudged_of(loaded, allowed.unjudged)
        asked = None
        if judge is not None:
            if loaded is not None:
                run = rescoring.rescore(run, loaded, results.folder, config, workers=workers).journal
                loaded = None
            asked = find_service("ask_judge")(run, config.project, judge)
        how: dict[str, Any] = {"workers": workers, "each": each, "allow_unjudged": allow_unjudged, "asked": asked}
        result = rescoring.rescore(run, loaded, results.folder, config, further, **how)
        return results.keep_for(result, allowed)


def report(
    journals: AnyJournal | Sequence[AnyJournal], format: str, path: str | Path | BinaryWriter | None = None
) -> tuple[Path, ...]:
    """Write a report of recorded runs, such as `junit`, and say where. A folder means all journals in it.

    `path` is a file, a folder, or what takes bytes such as `io.BytesIO`; without it, the report is next to the journal.
    """
    from carob.reports.writing import file_report

    sources = as_journals(journals)
    project = project_for(journal=next(iter(sources), None))
    return file_report([run for source in sources for run in find_journals(source, project)], format, path, project)


def expand_sources(sources: Sequence[str | Path]) -> list[str | Path]:
    """The files and folders that these names mean, which may have `*` in them."""
    from carob.evidence.exports.files import expand_sources

    return expand_sources(sources)


def prepare_judge(rules: SuiteSource | Case) -> PreparedJudge:
    """A function that judges a trace, compiled once: by a file of rules, or by one case. It can be sent to a worker."""
    from carob.judging.judges import prepare_judge

    return prepare_judge(rules, find_project())


def judge_many(
    rules: SuiteSource | Case | PreparedJudge, traces: Iterable[Trace | Mapping[str, object] | RecordedConversation]
) -> Iterator[Verdict]:
    """The verdict of each trace, one at a time: by rules, or by one case."""
    judge = rules if callable(rules) else prepare_judge(rules)
    return map(judge, traces)


def read_conversations(
    sources: str | Path | Sequence[str | Path], *, format: str = ""
) -> Iterator[RecordedConversation]:
    """The conversations of exports, one at a time, as `carob check` reads them."""
    from carob.evidence.exports.reading import read_conversations

    listed = [sources] if isinstance(sources, str | Path) else sources
    return read_conversations(expand_sources(listed), format=format)


def check_tape(suite: AnySuite) -> TapeReport:
    """Hold the tape of a suite against the suite: cases that one of the two lacks, and recordings that are too old."""
    from datetime import UTC, datetime

    from carob.engine import tapes

    return tapes.check_tape(load_suite(suite), find_project(), datetime.now(UTC).date())


def read_tape(path: str | Path) -> Tape:
    """Read a tape: what was asked of the services around an agent, and what they answered."""
    from carob.proxy.tape.file import read_tape

    return read_tape(Path(path))


def seal_tape(path: str | Path) -> int:
    """Accept what was edited by hand in a tape; how many exchanges were."""
    from carob.proxy.tape.file import seal_tape

    return seal_tape(Path(path))


def scan_tape(path: str | Path) -> list[Leak]:
    """Find what is, or looks like, a secret on a tape."""

    from carob.engine import tapes

    return tapes.scan_tape(Path(path), find_project(), os.environ)


def serve_stdio(name: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Be the MCP server that a command starts, on the tape that the environment names; the exit status."""
    from carob.proxy.stdio import serve_stdio

    return serve_stdio(name, command, environ)
