"""The front door: the command line, the library and whatever else runs Carob come in here.

Each thing is written once. What waits for agents is asynchronous, and its synchronous twin works inside a running event
loop too; what only computes is synchronous, and its asynchronous twin leaves the event loop free.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack

from carob.checks.catalog import catalog_for
from carob.engine import rescoring
from carob.engine.rescoring import AnyJournal, AnySuite, as_journals, load_in, name_run
from carob.engine.rescoring import default_results_dir as default_results_dir
from carob.engine.rescoring import find_journals as find_journals
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
from carob.plugins.project import find_project as find_project
from carob.reports.artifacts import BinaryWriter
from carob.reports.catalog import refuse_one_file as refuse_one_file
from carob.reports.run_result import Allowances, ResultsPlace
from carob.reports.run_result import RunResult as RunResult
from carob.reports.writing import Each
from carob.scoring import verdicts
from carob.scoring.intervals import Runs
from carob.suites.documents.source import SuiteSource, source
from carob.suites.selection import Selection as Selection
from carob.suites.selection import select_each as select_each
from carob.system.sync_async import make_async, make_sync
from carob.targets.config import Config as Config
from carob.targets.config import read_config as read_config
from carob.text.wording import names_of, pluralize

if TYPE_CHECKING:
    from carob.features.graders.model import GraderAudit
    from carob.features.audit.model import AuditReport
    from carob.features.audit.run_audit import Auditor
    from carob.features.check.judges import PreparedJudge
    from carob.features.check.model import CheckReport, GroupKey
    from carob.features.compare.model import Comparison, History
    from carob.features.compare.references import BaselineFile
    from carob.features.coverage.model import Coverage
    from carob.features.draft.contrast import ContrastDraft as ContrastDraft
    from carob.features.draft.draft import SuiteDraft as SuiteDraft
    from carob.features.draft.rules import RulesDraft as RulesDraft
    from carob.features.lint.linter import LintReport
    from carob.features.matrix.columns import PlannedColumn as PlannedColumn
    from carob.features.matrix.model import Matrix
    from carob.features.audit.recorded_claims import ClaimSentence
    from carob.features.stress.session import StressKeywords, StressResult
    from carob.engine.request import AnyTarget, ResumeKeywords, RunKeywords
    from carob.engine.tapes import Leak, TapeReport
    from carob.evidence.exports.record import RecordedConversation
    from carob.options import ExecutorName, SelectionKeywords
    from carob.plugins.project import Project as Project
    from carob.proxy.tape.file import Tape
    from carob.scoring.proofs import Proof
    from carob.features.setup.inspect.inspection import Inspection
    from carob.features.setup.survey.findings import FoundAgent as FoundAgent
    from carob.features.setup.survey.findings import Survey as Survey
    from carob.features.setup.write.plan import InitPlan as InitPlan
    from carob.targets.config import TargetConfig
    from carob.features.viewer.serving import ViewerServer
    from carob.features.watch.session import ConversationWatch

REPEATS = 5
"""How often a draft asks each prompt if the user does not say."""
StatusName: TypeAlias = Literal["pass", "fail", "partial", "error", "skip", "xfail"]


def load_suite(suite: AnySuite) -> Suite:
    """Read a suite: a file, its text, or the object that it would hold. Raises SuiteError with every problem.

    A `str` is the path of a file, unless it begins as JSON does or has several lines.
    """
    return suite if isinstance(suite, Suite) else load_in(suite, find_project())


aload_suite = make_async(load_suite)
_aload_suite = make_async(load_in)
aconvert = make_async(convert)
alist_cases = make_async(list_cases)
aschema = make_async(schema)


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


ajudge = make_async(judge)


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
    options, request = RunOptions.of(how), RunRequest.of(how, _selection(how), how.get("reports"), _read_base)
    config, allowed = trusting(config, how.get("trust_code")), _allowances(how, config)
    with ResultsPlace(how.get("results_dir")) as results:
        loaded = leave_unjudged_of(await _aload_suite(suite, config.project), allowed.unjudged)
        return results.keep_for(await run_suite(loaded, target, options, request, results.folder, config), allowed)


def _selection(how: SelectionKeywords) -> Selection:
    cases, categories = names_of("cases", how.get("cases")), names_of("categories", how.get("categories"))
    return Selection(cases, categories, names_of("tags", how.get("tags")), how.get("keyword"))


def _read_base(
    name: str, header: Header, path: str, cases: Sequence[Case], folder: Path, project: Project
) -> dict[int, Runs]:
    # late: comparing loads SQLite, which most runs do not need
    from carob.features.compare.comparisons import read_base

    return read_base(name, header, path, cases, folder, project)


async def aresume(
    journal: AnyJournal, suite: AnySuite | None = None, target: AnyTarget | None = None, **how: Unpack[ResumeKeywords]
) -> RunResult:
    """Finish a run that was interrupted or killed: only what is missing is run.

    Suite, selection, target, its options, `timeout` and `repeat` are those of the journal unless they are given anew;
    the other keywords are those of `run`. The result is a new, complete journal, by default next to the old one.
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
    options, request = RunOptions.of(how), RunRequest.of(how, reports=how.get("reports"), read_base=_read_base)
    config, allowed = trusting(config, how.get("trust_code")), _allowances(how, config)
    project = config.project
    previous = PreviousRun(
        open_journal(journal, project), frozenset(map(parse_status, names_of("status", status) or ()))
    )
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
) -> RunResult:
    """Judge a recorded run again, by its own cases or by those of a suite, on as many processors as `workers`.

    A case of the suite that was not recorded, or with another prompt, is an ERROR; recorded cases that the suite does
    not have are the `left_out` of the result. Without `results_dir` the new journal lives as long as the result does.
    `each` is called with what became of each case, in suite order.
    """
    config = trusting(read_config(project_for(suite, journal)), trust_code)
    loaded = None if suite is None else load_in(suite, config.project)
    allowed = rescoring.resolve_allowances(allow_partial, allow_unknown, allow_unjudged, config)
    with ResultsPlace(results_dir) as results:
        further = names_of("reports", reports) or ()
        run = open_journal(journal, config.project)
        if loaded is not None:
            loaded = leave_unjudged_of(loaded, allowed.unjudged)
        result = rescoring.rescore(
            run, loaded, results.folder, config, further, workers=workers, each=each, allow_unjudged=allow_unjudged
        )
        return results.keep_for(result, allowed)


