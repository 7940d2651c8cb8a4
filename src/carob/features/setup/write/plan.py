"""What is to be written into a project: only what is not there yet, so that a second look plans nothing.

The files appear together or not at all: each is written next to its place, then all are given their names.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import msgspec

from carob.checks.catalog import CheckCatalog, catalog_for
from carob.checks.page.ui import Ui, grammar
from carob.checks.telemetry import Telemetry
from carob.engine.request import ResumeKeywords
from carob.errors import ArtifactError, CarobError, UsageError
from carob.features.draft.draft import DraftOptions
from carob.features.draft.session import adraft_target
from carob.features.setup.inspect.catalog import GREETING
from carob.features.setup.inspect.inspection import inline, key, lacks_model
from carob.features.setup.survey.findings import FoundAgent, FoundSuite, Survey
from carob.features.setup.survey.probe import Probe, ask_agent, ask_target
from carob.features.setup.survey.survey import OUR_OWN
from carob.features.setup.write import texts
from carob.model.check import CheckSpec
from carob.model.suite import Case
from carob.plugins.project import Project
from carob.redaction.named import without_secrets
from carob.suites import loads
from carob.suites.formats.catalog import find_format
from carob.system.unfinished_files import create_unfinished, give_name
from carob.targets.config import TargetConfig, read_config
from carob.text.wording import pluralize, visible

HOOK_FILE = "carob_hooks.py"
SETUP = "carob_hooks:setup"
EMPTY = {"text": '"test"', "int": "0", "float": "0.0", "bool": "False", "list": "[]", "table": "{}"}
MOST = 30
ENDING = [signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)])]


def open_checks(survey: Survey, name: str, catalog: CheckCatalog, *, has_log: bool) -> list[str]:
    """Lines of carob.toml, one for each check of the live app's eval sets that cannot be decided yet."""
    specs = [found for suite in survey.suites if suite.is_live for found in _checks(survey, suite, catalog)]
    sentences: dict[str, list[str]] = {}
    for case_id, spec in specs:
        args = msgspec.json.decode(spec.args)
        sentence = args.get("sentence", "") if spec.name == Ui.name else ""
        if sentence and not grammar(sentence):
            sentences.setdefault(sentence, []).append(case_id)
    logged = [case_id for case_id, spec in specs if spec.name == Telemetry.name]
    lines = list(_vocabulary(name, sentences))
    if logged and not has_log:
        lines += [
            "",
            f'# UNKNOWN without the app\'s log: `telemetry` of {_enumerate(logged)}. Set telemetry = {{ log = "..." }}',
        ]
    return lines


def context_hook(fields: Sequence[str]) -> str:
    """A module with the setup hook of a graph, each field of its context to be filled in."""
    pairs = [field.partition(": ")[::2] for field in fields]
    lines = "".join(f"        {json.dumps(name)}: {EMPTY.get(kind, 'None')},  # {kind}\n" for name, kind in pairs)
    return f'''"""Carob calls `setup` before each case: what it returns is the context of the graph. Fill it in."""


def setup() -> dict[str, object]:
    return {{
{lines}    }}
'''


def with_hook(table: Mapping[str, object]) -> dict[str, object]:
    """The table of a graph whose context comes from the hook, instead of the invented one."""
    options = table.get("options")
    kept = {name: value for name, value in options.items() if name != "context"} if isinstance(options, dict) else {}
    return {**{name: value for name, value in table.items() if name != "options"}, "setup": SETUP} | (
        {"options": kept} if kept else {}
    )


def _checks(survey: Survey, suite: FoundSuite, catalog: CheckCatalog) -> Iterator[tuple[str, CheckSpec]]:
    path = survey.folder / suite.path
    cases: Sequence[Case] = loads(path.read_bytes(), str(path), catalog).cases
    yield from ((case.id, spec) for case in cases for spec in case.checks)


