"""Drafting a suite from sources on disk, or from an agent that is asked."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from carob.checks.catalog import catalog_for
from carob.engine.recorded_runs import open_runs
from carob.engine.request import AnyTarget, ResumeKeywords, RunOptions, RunRequest, TargetRecipe, find_target
from carob.engine.rescoring import load_in
from carob.engine.session import run_suite
from carob.engine.suite_files import name_suite_format
from carob.errors import UsageError
from carob.features.draft.cases import name_prompts
from carob.features.draft.contrast import ContrastDraft, draft_contrast
from carob.features.draft.draft import DraftOptions, SuiteDraft
from carob.features.draft.drafting import draft_from_traces
from carob.features.draft.rules import RulesDraft, draft_rules
from carob.features.draft.trace_groups import SourceTrace
from carob.journal.reader import Journal
from carob.model.trace import Trace
from carob.options import Repeats
from carob.plugins.project import Project
from carob.redaction.named import named_redactor
from carob.suites.diagnostics import RefusedError
from carob.suites.documents.source import read_bytes, utf8
from carob.targets.capabilities import reach_of
from carob.targets.config import Config
from carob.text.tool_effects import known_effects

PEEK = 4096
TAPES = (".yaml", ".yml")
PROMPT_COLUMN = "prompt"
EVERY_TOOL = "*"
STUB = {"result": {"status": "ok"}}
"""What answers instead of a tool that may change something."""
CANNOT_HOLD_BACK = "Carob cannot stub the tools of this target, so they may change something while it sends prompts."
HOW_TO_ALLOW = "Use test data and allow it with --allow-effects, or draft from recorded runs."


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
    prompts = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not prompts:
        raise UsageError("it has no prompt.", where=str(path), fix="Write one per line.", slug="bad-prompts")
    return prompts


class JournalTraces:
    """The traces of a journal, read anew each time that they are asked for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __iter__(self) -> Iterator[SourceTrace]:
        for record in self._journal.records():
            if not record.case.skip:
                yield SourceTrace(record.trace, record.case.setup_prompts, record.case.preconditions)


class AllTraces:
    """The traces of several sources, one source after the other, without secrets."""

    def __init__(self, sources: Sequence[Iterable[Trace | SourceTrace]]) -> None:
        self._sources = sources

    def __iter__(self) -> Iterator[SourceTrace]:
        redactor = named_redactor()
        for source in chain.from_iterable(self._sources):
            read = source if isinstance(source, SourceTrace) else SourceTrace(source)
            around = redactor.redact((read.setup_prompts, read.preconditions))
            yield SourceTrace(redactor.trace(read.trace), *around)


def open_source(path: str | Path, project: Project) -> list[Iterable[Trace | SourceTrace]]:
    """What a path holds: a journal, a recording, an export, a tape, or a folder of journals or of an export."""
    if format_name := name_suite_format(Path(path), project):
        fix = f"Run it first: carob run {path}. Then draft from the journal of that run."
        raise UsageError(f"it is a suite ({format_name}), not a recording.", where=str(path), fix=fix, slug="no-traces")
    if Path(path).suffix.lower() in TAPES:
        from carob.targets.recordings.taped_traces import read_taped_traces  # reads YAML

        return [read_taped_traces(Path(path))]
    journals, others = open_runs(path, project)
    return [*map(JournalTraces, journals), *others]


def draft_sources(sources: Sequence[str | Path], options: DraftOptions, project: Project) -> SuiteDraft:
    """Draft a suite from recorded runs."""
    traces = _open_sources(sources, project)
    return draft_from_traces(traces, catalog_for(project), with_declared_effects(options, project))


def draft_contrast_of_sources(
    good: Sequence[str | Path], bad: Sequence[str | Path], options: DraftOptions, project: Project
) -> ContrastDraft:
    """Draft how good recorded sessions differ from bad ones."""
    sides = _open_sources(good, project), _open_sources(bad, project)
    return draft_contrast(*sides, catalog_for(project), with_declared_effects(options, project))