arescore = make_async(rescore)


def compare_runs(
    base: AnyJournal,
    new: AnyJournal,
    *,
    confidence: float | None = None,
    results_dir: str | Path | None = None,
    mix_tapes: bool = False,
    together: int = 1,
    **gates: float | None,
) -> Comparison:
    """Better or worse, and how sure: two runs case by case, and whether the gates of carob.toml and these are met.

    A run is the result of `run`, a journal, a folder of them, `@last`, `@last-green`, a commit or tag that was run; the
    base also the last five runs (`@last-5`), a baseline, or `@baseline` for that of the suite. `gates` are those of the
    `[gate]` table.
    A run that was replayed from a tape is compared with one that was not only if `mix_tapes` allows it. `together` is
    the number of comparisons that are acted on at once: all of them give a false alarm no more often than one would.
    """
    from carob.features.compare.comparisons import compare_runs

    runs = name_run(base), name_run(new)
    return compare_runs(*runs, results_dir, gates, confidence, find_project(), mix_tapes=mix_tapes, together=together)


acompare_runs = make_async(compare_runs)


def plan_columns(targets: Sequence[str], assignments: Sequence[str], config: Config) -> list[PlannedColumn]:
    """The runs of a matrix: each target with each combination of values; one run where nothing varies."""
    from carob.features.matrix.columns import plan_columns

    return plan_columns(targets, assignments, config)


