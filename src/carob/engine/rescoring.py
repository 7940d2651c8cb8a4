"""What is done with a recorded run: judge it again, audit it. Nothing here starts an agent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct, structs

from carob.checks.catalog import catalog_for, find_project_of
from carob.errors import JournalError, NothingSelectedError, UsageError
from carob.journal.reader import Journal
from carob.journal.rescore import Judge, OwnCases, Rewriting, SuiteCases
from carob.model.suite import Suite
from carob.plugins.project import Project, find_project
from carob.redaction.redactor import Redactor
from carob.reports.artifacts import reserve, results_dir_for, utc_now
from carob.reports.catalog import select_reports
from carob.reports.run_result import Allowances, RunResult, write_reports
from carob.reports.writing import Each
from carob.suites import load, loads
from carob.suites.documents.source import SuiteSource, source
from carob.suites.fault_keys import add_target_surroundings
from carob.suites.selection import Selection
from carob.targets.catalog import agent_name
from carob.targets.config import Config
from carob.text.clean import text

NAMED = 5
STRESS = "stress"
"""The entry of a journal's header that says how the cells of a stress run were chosen."""
HEADER = b'{"kind":"header"'

AnyJournal: TypeAlias = Journal | RunResult | Path | str
AnySuite: TypeAlias = Suite | SuiteSource


def project_for(suite: AnySuite | None = None, journal: AnyJournal | None = None) -> Project:
    """The project of the folder in which a suite was read or a journal opened; of this one where neither was yet."""
    if isinstance(suite, Suite):
        return find_project_of(suite)
    if isinstance(journal, RunResult):
        journal = journal.journal
    return journal.project if isinstance(journal, Journal) else find_project()


def trusting(config: Config, code: bool | None) -> Config:
    """The configuration, with the code that suites hold trusted if the user says so."""
    return structs.replace(config, project=structs.replace(config.project, trust_code=True)) if code else config


def load_in(suite: AnySuite, project: Project) -> Suite:
    """Read a suite by the checks of a project, unless it was read already."""
    if isinstance(suite, Suite):
        return suite
    data, name = source(suite)
    return loads(data, name, catalog_for(project))


def load_file(path: str | Path, project: Project) -> Suite:
    """Read a suite file, whatever it is called."""
    return load(path, catalog_for(project))


def open_journal(journal: AnyJournal, project: Project) -> Journal:
    """A journal that may have been opened already, or that of a run that has just ended."""
    if isinstance(journal, RunResult):
        return journal.journal
    return journal if isinstance(journal, Journal) else Journal(find_run(journal, project), project=project)


def _find_runs(name: str | Path, project: Project) -> list[Path]:
    if not str(name).startswith("@") and not os.path.isdir(name):
        return [Path(name)]
    from carob.engine.run_names import find_runs  # most runs are named by their path

    return find_runs(str(name), project)


def find_run(name: str | Path, project: Project) -> Path:
    """The journal that a name means: of a folder, the newest. Raises UsageError where it means several runs."""
    runs = _find_runs(name, project)
    if len(runs) > 1 and not os.path.isdir(name):
        raise UsageError(f"{name} means {len(runs)} runs.", fix="Name one of them, such as @last.", slug="no-run")
    return runs[0]


def name_run(journal: AnyJournal) -> str:
    """The path of a journal, or whatever else names a run."""
    return open_journal(journal, Project()).path if isinstance(journal, Journal | RunResult) else str(journal)


def as_journals(journals: AnyJournal | Sequence[AnyJournal]) -> Sequence[AnyJournal]:
    """One journal or several, as several."""
    return [journals] if isinstance(journals, Journal | RunResult | str | Path) else journals


def last_journal(config: Config) -> Path:
    """The journal of the last run here: the newest in `results_dir` of carob.toml or where else runs are kept."""
    return find_run("@last", config.project)


def default_results_dir(suite: str, config: Config) -> Path:
    """Where the command line keeps runs of a suite: `results_dir` of carob.toml, or what the suite's place decides."""
    here, folder = Path(config.project.folder), config.results_dir
    if folder is not None and folder.is_relative_to(here):
        folder = folder.relative_to(here)
    return results_dir_for(Path(suite), folder)


def load_recorded_suite(journal: Journal, project: Project) -> Suite:
    """The suite of a recorded run as it is now."""
    file = Path(journal.header.suite)
    if STRESS in journal.header.options:
        fix = f"Finish it with: carob stress SUITE --resume {journal.path}"
        raise UsageError("this is a stress run; its cases are not in the suite.", where=journal.path, fix=fix)
    if not file.exists():
        fix = "Run this where the suite is, or name it with --suite."
        raise UsageError(f"the suite {file} of this journal is not here.", where=journal.path, fix=fix, slug="no-suite")
    return load(file, catalog_for(project))


