"""A run whose agent is the client: the engine asks it for answers as it asks any other agent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from carob.engine.case_runner import CaseRunner, files_folder, new_run_id, settle
from carob.engine.outside_journal import OutsideJournal
from carob.engine.request import RunOptions, RunRequest
from carob.engine.rescoring import default_results_dir, resolve_allowances
from carob.engine.session import check_provable, run_header
from carob.engine.work import CaseResult
from carob.features.judge.judging import describe, outcome_of
from carob.features.judge.messages import MAX_CASES, Finished, Id, Judged, Run, find_case
from carob.journal.reader import read_record
from carob.model.run import Header
from carob.model.suite import Case, Suite
from carob.model.verdict import CaseStatus
from carob.plugins.project import Project
from carob.reports.catalog import select_reports
from carob.reports.escaping import terminal
from carob.reports.run_facts import counts, incomplete
from carob.reports.run_result import write_reports
from carob.suites.selection import Selection
from carob.targets.config import read_config
from carob.targets.python import Conversation

AskClient: TypeAlias = Callable[[Id, str, str, int, str], Awaitable[str | Mapping[str, object]]]
"""Asks the client: for which message, case, conversation and turn, and the prompt."""

_message: ContextVar[Id] = ContextVar("message")


class ClientRun:
    """A run of a suite. Its journal begins with the first case."""

    def __init__(self, suite: Suite, wanted: Run, project: Project, ask_client: AskClient) -> None:
        self._suite = suite
        self._project = project
        self._ask_client = ask_client
        config = read_config(project)
        self._allowed = resolve_allowances(None, None, None, config)
        how = {"timeout": wanted.timeout, "retries": wanted.retries, "repeat": wanted.repeat}
        options = RunOptions.of({**how, "concurrency": MAX_CASES, "workers": 0})  # type: ignore[typeddict-item]  # checked by RunOptions
        check_provable(suite, options)
        request = RunRequest(folder=project.folder)
        agent, self._options, self._request = settle(self._ask, options, request, config, suite)
        self._agent = structs.replace(agent, name=wanted.target, identity={**agent.identity, "use": wanted.target})
        self._further = select_reports(tuple(wanted.reports), project, [suite.file], request.folder)
        self._results_dir = Path(project.folder, wanted.results_dir or default_results_dir(suite.file, config))
        self._run_id = new_run_id(datetime.now(UTC))
        self._positions = {case.id: position for position, case in enumerate(suite.cases)}
        self._counts: list[Counter[CaseStatus]] = [Counter() for _ in suite.cases]
        self._begun: Counter[int] = Counter()
        self._stack = AsyncExitStack()
        self._running: set[asyncio.Task[object]] = set()
        self._journal: OutsideJournal | None = None
        self._runner = CaseRunner(
            self._agent,
            self._options,
            self._request,
            project,
            attachments=files_folder(self._results_dir, self._run_id),
            total=len(suite.cases),
        )

    async def open(self) -> None:
        await self._stack.enter_async_context(self._runner.open(asyncio.Event()))

    async def run(self, id: Id, case_id: str) -> Judged:
        """Run one case once more, and keep its record."""
        position = self._positions[find_case(self._suite, case_id).id]
        repeat = self._begun[position]
        self._begun[position] += 1
        _message.set(id)
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            result = await self._runner.run_to_line(self._suite.cases[position], index=position, repeat=repeat)
        finally:
            self._running.discard(task)
        return self._keep(id, position, result)

    def _keep(self, id: Id, position: int, result: CaseResult) -> Judged:
        if self._journal is None:
            header = self._runner.attempts.redactor.redact(self._header(self._suite))
            self._journal = OutsideJournal(self._suite, header, self._results_dir, self._project)
        self._journal.add(position, result)
        self._counts[position][result.status] += 1
        outcome = outcome_of(result.outcome, self._allowed, self._counts[position], self._options.most_runs)
        return describe(id, read_record(bytes(result.line)), outcome, self._project)

    async def finish(self, id: Id, *, interrupted: bool) -> Finished:
        """End the journal and write the reports. Cases that were never begun were not selected."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._stack.aclose()
        journal = self._journal
        if journal is None:
            return Finished(id=id, journal="", reports=[], summary="no case was run", exit_code=5, problems=[])
        if len(journal.runs) < len(self._suite.cases) and not interrupted and len(self._begun) == len(journal.runs):
            chosen = structs.replace(
                self._suite, cases=tuple(self._suite.cases[place] for place in sorted(journal.runs))
            )
            journal.leave_out_unrun(self._runner.attempts.redactor.redact(self._header(chosen)))
        journal.end("interrupted" if interrupted else "cases had no result", interrupted=interrupted)
        assert journal.summary is not None
        result = write_reports(journal.names, journal.summary, self._project, self._further)
        result.allowed = self._allowed
        return Finished(
            id=id,
            journal=str(journal.path),
            reports=[str(path) for path in result.artifacts[1:]],
            summary=terminal(incomplete(result.journal)) or counts(journal.summary),
            exit_code=result.exit_code,
            problems=[str(failure) for failure in result.failures],
        )

    def _header(self, suite: Suite) -> Header:
        request = self._request
        if len(suite.cases) < len(self._suite.cases):
            request = structs.replace(request, selection=Selection(cases=[case.id for case in suite.cases]))
        now = datetime.now(UTC)
        return run_header(suite, self._agent, self._options, request, self._project, run_id=self._run_id, now=now)

    async def _ask(self, prompt: str, case: Case, conversation: Conversation) -> str | Mapping[str, object]:
        turn = sum(message.role == "user" for message in conversation.messages) + 1
        return await self._ask_client(_message.get(), case.id, conversation.id, turn, prompt)