def matrix(runs: Sequence[AnyJournal], *, results_dir: str | Path | None = None) -> Matrix:
    """Runs of one suite side by side: each case with what it came to, was answered and called in every one of them.

    Runs that are not whole are shown and not compared; the others are compared with the first of them.
    """
    from carob.features.matrix.builder import read_matrix

    return read_matrix([name_run(run) for run in runs], results_dir, find_project())


amatrix = make_async(matrix)


def set_baseline(
    run: AnyJournal, *, file: str | Path | None = None, results_dir: str | Path | None = None
) -> BaselineFile:
    """Keep a run as the baseline of its suite: a small file next to the suite, or at another place."""
    from carob.features.compare import references

    return references.set_baseline(name_run(run), None if file is None else Path(file), results_dir, find_project())


def load_baseline(file: str | Path) -> BaselineFile:
    """The baseline of a suite, or of this file."""
    from carob.features.compare import references

    return references.load_baseline(Path(file))


def history(
    folder: str | Path | None = None, *, suite: str = "", target: str = "", runs: int = 20, since: str = ""
) -> History:
    """The last runs of a suite against one target, case by case: what broke when, and what is flaky."""
    from carob.features.compare.comparisons import build_history

    return build_history(folder, find_project(), most=runs, since=since, suite=suite, target=target)


aset_baseline = make_async(set_baseline)
aload_baseline = make_async(load_baseline)
ahistory = make_async(history)


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


areport = make_async(report)


def auditor(journal: AnyJournal, suite: AnySuite | None = None, *, seed: int = 0) -> Auditor:
    """An audit that gives one case after the other, for journals too large for one report."""
    from carob.features.audit.judging import Allowance
    from carob.features.audit.run_audit import Auditor

    config = read_config(project_for(suite, journal))
    project = config.project
    loaded = None if suite is None else load_in(suite, project)
    run = rescoring.require_auditable(open_journal(journal, project), loaded)
    return Auditor(run, seed, Allowance(*rescoring.resolve_allowances(None, None, None, config)[:2]))


def audit(journal: AnyJournal, suite: AnySuite | None = None, *, seed: int = 0) -> AuditReport:
    """Prove that the suite of a recorded run can fail: make right traces wrong, one change at a time, and judge again.

    With `suite`, a journal that is not of that suite as it is now is refused.
    """
    return auditor(journal, suite, seed=seed).report()


aaudit = make_async(audit)