def rescore(
    recorded: Journal,
    suite: Suite | None,
    results_dir: Path | None,
    config: Config,
    reports: Sequence[str] = (),
    now: Callable[[], datetime] = utc_now,
    workers: int = 1,
    each: Each | None = None,
    allow_unjudged: bool | None = None,
    asked: Mapping[str, Any] | None = None,
) -> RunResult:
    """Judge a recorded run again, by its own cases or by those of a suite, into a new journal with its reports.

    `asked`: what came of asking a judge about its criteria, for the journal.

    A suite may hold secrets that the journal does not: those of the configuration that holds here are left out again.
    """
    identity = recorded.header.options.get("target", {})
    by = suite.file if suite is not None else recorded.header.suite
    project = config.project.judging(agent_name(recorded.header.target, identity), by)
    catalog = catalog_for(project)
    if recorded.summary.criteria is not None or (suite is not None and any(case.has_criteria for case in suite.cases)):
        catalog.labels.index()
    further = select_reports(reports, project, [recorded.path, recorded.header.suite])
    began = now().isoformat(timespec="milliseconds")
    header = structs.replace(recorded.header, started_at=began, derived_from=text(recorded.path))
    if asked is not None:
        header = structs.replace(header, options={**header.options, "judge": dict(asked)})
    redactor = None
    judge: Judge = OwnCases(recorded, catalog, allow_unjudged)
    if suite is not None:
        redactor = configured_redactor(config)
        suite = resolve_ui(_as_selected(suite, recorded.header.options), identity.get("ui_vocabulary", {}))
        cases = [add_target_surroundings(case, identity) for case in suite.cases]
        judge = SuiteCases(recorded, {case.id: case for case in cases}, redactor, catalog)
        header = structs.replace(
            header,
            suite=redactor.text(text(suite.file)),
            suite_format=suite.format,
            suite_version=suite.version,
            suite_sha256=suite.sha256,
            draft=suite.draft or UNSET,
            total=len(cases) * header.repeat,
        )
    names = reserve(results_dir_for(Path(header.suite), results_dir), header.suite, header.suite_format, now())
    rewriting = Rewriting(recorded, judge, header, names.journal, redactor)
    summary = rewriting.write(now=now, workers=workers)
    return write_reports(names, summary, project, further, tuple(rewriting.dropped), workers, each)


def configured_redactor(config: Config) -> Redactor:
    """What takes out the secrets that the configuration names."""
    return Redactor.from_names(config.secrets, os.environ)


def _as_selected(suite: Suite, options: Mapping[str, Any]) -> Suite:
    """The cases that the recorded run would have run: a case that was not selected is not missing."""
    means = Selection.of_journal(options.get("selection", {})).matcher()
    cases = [case for case in suite.cases if means(case.id, case.category, case.tags)]
    if not cases:
        fix = "The run selected other cases."
        raise NothingSelectedError("none of the cases of this suite were in that run.", where=suite.file, fix=fix)
    return structs.replace(suite, cases=tuple(cases))


def require_auditable(journal: Journal, suite: Suite | None) -> Journal:
    """The journal, if it is whole, has traces, and is of the suite that was named."""
    path = journal.path
    finish = f"Finish it first: carob run --resume {path}"
    if journal.torn:
        raise JournalError("the journal is incomplete: its last line is cut off.", where=path, fix=finish)
    if journal.footer is None or journal.summary.incomplete or journal.summary.interrupted:
        why = journal.summary.incomplete or "it was interrupted"
        raise JournalError(f"the run is not complete: {why}.", where=path, fix=finish)
    first = next(journal.lines(), None)
    if first is None:
        raise JournalError("the journal has no case.", where=path, fix="Run the suite first: carob run SUITE.")
    if not _has_trace(first):
        fix = "An audit needs recorded traces: run the suite again."
        raise JournalError("the journal has no traces.", where=path, fix=fix)
    if suite is not None:
        _refuse_another(journal, suite)
    return journal


class _Traced(Struct):
    trace: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _has_trace(line: bytes) -> bool:
    trace = msgspec.json.decode(line, type=_Traced).trace
    return isinstance(trace, msgspec.Raw) and bytes(trace) not in (b"null", b"{}")


def _refuse_another(journal: Journal, suite: Suite) -> None:
    if journal.header.suite_sha256 == suite.sha256:
        return
    case_ids = {case.id for case in suite.cases}
    strange = list(dict.fromkeys(record.case.id for record in journal.records() if record.case.id not in case_ids))
    if strange:
        names = ", ".join(map(repr, strange[:NAMED])) + (" ..." if len(strange) > NAMED else "")
        message = f"the journal is of another suite, {journal.header.suite}: {suite.file} has no case {names}."
        raise JournalError(message, where=journal.path, fix="Name the suite that was run.")
    fix = f"Judge it by the current suite, and audit the result: carob rescore {journal.path} --suite {suite.file}"
    raise JournalError(f"{suite.file} has changed since this run.", where=journal.path, fix=fix)


def find_journals(source: AnyJournal, project: Project) -> list[Journal]:
    """The journal that is meant, or all those of a folder, the oldest first."""
    if isinstance(source, Journal | RunResult):
        return [open_journal(source, project)]
    return [Journal(path, project=project) for path in reversed(_find_runs(source, project))]


def journal_files(folder: Path) -> list[Path]:
    """The journals directly in a folder, the oldest first."""
    return sorted(path for path in folder.glob("*.jsonl") if begins_a_journal(path))


def begins_a_journal(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False


def resolve_allowances(partial: bool | None, unknown: bool | None, unjudged: bool | None, config: Config) -> Allowances:
    """What is accepted: as given, else as in carob.toml."""
    choices = ((partial, config.allow_partial), (unknown, config.allow_unknown), (unjudged, config.allow_unjudged))
    return Allowances(*(default if choice is None else choice for choice, default in choices))


def resolve_ui(suite: Suite, vocabulary: Mapping[str, Any], target: str = "") -> Suite:
    """The suite with the sentences about a page that a target's vocabulary knows turned into elements."""
    if not vocabulary:
        return suite
    from carob.checks.page.ui import resolve_sentences  # few targets have a page

    return resolve_sentences(suite, vocabulary, target)
