"""The tools: each answers with lines of text, and raises CarobError for what it cannot do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from carob import api
from carob.checks.catalog import catalog_for
from carob.errors import CarobError, UsageError
from carob.features.mcp.places import ProjectFolder
from carob.journal.reader import Journal
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.plugins.features import all_features, load
from carob.reports.case_details import first_reason, why_not_passed
from carob.reports.run_facts import counts
from carob.suites.diagnostics import RefusedError
from carob.suites.documents.source import read_bytes
from carob.suites.formats.base import SuiteFile
from carob.suites.formats.catalog import detect_format
from carob.suites.reading import read_file
from carob.text.wording import pluralize, quoted

MOST_CASES = 200
"""Cases that one answer lists."""
MOST_EXPLAINED = 5
"""Cases that one answer explains, where none is named."""
MOST_NAMED = 100
"""Cases that one request may name."""
LONGEST_RUN = 900.0
_BAD = (CaseStatus.ERROR, CaseStatus.FAIL, CaseStatus.PARTIAL)


class ServedTool(NamedTuple):
    """A tool of the server. `writes`: it runs the agent, and is there only if that is allowed."""

    name: str
    function: Callable[..., object]
    title: str
    writes: bool = False


class CarobTools:
    """What a coding agent can ask of Carob in one project."""

    def __init__(self, folder: ProjectFolder) -> None:
        self._folder = folder

    def catalog(self) -> tuple[ServedTool, ...]:
        """Every tool, the one that is needed most first."""
        of_features = [tool for feature in all_features() for tool in feature.mcp_tools]
        return (
            ServedTool("explain_failure", self.explain_failure, "Explain a failure"),
            ServedTool("list_suites", self.list_suites, "List suites"),
            ServedTool("list_cases", self.list_cases, "List cases"),
            ServedTool("validate", self.validate, "Validate a suite"),
            *(ServedTool(tool.name, self._confine(load(tool.loads)), tool.title) for tool in of_features),
            ServedTool("run_cases", self.run_cases, "Run cases", writes=True),
        )

    def _confine(self, function: Callable[..., object]) -> Callable[..., object]:
        """A tool of a feature, whose `suite` and `journal` are files of the project."""

        @wraps(function)
        def call(**arguments: str) -> object:
            if "suite" in arguments:
                arguments["suite"] = str(self._suite(arguments["suite"]))
            if "journal" in arguments:
                arguments["journal"] = str(self._journal(arguments["journal"]).path)
            return function(**arguments)

        return call

    def explain_failure(self, case: str = "", journal: str = "") -> list[str]:
        """Explain why cases of a recorded run did not pass: what was asked and answered, and each check that failed
        or is unknown, with what it expected, what was found and where.

        case: the id of a case; without it, the first cases that did not pass.
        journal: the journal of a run, relative to the project; without it, the last run.
        """
        run = self._journal(journal)
        records = _records(run, case)
        head = f"{run.path}: {run.header.suite} against {run.header.target}: {counts(run.summary)}"
        lines = [line for record in records[:MOST_EXPLAINED] for line in _explain(record)]
        unexplained = [f"{record.case.id}: {first_reason(record)}" for record in records[MOST_EXPLAINED:MOST_CASES]]
        if not records:
            return [head, "Every case passed."]
        return [head, "", *lines, *(["Others that did not pass:", *unexplained] if unexplained else [])]

    def list_suites(self) -> list[str]:
        """List the suite files of the project, with the number of cases of each, and the targets of carob.toml."""
        described = [self._describe(str(path), is_ours) for path, is_ours in self._folder.find_suites()]
        targets = api.find_config().targets
        lines = [line for line in described if line]
        head = [f"{pluralize(len(lines), 'suite')}; targets of carob.toml: {', '.join(targets) or 'none'}"]
        return [*head, *lines[:MOST_CASES]]

    def list_cases(self, suite: str) -> list[str]:
        """List the cases of a suite: id, category and prompt.

        suite: a suite file, relative to the project.
        """
        rows = api.list_cases(self._suite(suite))
        listed = [
            f"{name}{f' [{category}]' if category else ''}: {prompt}" for name, category, prompt in rows[:MOST_CASES]
        ]
        more = [f"and {len(rows) - MOST_CASES} more cases"] if len(rows) > MOST_CASES else []
        return [*listed, *more]

    def validate(self, suite: str) -> list[str]:
        """Check a suite file without running anything. Each problem is reported with its line, its column and a fix.

        suite: a suite file, relative to the project.
        """
        path = self._suite(suite)
        try:
            loaded = api.load_file(path, api.find_project())
        except CarobError as error:
            return ["The suite is not valid.", *str(error).splitlines()]
        verdict = f"The suite is valid: {loaded.format}, {pluralize(len(loaded.cases), 'case')}."
        return [verdict, *loaded.warnings]

    async def run_cases(self, suite: str, cases: list[str], target: str = "") -> list[str]:
        """Run cases of a suite against the agent, judge them, and explain those that did not pass.

        suite: a suite file, relative to the project.
        cases: the ids of the cases; an empty list runs all of them.
        target: the name of a target of carob.toml; without it, its default target.
        """
        path = self._suite(suite)
        if len(cases) > MOST_NAMED:
            raise UsageError(f"one request may name {MOST_NAMED} cases, not {len(cases)}.", slug="too-large")
        config = api.find_config()
        if target and target not in config.targets:
            # A spec such as command:… would let whoever writes the request run any program.
            fix = f"Targets in carob.toml: {', '.join(config.targets) or 'none'}."
            raise UsageError(f"{quoted(target)} is not a configured target.", fix=fix, slug="unknown-target")
        result = await api.arun_by(
            config,
            path,
            target or None,
            cases=cases or None,
            run_timeout=LONGEST_RUN,
            results_dir=api.default_results_dir(str(path), config),
        )
        bad = [record for record in result if record.status in _BAD]
        head = [f"{counts(result.summary)}; journal: {result.journal.path}"]
        return [*head, *(line for record in bad[:MOST_EXPLAINED] for line in _explain(record))]

    def _suite(self, name: str) -> Path:
        """A suite of the project. Raises UsageError if it, or a file that it names, is outside of it."""
        path = self._folder.suite(name)
        file = SuiteFile(read_bytes(path), str(path))
        with suppress(CarobError):  # what is wrong with it is for the tool to say
            read_file(file, catalog_for(api.find_project()))
        for other in file.others:
            self._folder.suite(str(path.parent / other))
        return path

    def _journal(self, name: str) -> Journal:
        config = api.find_config()
        path = self._folder.journal(name or str(api.last_journal(config)))
        return api.open_journal(path, config.project)

    def _describe(self, path: str, is_ours: bool) -> str:
        """A suite in one line; nothing for a file that is not one."""
        try:
            suite = api.load_file(self._suite(path), api.find_project())
        except CarobError as error:
            if "[unknown-format]" in str(error) or not (is_ours or self._is_suite(path)):
                return ""
            return f"{path}: not valid, see validate"
        return f"{path}: {suite.format}, {pluralize(len(suite.cases), 'case')}, {suite.name}".rstrip(", ")

    def _is_suite(self, path: str) -> bool:
        """Whether a file is of a format that is known, even if something is wrong with it."""
        try:
            file = SuiteFile(read_bytes(self._folder.root / path), path)
            detect_format(file, catalog_for(api.find_project()).formats)
        except (CarobError, RefusedError):
            return False
        return True


def _records(run: Journal, case: str) -> list[CaseRecord]:
    if not case:
        return list(islice(run.of_status(*_BAD), MOST_CASES))
    records = [record for record in run.records() if record.case.id == case]
    if not records:
        fix = "Leave `case` out to see what did not pass."
        raise UsageError(f"no case {quoted(case)} was run.", where=run.path, fix=fix, slug="unknown-case")
    return records


def _explain(record: CaseRecord) -> Iterator[str]:
    yield f"{record.status} {record.case.id}"
    yield from (f"  {line}" for line in why_not_passed(record))
    yield ""