def audit_grader(
    grader: str,
    traces: AnyJournal | Sequence[AnyJournal],
    *,
    seed: int = 0,
    asks: int = 3,
    threshold: float | None = None,
    timeout: float = 60.0,
    min_caught: Sequence[str | float] = (),
    verdicts: str | Path | None = None,
    reviews: str | Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> GraderAudit:
    """Prove that a grader can say no: give it recorded traces that it accepts, made wrong in one way at a time.

    `grader` is a spec such as `python:judge.py:is_right`; `traces` are journals, recordings or exports. The other
    arguments are the options of `carob audit --grader`; `on_progress` gets the traces and calls so far.
    """
    from carob.features.graders.session import GraderRequestOptions, audit_grader_of

    options = GraderRequestOptions(
        seed=seed,
        asks=asks,
        threshold=threshold,
        timeout=timeout,
        min_caught=min_caught,
        verdicts=None if verdicts is None else Path(verdicts),
        reviews=None if reviews is None else Path(reviews),
    )
    return audit_grader_of(grader, [*map(name_run, as_journals(traces))], options, find_config(), on_progress)


aaudit_grader = make_async(audit_grader)


def coverage(
    suite: AnySuite,
    runs: AnyJournal | Sequence[AnyJournal] = (),
    *,
    against: AnyJournal | Sequence[AnyJournal] = (),
    unlike: str | Path | None = None,
) -> Coverage:
    """What a suite and runs reach of what is declared: tools, arguments, effects, rules, faults and expected keys.

    `runs`: journals, folders of them, or recordings that `replay:` reads. What was not observed is not covered.
    `against`: recorded conversations, of which the kinds that no case resembles are listed; some of each are written to
    the file `unlike`, which `carob.draft` reads.
    """
    from carob.features.coverage.sources import measure_coverage, write_unlike

    project = project_for(suite)
    loaded, journals, others = load_in(suite, project), as_journals(runs), as_journals(against)
    if unlike is None:
        return measure_coverage(loaded, journals, project, others)
    redactor = rescoring.configured_redactor(read_config(project))
    with write_unlike(Path(unlike), redactor) as write:
        return measure_coverage(loaded, journals, project, others, write)


acoverage = make_async(coverage)


def read_prompts(path: str | Path) -> list[str]:
    """The prompts of a file for a draft: one a line, or the column `prompt` of a .csv file."""
    from carob.features.draft.session import read_prompts

    return read_prompts(Path(path))


async def adraft(
    sources: AnyJournal | Sequence[AnyJournal] = (),
    target: AnyTarget | None = None,
    *,
    prompts: Sequence[str] = (),
    name: str = "",
    max_cases: int = 30,
    keep_personal_data: bool = False,
    allow_effects: bool = False,
    **how: Unpack[ResumeKeywords],
) -> SuiteDraft:
    """Draft a suite from recorded traces, or from what a target does when it is asked `prompts`.

    Each prompt is asked `repeat` times, five if not given.
    Nothing is written: `yaml` of the draft is the text of the suite. A target whose tools may change something is only
    asked with `allow_effects`. The other arguments are those of `run`.
    """
    from carob.features.draft.draft import DraftOptions
    from carob.features.draft.session import adraft_target, draft_sources

    options = DraftOptions(name=name, max_cases=max_cases, keep_personal_data=keep_personal_data)
    project = find_project()
    if prompts:
        config = trusting(read_config(project), how.get("trust_code"))
        return await adraft_target(
            target, prompts, how.get("repeat", REPEATS), options, config, allow_effects=allow_effects, how=how
        )
    return await make_async(draft_sources)([*map(name_run, as_journals(sources))], options, project)


draft = make_sync(adraft)


def draft_rules(sources: AnyJournal | Sequence[AnyJournal], *, name: str = "") -> RulesDraft:
    """Draft a contract: rules that all recorded conversations keep, learned from half of them, checked on the others.

    Nothing is written: `yaml` of the draft is the text of the contract.
    """
    from carob.features.draft.session import draft_rules_of_sources

    return draft_rules_of_sources([*map(name_run, as_journals(sources))], name, find_project())


adraft_rules = make_async(draft_rules)


def draft_contrast(
    good: AnyJournal | Sequence[AnyJournal],
    bad: AnyJournal | Sequence[AnyJournal],
    *,
    name: str = "",
    max_cases: int = 30,
    keep_personal_data: bool = False,
) -> ContrastDraft:
    """Draft what all good recorded sessions did and a bad one did not: commands, files, skills, calls and rules.

    Nothing is written: `yaml` of the draft is the text of a suite that every good session passes, and `lines` says
    which bad ones each line catches. Raises UsageError if they differ in nothing.
    """
    from carob.features.draft.draft import DraftOptions
    from carob.features.draft.session import draft_contrast_of_sources

    options = DraftOptions(name=name, max_cases=max_cases, keep_personal_data=keep_personal_data)
    good, bad = ([*map(name_run, as_journals(sources))] for sources in (good, bad))
    return draft_contrast_of_sources(good, bad, options, find_project())


adraft_contrast = make_async(draft_contrast)


async def astress(
    suite: str | Path,
    target: AnyTarget | None = None,
    *,
    base: AnyJournal | None = None,
    resume: AnyJournal | None = None,
    **how: Unpack[StressKeywords],
) -> StressResult | RunResult:
    """Break the world around an agent in one way at a time, and judge what must hold whatever happens.

    `base`: a journal of the suite to start from, instead of a run; `resume`: an interrupted stress run to finish. Gives
    the run without faults where that did not come to its end.
    """
    from carob.features.stress.session import StressKeywords, StressOptions, stress_suite
    from carob.engine.request import RunOptions, RunRequest, refuse_unknown

    refuse_unknown(how, StressKeywords)
    config = find_config()
    project = config.project
    options = StressOptions(
        seed=how.get("seed", 0),
        max_runs=how.get("max_runs", 200),
        base="" if base is None else open_journal(base, project).path,
        injections=str(how.get("injections") or ""),
        faults=tuple(names_of("faults", how.get("faults")) or ()),
    )
    previous = None if resume is None else open_journal(resume, project)
    folder = Path(how.get("results_dir") or default_results_dir(str(suite), config))
    request = RunRequest.of(how, _selection(how), read_base=_read_base)
    return await stress_suite(str(suite), target, RunOptions.of(how), request, folder, config, options, previous)


stress = make_sync(astress)


def write_broken(result: StressResult, path: str | Path) -> int:
    """Write the cells that broke as a Carob 1 suite, each with its fault and what must hold; how many there are."""
    from carob.features.stress.session import write_broken

    return write_broken(result, Path(path))


def linter(
    target: str | TargetConfig | None = None, *, ignore: Collection[str] = ()
) -> Callable[[SuiteSource], LintReport]:
    """A linter of suites for a target whose tools and page are looked up once."""
    from carob.features.lint.linter import check_slugs, lint_source
    from carob.features.lint.target import find_target_info

    project = find_project()
    check_slugs(names_of("ignore", ignore) or ())
    catalog, info = catalog_for(project), find_target_info(target, project)
    return lambda suite: lint_source(*source(suite), catalog, info, ignore)


async def alint(
    suite: SuiteSource, *, target: str | TargetConfig | None = None, ignore: Collection[str] = ()
) -> LintReport:
    """Look for smells: expectations that are allowed and most likely prove less than they seem to.

    `target` says whose page and tools to look at, by default every page of carob.toml; `ignore` names kinds of smells.
    """
    from asyncio import to_thread

    return await to_thread(lambda: linter(target, ignore=ignore)(suite))


lint = make_sync(alint)


def read_claims(journal: AnyJournal) -> Iterator[ClaimSentence]:
    """The sentences of recorded answers: which claim an effect, which nearly do, and which do not."""
    from carob.features.audit.recorded_claims import read_claims
    from carob.engine.rescoring import open_journal

    project = find_project()
    return read_claims(open_journal(journal, project).records(), project)


def check_conversations(
    sources: str | Path | Sequence[str | Path],
    rules: SuiteSource | Sequence[str | Path] = (),
    *,
    suite: SuiteSource | None = None,
    by: GroupKey | None = None,
    since: str = "",
    where: str = "",
    sample: int | None = None,
    max_broken: float | None = None,
    allow_unknown: bool = False,
    outputs: Sequence[str | Path] = (),
    keep: int = 1_000,
    format: str = "",
    workers: int | None = None,
    executor: ExecutorName = "processes",
    ray_address: str | None = None,
    keep_personal_data: bool = False,
    on_progress: Callable[[int, str], None] | None = None,
) -> CheckReport:
    """Judge recorded conversations by rules: what share of them broke a rule, which ones, and since when.

    `sources` are exports, folders of them or `-`; `rules` a file of rules, several, or what such a file would hold, by
    default those of carob.toml. `suite`: its rules, and what its `defaults` expect. The other arguments are the options
    of `carob check`; `on_progress` is called with how many were judged and where the last one is from.
    """
    from carob.features.check.session import CheckOptions, check_conversations

    options = CheckOptions(
        by=by,
        since=since,
        where=where,
        sample=sample,
        max_broken=max_broken,
        allow_unknown=allow_unknown,
        outputs=tuple(map(Path, outputs)),
        keep=keep,
        format=format,
        workers=workers,
        executor=executor,
        ray_address=ray_address,
        keep_personal_data=keep_personal_data,
    )
    listed = [sources] if isinstance(sources, str | Path) else sources
    policies = [rules] if isinstance(rules, str | Path | Mapping) else list(rules)
    return check_conversations(listed, policies, suite, options, find_project(), on_progress)


acheck_conversations = make_async(check_conversations)


def open_watch(
    rules: SuiteSource | Sequence[str | Path] = (),
    *,
    suite: SuiteSource | None = None,
    folder: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 4318,
    token: str = "",
    quiet: float = 5.0,
    patience: float = 60.0,
    resend: float = 10.0,
    export: str = "",
    max_conversations: int = 20_000,
    max_spans: int = 2_000,
    max_size: float = 8,
    room: float = 512,
    keep_hours: float = 24,
    keep_personal_data: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> ConversationWatch:
    """Listen for spans, and judge conversations as they come: `run` judges until `stop`, then `close` ends it.

    The arguments are the options of `carob watch`; `token` is the token itself. `say` gets the lines that it prints.
    """
    from carob.features.watch.session import ConversationWatch, WatchOptions
    from carob.features.watch.tables import StoreLimits

    config = find_config()
    options = WatchOptions(
        folder=default_results_dir("suite.json", config) / "watch" if folder is None else Path(folder),
        host=host,
        port=port,
        token=token,
        quiet=quiet,
        patience=patience,
        resend=resend,
        export=export,
        keep_personal_data=keep_personal_data,
        limits=StoreLimits(
            conversations=max_conversations,
            spans=max_spans,
            size=int(max_size * (1 << 20)),
            room=int(room * (1 << 20)),
            keep_seconds=keep_hours * 3_600,
        ),
    )
    policies = [rules] if isinstance(rules, str | Path | Mapping) else list(rules)
    watch = ConversationWatch(policies, suite, options, config.project, environ=os.environ, say=say)
    watch.open()
    return watch


def expand_sources(sources: Sequence[str | Path]) -> list[str | Path]:
    """The files and folders that these names mean, which may have `*` in them."""
    from carob.features.check.session import expand_sources

    return expand_sources(sources)


def prepare_judge(rules: SuiteSource | Case) -> PreparedJudge:
    """A function that judges a trace, compiled once: by a file of rules, or by one case. It can be sent to a worker."""
    from carob.features.check.judges import prepare_judge

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


acheck_tape = make_async(check_tape)


def read_tape(path: str | Path) -> Tape:
    """Read a tape: what was asked of the services around an agent, and what they answered."""
    from carob.proxy.tape.file import read_tape

    return read_tape(Path(path))


aread_tape = make_async(read_tape)


def seal_tape(path: str | Path) -> int:
    """Accept what was edited by hand in a tape; how many exchanges were."""
    from carob.proxy.tape.file import seal_tape

    return seal_tape(Path(path))


aseal_tape = make_async(seal_tape)


def scan_tape(path: str | Path) -> list[Leak]:
    """Find what is, or looks like, a secret on a tape."""
    import os

    from carob.engine import tapes

    return tapes.scan_tape(Path(path), find_project(), os.environ)


def serve_stdio(name: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Be the MCP server that a command starts, on the tape that the environment names; the exit status."""
    from carob.proxy.stdio import serve_stdio

    return serve_stdio(name, command, environ)


def open_viewer(folder: str | Path | None = None, *, port: int = 0) -> ViewerServer:
    """Web pages over journals, for a browser on this machine: `run` answers, `stop` ends, `address` has the token."""
    from carob.features.viewer.serving import viewer_of

    config = find_config()
    usual = default_results_dir("suite.json", config)
    return viewer_of(None if folder is None else Path(folder), usual, port, os.environ, config.project)


async def ainspect(
    where: str,
    *,
    prompt: str | Sequence[str] | None = None,
    name: str | None = None,
    kind: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Inspection:
    """Look at an agent that has no target yet, and find a target that works for it.

    `where` is an address, a spec such as `langgraph:module:graph`, or a name of carob.toml; `kind` says what answers at
    an address. The prompt is sent to see what comes of it, and again to prove the target. A service takes several: one
    for which a tool is called, one for which it fails.
    """
    from carob.features.setup.inspect.catalog import inspect_target, target
    from carob.features.setup.inspect.inspection import without_passwords

    config = target(where, kind, name, options or {}, find_project())
    prompts = (prompt,) if isinstance(prompt, str) else tuple(prompt or ())
    return without_passwords(await inspect_target(config, prompts))


inspect = make_sync(ainspect)


def add_target(inspection: Inspection) -> Path:
    """Add an inspected target to the configuration of this folder, which must have none of its name; the file."""
    from carob.features.setup.inspect.inspection import add

    return add(inspection, find_project())


aadd_target = make_async(add_target)


def survey_project(folder: str | Path = ".") -> Survey:
    """See what a project holds that a first suite can build on. Its files are read; nothing of it is run or asked."""
    from carob.features.setup.survey.survey import survey_folder

    return survey_folder(Path(folder), os.environ)


def choose_agent(survey: Survey, spec: str | None = None, *, may_ask: bool = False) -> FoundAgent | None:
    """The agent that a spec names, else the likeliest found; with `may_ask`, the first that can be reached now."""
    from carob.features.setup.survey.findings import parse_agent
    from carob.features.setup.survey.probe import is_listening
    from carob.targets.catalog import require_kind
    from carob.targets.config import resolve

    if spec is not None:
        agent = parse_agent(spec)
        require_kind(resolve(spec, read_config(find_project(survey.folder)), survey.folder))
        return agent
    agents = [agent for agent in survey.agents if not agent.is_model] or survey.agents
    reached = (agent for agent in agents if may_ask and agent.is_local and is_listening(agent))
    return next(reached, next(iter(agents), None))


async def aplan_init(
    survey: Survey,
    agent: FoundAgent | None = None,
    *,
    prompts: Sequence[str] = (),
    may_ask: bool = False,
    allow_effects: bool = False,
) -> InitPlan:
    """Plan the first files of a project for one of its agents; nothing is written.

    With `may_ask`, the agent is loaded, or asked at its loopback address, and the suite drafted from what it does: with
    a greeting, and with `prompts` only if `allow_effects`, because its tools may change something.
    """
    from carob.features.setup.write.plan import Consent, plan_files

    consent = Consent(may_ask, allow_effects)
    return await plan_files(survey, agent, tuple(prompts), find_project(survey.folder), consent)


plan_init = make_sync(aplan_init)


def plan_example(folder: str | Path = ".") -> InitPlan:
    """Plan the example: a tiny agent with a bug to find, and the suite that finds it."""
    from carob.features.setup.write.plan import plan_example

    return plan_example(Path(folder), find_project(folder))


async def ainit(
    folder: str | Path = ".",
    agent: str | None = None,
    *,
    prompts: Sequence[str] = (),
    may_ask: bool = False,
    allow_effects: bool = False,
) -> InitPlan:
    """Write the first files of a project, as `carob init` does: `agent` is a spec, by default what is found there.

    The other arguments are those of `plan_init`. A file that is there is never overwritten.
    """
    survey = survey_project(folder)
    target = choose_agent(survey, agent, may_ask=may_ask)
    plan = await aplan_init(survey, target, prompts=prompts, may_ask=may_ask, allow_effects=allow_effects)
    write_plan(plan)
    return plan


init = make_sync(ainit)


def write_plan(plan: InitPlan) -> None:
    """Write the files of a plan, all of them or none; a file that is there is never overwritten."""
    from carob.features.setup.write.plan import write_together

    write_together(plan.folder, plan.files)
