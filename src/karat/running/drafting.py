"""Drafting a suite from sources on disk, or from an agent that is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from karat.checks.catalog import catalog_for
from karat.drafts.draft import Draft, DraftOptions
from karat.drafts.drafting import draft_from_traces
from karat.journal.reader import Journal
from karat.model.trace import Trace
from karat.plugins.project import Project
from karat.running.request import AnyTarget, ResumeKeywords, RunOptions, RunRequest
from karat.running.rescoring import load_in
from karat.running.session import run_suite
from karat.system.sync_async import synchronous

REPEAT = 5
"""How often a prompt is asked if the user does not say."""


class JournalTraces:
    """The traces of journals, read anew each time that they are asked for."""

    def __init__(self, journals: Sequence[Journal]) -> None:
        self._journals = journals

    def __iter__(self) -> Iterator[Trace]:
        return (record.trace for journal in self._journals for record in journal.records())


def draft_sources(sources: Sequence[str | Path], options: DraftOptions, project: Project) -> Draft:
    """Draft a suite from recorded runs."""
    journals = [Journal(source, project=project) for source in sources]
    return draft_from_traces(JournalTraces(journals), catalog_for(project), options)


async def adraft_target(
    target: AnyTarget | None,
    prompts: Sequence[str],
    options: DraftOptions,
    project: Project,
    how: ResumeKeywords,
    *,
    allow_effects: bool = False,
) -> Draft:
    """Ask an agent each prompt several times, and draft a suite from what it did; `how`: as for `karat.run`."""
    expected = {"outcome": "completed", "valid_arguments": True}  # which asks for the tools that it has
    cases = [
        {"id": f"prompt-{number}", "prompt": prompt, "expected": expected} for number, prompt in enumerate(prompts)
    ]
    suite = load_in({"karat": 1, "name": "Prompts", "cases": cases}, project)
    asked: ResumeKeywords = {"repeat": REPEAT, **how}
    with tempfile.TemporaryDirectory() as folder:
        run_options, request = RunOptions.of(asked), RunRequest.of(asked)
        result = await run_suite(suite, target, run_options, request, Path(folder), project)
        return draft_from_traces(JournalTraces([result.journal]), catalog_for(project), options)


draft_target = synchronous(adraft_target)
