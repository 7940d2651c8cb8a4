"""Drafting a suite from sources on disk, or from an agent that is asked."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from msgspec import structs

from karat.checks.catalog import catalog_for
from karat.drafts.cases import named_prompts
from karat.drafts.draft import DraftOptions, SuiteDraft
from karat.drafts.drafting import draft_from_traces
from karat.drafts.kinds import Sighting
from karat.errors import UsageError
from karat.journal.reader import Journal
from karat.model.trace import Trace
from karat.options import Repeats
from karat.plugins.project import Project
from karat.running.request import AnyTarget, ResumeKeywords, RunOptions, RunRequest
from karat.running.rescoring import begins_a_journal, find_journals, load_in
from karat.running.session import run_suite
from karat.suites.diagnostics import RefusedError
from karat.suites.documents.source import read_bytes, utf8
from karat.system.sync_async import synchronous
from karat.targets.recorded_traces import RecordedTraces

TAPES = (".yaml", ".yml")
PROMPT_COLUMN = "prompt"
CANNOT_HOLD_BACK = "Karat cannot keep the tools of this target from changing something while it is asked."
HOW_TO_ALLOW = "Ask it where nothing matters, and say so with --allow-effects; or draft from recorded runs."


def read_prompts(path: Path) -> list[str]:
    """What an agent is to be asked: a prompt a line, or the column `prompt` of a .csv file, by default its first."""
    try:
        text = utf8(read_bytes(path)).decode()
    except RefusedError as refused:
        raise UsageError(refused.diagnostics[0].message, where=str(path), slug="bad-prompts") from None
    if path.suffix.lower() == ".csv":
        rows = list(csv.reader(io.StringIO(text)))
        names = [name.strip().lower() for name in rows[0]] if rows else []
        column = names.index(PROMPT_COLUMN) if PROMPT_COLUMN in names else 0
        lines = [row[column] for row in rows[PROMPT_COLUMN in names :] if len(row) > column]
    else:
        lines = text.splitlines()
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not found:
        raise UsageError("it holds no prompt.", where=str(path), fix="Write one a line.", slug="bad-prompts")
    return found


class JournalTraces:
    """The traces of a journal, read anew each time that they are asked for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __iter__(self) -> Iterator[Sighting]:
        for record in self._journal.records():
            if not record.case.skip:
                yield Sighting(record.trace, record.case.setup_prompts, record.case.preconditions)


class AllTraces:
    """The traces of several sources, one source after the other."""

    def __init__(self, sources: Sequence[Iterable[Trace | Sighting]]) -> None:
        self._sources = sources

    def __iter__(self) -> Iterator[Trace | Sighting]:
        return chain.from_iterable(self._sources)


def open_source(path: str | Path, project: Project) -> list[Iterable[Trace | Sighting]]:
    """What a path holds: a journal, a recording, an export of spans, or a folder of journals."""
    if os.path.isdir(path) or begins_a_journal(Path(path)):
        return [JournalTraces(journal) for journal in find_journals(path, project)]
    if Path(path).suffix.lower() in TAPES:
        fix = "Name the journal of the run that recorded it: it holds what the agent did."
        message = "a tape holds what services answered, not what the agent did."
        raise UsageError(message, where=str(path), fix=fix, slug="bad-source")
    return [RecordedTraces(str(path))]


def draft_sources(sources: Sequence[str | Path], options: DraftOptions, project: Project) -> SuiteDraft:
    """Draft a suite from recorded runs."""
    if not sources:
        fix = "Name journals, recordings or exports of spans, or a target with --target and --prompts."
        raise UsageError("there is nothing to draft from.", fix=fix, slug="no-traces")
    found = [source for path in sources for source in open_source(path, project)]
    return draft_from_traces(AllTraces(found), catalog_for(project), with_declared_effects(options, project))


def with_declared_effects(options: DraftOptions, project: Project) -> DraftOptions:
    """The effects that karat.toml declares, which are better than guessed ones."""
    declared = catalog_for(project).declared.effects
    return structs.replace(options, effects={tool: tuple(words) for tool, words in declared.items()})


async def adraft_target(
    target: AnyTarget | None,
    prompts: Sequence[str],
    repeat: Repeats,
    options: DraftOptions,
    project: Project,
    *,
    allow_effects: bool = False,
    how: ResumeKeywords | None = None,
) -> SuiteDraft:
    """Ask an agent each prompt several times, and draft a suite from what it did; `how`: as for `karat.run`."""
    if not allow_effects:
        raise UsageError(CANNOT_HOLD_BACK, fix=HOW_TO_ALLOW, slug="effects")
    expected = {"outcome": "completed", "valid_arguments": True}  # which asks for the tools that it has
    cases = [{"id": name, "prompt": prompt, "expected": expected} for name, prompt in named_prompts(prompts).items()]
    suite = load_in({"karat": 1, "name": "Prompts", "cases": cases}, project)
    asked: ResumeKeywords = {**(how or {}), "repeat": repeat}
    with tempfile.TemporaryDirectory() as folder:
        run_options, request = RunOptions.of(asked), RunRequest.of(asked)
        result = await run_suite(suite, target, run_options, request, Path(folder), project)
        traces = JournalTraces(result.journal)
        return draft_from_traces(traces, catalog_for(project), with_declared_effects(options, project))


draft_target = synchronous(adraft_target)