def _vocabulary(name: str, sentences: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if not sentences:
        return
    yield from ("", "# Sentences of `ui` that are UNKNOWN until a line says what they mean (`carob help eval-sets`):")
    yield f"[targets.{key(name)}.ui_vocabulary]"
    for sentence, cases in list(sentences.items())[:MOST]:
        yield f'# {inline(visible(sentence))} = [{{ role = "...", name = "..." }}] # {_enumerate(cases)}'
    if len(sentences) > MOST:
        yield f"# and {pluralize(len(sentences) - MOST, 'sentence')} more: `carob lint` lists them"


def _enumerate(cases: Sequence[str]) -> str:
    names = list(dict.fromkeys(cases))
    return visible(", ".join(names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


REPEATS = 5
NOT_ASKED = "it was not asked."


@dataclass(frozen=True)
class InitPlan:
    """The files to write in a folder, and how the plan came about."""

    folder: Path
    files: tuple[PlannedFile, ...]
    suite: str
    """The suite to begin with: planned, or there already."""
    works: bool = False
    """Whether the agent answered, and may be sent what is in the suite: then it can be run."""
    notes: tuple[str, ...] = ()


class Consent(NamedTuple):
    """What the user agreed to: that the agent is loaded or asked, and that its tools act on more than a greeting."""

    may_ask: bool = False
    allow_effects: bool = False

    def may_send(self, prompts: Sequence[str]) -> bool:
        """Whether a suite with these prompts, or with a greeting, may be run."""
        return self.may_ask and (self.allow_effects or not prompts)


async def plan_files(
    survey: Survey, agent: FoundAgent | None, prompts: tuple[str, ...], project: Project, consent: Consent
) -> InitPlan:
    """Plan what a project lacks. An agent that may be asked is asked, and its first suite drafted from what it does."""
    probe = Probe() if agent is not None and agent.bridge else await _ask(survey, agent, prompts, project, consent)
    is_asked = agent is not None and bool(probe.problem) and consent.may_ask
    notes = [_why_not_asked(agent, probe.problem)] if agent is not None and is_asked else []
    table = dict(probe.table)
    if agent is not None and not table and agent.is_complete:
        table = agent.table
    files: list[PlannedFile] = []
    if not survey.config:
        problem = "" if probe.target is not None else probe.problem
        if probe.context:
            table = with_hook(table)
            files += plan_hook(survey.folder, probe.context)
        text = texts.configuration(agent, table, problem, survey.servers, survey.keys, survey.instructions)
        lines = _open_checks(survey, agent, table, project)
        files.append(PlannedFile(texts.CONFIG, "\n".join([text.rstrip("\n"), *lines]) + "\n"))
    elif not survey.targets:
        where = "AGENT" if agent is None else agent.address if agent.kind in ("http", "https") else agent.use
        notes.append(f"{survey.config} exists, but has no target. Add one: carob init --inspect {where} --write")
    suite = next((suite_file.path for suite_file in survey.suites if suite_file.format == "carob-1"), None)
    suite = suite or next((suite_file.path for suite_file in survey.suites), None)
    works = probe.target is not None
    if suite is None:
        suite = f"{survey.tests}/" * bool(survey.tests) + f"{agent.name if agent else 'first'}.carob.yaml"
        suite_name = agent.name if agent is not None else survey.folder.resolve().name
        text, suite_notes, works = await _suite(probe.target, prompts, suite_name, project, consent)
        notes += suite_notes
        if os.path.lexists(survey.folder / suite):
            notes.append(f"{suite} exists, but cannot be read as a suite: see `carob lint --errors-only {suite}`.")
        else:
            files.append(PlannedFile(suite, texts.with_schema(text, suite)))
            files += plan_schema(survey.folder, project)
    bridged, gaps = _bridge(survey, agent)
    files += bridged
    notes += gaps
    works = works or (bool(bridged) and not gaps and consent.may_send(prompts))
    files += _vitest(survey, suite, agent)
    files += _workflow(survey, _suites_to_run(survey, suite), agent)
    files += plan_ignored(survey.folder)
    return InitPlan(survey.folder, tuple(files), suite, works, tuple(notes))


async def _ask(
    survey: Survey, agent: FoundAgent | None, prompts: tuple[str, ...], project: Project, consent: Consent
) -> Probe:
    """See whether the agent answers: a greeting, unless its tools may act on the prompts."""
    prompts_to_send = prompts if prompts and consent.allow_effects else (GREETING,)
    if consent.may_ask and survey.targets and not survey.suites:
        return await ask_target(prompts_to_send, project)
    if consent.may_ask and agent is not None and not survey.targets:
        return await ask_agent(agent, prompts_to_send, project)
    return Probe(problem=NOT_ASKED)


def _why_not_asked(agent: FoundAgent, problem: str) -> str:
    if not agent.address and lacks_model(problem):
        provider = next((each for each in ("ANTHROPIC", "GOOGLE", "MISTRAL") if each in problem.upper()), "OPENAI")
        problem += (
            f" Its model was not reached: set {provider}_API_KEY, or the address of a model in {provider}_BASE_URL."
        )
    is_down = bool(agent.start) and problem.startswith("nothing answers")
    again = f" Start it first ({agent.start}), and `carob init` drafts a suite from it." if is_down else ""
    return f"{agent.use}: {problem}{again}"


async def _suite(
    target: TargetConfig | None, prompts: tuple[str, ...], name: str, project: Project, consent: Consent
) -> tuple[str, list[str], bool]:
    """The first suite: from what the agent does, or one to fill in; what is to be said of it; whether it can be run."""
    if target is None:
        return texts.first_suite(name, prompts or (GREETING,)), [], False
    # In this process, which has loaded the agent already and seen it answer.
    how: ResumeKeywords = {"workers": 0}
    options, allowed = DraftOptions(name=name), consent.allow_effects or not prompts
    try:
        draft = await adraft_target(
            target, prompts or (GREETING,), REPEATS, options, read_config(project), allow_effects=allowed, how=how
        )
    except CarobError as error:
        why = f"{error.message} {error.fix}".rstrip()
        return texts.first_suite(name, prompts or (GREETING,)), [f"no suite was drafted. {why}"], allowed
    return draft.yaml, [f"{finding.kind}: {finding.text}" for finding in draft.findings], True


def plan_schema(folder: Path, project: Project) -> list[PlannedFile]:
    if (folder / texts.SCHEMA).exists():
        return []
    catalog = catalog_for(project)
    text = json.dumps(find_format("carob-1", catalog.formats).schema(catalog), indent=2, ensure_ascii=False) + "\n"
    note = f"the JSON Schema with which editors complete suites, {text.count(chr(10)):,} lines"
    return [PlannedFile(texts.SCHEMA, text, note=note)]


def plan_hook(folder: Path, context: Sequence[str]) -> list[PlannedFile]:
    there = os.path.lexists(folder / HOOK_FILE)
    return [] if there else [PlannedFile(HOOK_FILE, context_hook(context))]


def _open_checks(survey: Survey, agent: FoundAgent | None, table: Mapping[str, object], project: Project) -> list[str]:
    """What the eval sets of a live app need besides its target."""
    if agent is None or agent.kind != "browser":
        return []
    has_log = "{log}" in str(table) or "telemetry" in str(table)
    return open_checks(survey, agent.name, catalog_for(project), has_log=has_log)


def _suites_to_run(survey: Survey, first: str) -> list[str]:
    """The suite to begin with, then the others in languages of Carob's own, which the same target runs."""
    others = (found.path for found in survey.suites if found.format in OUR_OWN and found.path != first)
    return [first, *others]


def _bridge(survey: Survey, agent: FoundAgent | None) -> tuple[list[PlannedFile], list[str]]:
    """The file through which an agent is reached, and what is to be done before it works."""
    bridge = agent.bridge if agent is not None else None
    if bridge is None or survey.targets or os.path.lexists(survey.folder / bridge.path):
        return [], []
    return [PlannedFile(bridge.path, bridge.text)], [f"before the first run: {gap}." for gap in bridge.gaps]


def _vitest(survey: Survey, suite: str, agent: FoundAgent | None) -> list[PlannedFile]:
    """The suite as tests of a Node project, which ask the agent that was found, or have one function to fill in."""
    path = "carob.test.ts"
    if not survey.recorder or os.path.lexists(survey.folder / path):
        return []
    bridge = agent.bridge if agent is not None else None
    if bridge is not None and bridge.test and "/" not in bridge.path:
        return [PlannedFile(path, bridge.test.replace("SUITE", json.dumps(suite)))]
    return [PlannedFile(path, texts.vitest_file(survey.recorder, suite))]


def _workflow(survey: Survey, suites: Sequence[str], agent: FoundAgent | None) -> list[PlannedFile]:
    """A workflow where there are others, unless one of them runs Carob."""
    folder = survey.folder / ".github" / "workflows"
    workflows = [file.read_text("utf-8", "replace") for file in folder.glob("*.y*ml")] if survey.has_github else []
    if not survey.has_github or (survey.folder / texts.WORKFLOW).exists() or any("carob" in text for text in workflows):
        return []
    return [PlannedFile(texts.WORKFLOW, texts.workflow(suites, agent, survey.requirements, survey.keys))]


def plan_ignored(folder: Path) -> list[PlannedFile]:
    path = folder / ".gitignore"
    before = path.read_bytes().decode("utf-8", "surrogateescape") if path.is_file() else None
    text = texts.add_to_gitignore(before or "")
    return [] if text is None or path.is_symlink() else [PlannedFile(".gitignore", text, before)]


SUITE = "desk.carob.yaml"
FILES = {
    "desk.py": "the agent: a refund desk with two tools",
    "model.py": "a scripted model for the tutorial",
    SUITE: "",
    "carob.toml": "",
}
"""Each with what is shown of it before it is written; the suite and the configuration are shown themselves."""


def plan_example(folder: Path, project: Project) -> InitPlan:
    """Plan the example, in a folder that has none of its files; one that has them all needs nothing."""
    there = [name for name in FILES if (folder / name).exists()]
    if len(there) == len(FILES):
        return InitPlan(folder, (), SUITE, works=True)
    if there:
        fix = "Run `carob init --example` in an empty folder."
        raise UsageError("it already exists, and the example has a file of that name.", where=there[0], fix=fix)
    files = [PlannedFile(name, _text(name), note=note) for name, note in FILES.items()]
    files += plan_schema(folder, project)
    files += plan_ignored(folder)
    return InitPlan(folder, tuple(files), SUITE, works=True)


def _text(name: str) -> str:
    text = resources.files("carob.features.setup.write").joinpath("example", name).read_text("utf-8")
    return texts.with_schema(text, name) if name == SUITE else text


class PlannedFile(NamedTuple):
    """A file to write, by its path in the project. `before` is what it holds now: lines are added to that file."""

    path: str
    text: str
    before: str | None = None
    note: str = ""
    """Shown in place of the lines, if there are too many to read."""


class _Staged(NamedTuple):
    temporary: str
    path: Path
    file: PlannedFile


def write_together(folder: Path, files: Sequence[PlannedFile]) -> None:
    """Write all files, or none. A signal is acted on once it is settled which."""
    staged: list[_Staged] = []
    undo: list[tuple[bool, Path]] = []
    with defer_signals():
        try:
            for file in files:
                staged.append(_stage(folder / file.path, file))  # noqa: PERF401 - one that fails must not lose the others
            # The file that is there already comes last: once it has its lines, nothing is left that can fail.
            for entry in sorted(staged, key=lambda entry: entry.file.before is not None):
                _settle(entry, undo)
        except BaseException as error:
            for is_folder, path in reversed(undo):
                with suppress(OSError):
                    path.rmdir() if is_folder else path.unlink()
            if not isinstance(error, OSError):
                raise
            where = str(error.filename2 or error.filename or folder)
            raise ArtifactError(f"it cannot be written: {error.strerror}. Nothing was written.", where=where) from error
        finally:
            for entry in staged:
                Path(entry.temporary).unlink(missing_ok=True)


def _stage(path: Path, file: PlannedFile) -> _Staged:
    """The text in an unfinished file, in the nearest folder that is there."""
    nearest = next(folder for folder in path.parents if folder.is_dir())
    descriptor, temporary = create_unfinished(str(nearest / path.name))
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(without_secrets(file.text.encode("utf-8", "surrogateescape")))
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return _Staged(temporary, path, file)


def _settle(entry: _Staged, undo: list[tuple[bool, Path]]) -> None:
    """Give a staged file its name, and note what would take that back."""
    path, before = entry.path, entry.file.before
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir()
        undo.append((True, folder))
    if before is not None:
        if path.read_bytes() != before.encode("utf-8", "surrogateescape"):
            raise UsageError("it has changed in the meantime.", where=str(path), fix="Run `carob init` again.")
        os.replace(entry.temporary, path)
        return
    try:
        give_name(entry.temporary, path)
    except FileExistsError as error:
        fix = "Nothing was written. Run `carob init` again."
        raise UsageError("a file of that name has appeared in the meantime.", where=str(path), fix=fix) from error
    undo.append((False, path))


@contextmanager
def defer_signals() -> Iterator[None]:
    """Signals that would end the process wait until the block is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    ending = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, lambda received, _: caught.append(received)) for number in ending}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for received in caught:
            signal.raise_signal(received)