def draft_rules_of_sources(sources: Sequence[str | Path], name: str, project: Project) -> RulesDraft:
    """Draft a contract from recorded runs."""
    effects = with_declared_effects(DraftOptions(), project).effects
    return draft_rules(_open_sources(sources, project), effects, name)


def _open_sources(sources: Sequence[str | Path], project: Project) -> AllTraces:
    if not sources:
        fix = "Name journals, recordings, span exports or tapes, or a target with --target and --prompts."
        raise UsageError("there is nothing to draft from.", fix=fix, slug="no-traces")
    return AllTraces([source for path in sources for source in open_source(path, project)])


def with_declared_effects(options: DraftOptions, project: Project) -> DraftOptions:
    """The effects that carob.toml declares, which are better than guessed ones."""
    declared = catalog_for(project).declared.effects
    return structs.replace(options, effects={tool: tuple(words) for tool, words in declared.items()})


async def adraft_target(
    target: AnyTarget | None,
    prompts: Sequence[str],
    repeat: Repeats,
    options: DraftOptions,
    config: Config,
    *,
    allow_effects: bool = False,
    how: ResumeKeywords | None = None,
) -> SuiteDraft:
    """Ask an agent each prompt several times, and draft a suite from what it did; `how`: as for `carob.run`.

    Unless `allow_effects`, tools that may change something are stubbed; an agent of which they cannot be is refused.
    """
    options = with_declared_effects(options, config.project)
    probing = Probing(target, name_prompts(prompts), config, how or {})
    if not allow_effects:
        probing.refuse_unreachable()
        options = structs.replace(options, stubs=await probing.find_stubs(options.effects))
    async with probing.run_prompts(repeat, options.stubs) as journal:
        return draft_from_traces(JournalTraces(journal), catalog_for(config.project), options)


class Probing(NamedTuple):
    """An agent that is asked, to see what it does."""

    target: AnyTarget | None
    prompts: Mapping[str, str]
    config: Config
    how: ResumeKeywords

    def refuse_unreachable(self) -> None:
        """Raise UsageError, before anything runs, unless stubs can keep its tools from running."""
        folder = Path(self.config.project.folder)
        described = find_target(self.target, self.config, self.how.get("options") or {}, folder)
        agent = described.build() if isinstance(described, TargetRecipe) else described
        # A function may have tools that Carob does not see, and they would have run by the time that it knew.
        is_function = agent.recipe is None or agent.recipe.kind == "python"
        if is_function or "tool" not in reach_of(agent.target):
            raise UsageError(CANNOT_HOLD_BACK, fix=HOW_TO_ALLOW, slug="effects")

    async def find_stubs(self, declared: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
        """Stubs for the tools that may change something: seen by asking once with every tool stubbed."""
        async with self.run_prompts(1, {EVERY_TOOL: STUB}) as journal:
            traces = [record.trace for record in journal.records()]
        offered = {tool for trace in traces for tool in trace.tool_schemas}
        called = {call.name for trace in traces for call in trace.tool_calls}
        if called and not offered:
            return {EVERY_TOOL: STUB}
        return {tool: STUB for tool in sorted(offered | called) if known_effects((tool,), declared)}

    @asynccontextmanager
    async def run_prompts(self, repeat: Repeats, stubs: Mapping[str, object]) -> AsyncIterator[Journal]:
        """The journal of a run of all prompts; it is gone afterwards."""
        expected = {"outcome": "completed", "valid_arguments": True}  # which asks for the tools that it has
        cases = [{"id": name, "prompt": prompt, "expected": expected} for name, prompt in self.prompts.items()]
        around = {"stubs": stubs} if stubs else {}
        suite = load_in({"carob": 1, "name": "Prompts", **around, "cases": cases}, self.config.project)
        options: ResumeKeywords = {**self.how, "repeat": repeat}
        with tempfile.TemporaryDirectory() as folder:
            run_options, request = RunOptions.of(options), RunRequest.of(options)
            result = await run_suite(suite, self.target, run_options, request, Path(folder), self.config)
            yield result.journal
