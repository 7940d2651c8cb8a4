"""A target whose cases each have a workspace: made before the agent starts, looked at when it is done, removed."""

from __future__ import annotations

import asyncio
import ipaddress
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Timer
from time import sleep
from typing import Any, cast

import msgspec
from msgspec import structs

from carob.errors import ConfigError
from carob.evidence.merge import merge_processes
from carob.evidence.process_log import ProcessLog, read_process_log
from carob.features.coding.workspaces import snapshot
from carob.features.coding.workspaces.case_workspace import (
    CaseWorkspace,
    remove_left_over,
    require_sandbox,
    why_no_processes,
)
from carob.model.check import CheckSpec
from carob.model.suite import Case
from carob.model.trace import TextLoss, Trace
from carob.model.workspace import AfterRun, FoundFile, WorkspaceEvidence
from carob.targets.base import RunContext, Target, TargetError
from carob.targets.child_process import Child
from carob.targets.config import TargetConfig, place_of
from carob.targets.user_code import DaemonThreads
from carob.targets.workspace_settings import WorkspaceSettings
from carob.targets.wrappers.base import WrappedTarget
from carob.text.globs import IGNORED, matches_any, matches_glob
from carob.text.wording import shorten
from carob.text.words import PUBLISHED

NO_FILES = 'files were not asked for: add "files" to `evidence` of the target'
NO_PROCESSES = 'processes were not asked for: add "processes" to `evidence` of the target'
WHOLE = "the workspace is looked at when the agent is done: expect this of the case, not of a turn"
BROKE = "the agent broke off, so nothing was run after it"
MOST_FOUND = 50
FOUND_CAP = 1 << 16
ASKED = ("files", "after", "network")
"""Checks for which something has to be looked up while the workspace is there."""
WITHOUT_WORKSPACE = "a target of kind {!r} cannot have a workspace: it starts no process for each case."
DEFAULT_SECONDS = 60.0
TICK = 0.01
"""After this time the system's clock for changes of files has gone on."""


class WithWorkspace(WrappedTarget):
    """A target with a fresh copy of a folder for each run of a case."""

    def __init__(self, target: Target, config: TargetConfig, settings: WorkspaceSettings) -> None:
        super().__init__(target)
        self._config = config
        self._settings = settings
        self._source = (config.root / settings.folder).resolve()
        self._ignored = (*IGNORED, *config.ignore_files)
        self._own_files = (*settings.own_files, *config.own_files)
        self._threads = DaemonThreads("carob-workspace")
        if not getattr(target, "has_workspaces", False):
            fix = "Use `command:` or the preset of a coding agent, or leave `workspace` out."
            message = WITHOUT_WORKSPACE.format(config.kind)
            raise ConfigError(message, where=place_of(config, "workspace"), fix=fix, slug="no-workspace")
        if not self._source.is_dir():
            message = f"the workspace folder {str(self._source)!r} does not exist."
            fix = "Name a folder, relative to the file that says this."
            raise ConfigError(message, where=place_of(config, "workspace"), fix=fix, slug="no-workspace")

    async def open(self) -> None:
        if self._settings.sandbox:
            require_sandbox(place_of(self._config, "workspace"))
        await self._threads.call(remove_left_over)
        await super().open()

    async def close(self) -> None:
        self._threads.close()
        await super().close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        workspace = await self._threads.call(partial(CaseWorkspace, self._settings))
        try:
            before = await self._threads.call(partial(self._prepare, workspace, case))
            context.workspace = workspace
            look = partial(self._look, case, workspace, before)
            try:
                trace = await self._target.run(case, context)
            except TargetError as error:
                if stopped := workspace.why_stopped():
                    error.kind, error.message = "workspace", stopped
                partial_trace = error.partial or context.recorder.partial(case, error.error)
                error.partial = await self._threads.call(partial(look, partial_trace, ended=False))
                raise
            return cast(Trace, await self._threads.call(partial(look, trace, ended=True)))
        finally:
            context.workspace = None
            await asyncio.shield(asyncio.ensure_future(self._threads.call(partial(self._leave, workspace, context))))

    def _leave(self, workspace: CaseWorkspace, context: RunContext) -> None:
        workspace.end_processes()
        if self._config.keep_workspaces:
            context.leftovers.append(workspace)
        else:
            workspace.remove()

    def _prepare(self, workspace: CaseWorkspace, case: Case) -> snapshot.Snapshot:
        """Copy the folder and set it up; its files as the agent will find them."""
        settings = self._settings
        snapshot.copy_folder(self._source, workspace.folder, settings.max_files, settings.max_mb << 20)
        for line in settings.setup:
            done = run_command(workspace, line, workspace.environment(self._config.env), settings.setup_seconds)
            if done.exit_code != 0:
                why = done.why or f"it ended with exit status {done.exit_code}"
                message = f"the command {shorten(line, 80)!r} that sets the workspace up failed: {why}"
                raise TargetError("workspace", message, detail=done.output)
        if "processes" in self._config.evidence and not why_no_processes():
            workspace.watch_processes(datagrams=any(spec.name == "network" for spec in _specs(case)))
        before = snapshot.take_snapshot(workspace.folder)
        sleep(TICK)
        for path in before if settings.setup else ():
            data = snapshot.read_file(workspace.folder, path)
            if data is not None and data != snapshot.read_file(self._source, path):
                stash = workspace.before / path
                stash.parent.mkdir(parents=True, exist_ok=True)
                stash.write_bytes(data)
        return before

    def _look(
        self, case: Case, workspace: CaseWorkspace, before: snapshot.Snapshot, trace: Trace, *, ended: bool
    ) -> Trace:
        """The trace with what became of the workspace."""
        workspace.end_processes()
        asked = _Asked(case)
        unobserved, cuts = dict(trace.unobserved), dict(trace.cuts)
        names = dict(asked.resolve_names())
        evidence = WorkspaceEvidence(own_files=self._own_files, names=names, resolvers=_resolvers())
        if "files" in self._config.evidence:
            evidence = self._with_files(evidence, workspace, before, asked, cuts)
        else:
            unobserved["files"] = NO_FILES
        if "processes" not in self._config.evidence:
            unobserved["processes"] = NO_PROCESSES
        elif why := why_no_processes():
            unobserved["processes"] = why
        else:
            evidence = self._with_processes(evidence, workspace, case, unobserved, cuts)
        if asked.commands:
            evidence = structs.replace(evidence, after=dict(self._run_after(workspace, before, asked, ended)))
        turns = tuple(
            structs.replace(
                turn, unobserved={**turn.unobserved, **dict.fromkeys(("files", "processes", "after"), WHOLE)}
            )
            for turn in trace.turns
        )
        calls = merge_processes(trace.tool_calls, evidence.processes)
        return structs.replace(
            trace, workspace=evidence, unobserved=unobserved, cuts=cuts, turns=turns, tool_calls=tuple(calls)
        )

    def _with_files(
        self,
        evidence: WorkspaceEvidence,
        workspace: CaseWorkspace,
        before: snapshot.Snapshot,
        asked: _Asked,
        cuts: dict[str, TextLoss],
    ) -> WorkspaceEvidence:
        try:
            after = snapshot.take_snapshot(workspace.folder, before, self._settings.max_files)
            home = snapshot.take_snapshot(workspace.home, workspace.home_before, self._settings.max_files)
        except snapshot.TooLargeError as error:
            cuts["files"] = TextLoss(str(error))
            return evidence
        ignored = partial(matches_any, self._ignored)
        read_before = partial(_read_first, (workspace.before, self._source))
        changes = snapshot.compare(before, after, ignored, read_before, partial(snapshot.read_file, workspace.folder))
        at_home = snapshot.compare(workspace.home_before or {}, home, ignored, _read_nothing, _read_nothing)
        if len(changes) > snapshot.MOST_CHANGES or len(at_home) > snapshot.MOST_CHANGES:
            cuts["files"] = TextLoss(f"only the first {snapshot.MOST_CHANGES:,} changed files were kept")
        return structs.replace(
            evidence,
            files=tuple(changes[: snapshot.MOST_CHANGES]),
            home_files=tuple(structs.replace(each, path=f"~/{each.path}") for each in at_home[: snapshot.MOST_CHANGES]),
            found=dict(asked.find_files(workspace.folder, after)),
        )

    def _with_processes(
        self,
        evidence: WorkspaceEvidence,
        workspace: CaseWorkspace,
        case: Case,
        unobserved: dict[str, str],
        cuts: dict[str, TextLoss],
    ) -> WorkspaceEvidence:
        if not workspace.process_log.exists():
            unobserved["processes"] = "no process of the agent was noted: it was not started in the workspace"
            return evidence
        log = ProcessLog(
            str(workspace.folder), partial(name_path, tuple(workspace.places()), self._ignored), case.prompt
        )
        read_process_log(workspace.process_log, log)
        if why := log.why_incomplete or log.why_torn:
            cuts["processes"] = TextLoss(why)
        return structs.replace(evidence, processes=log.processes, writes=log.writes, contacts=log.contacts)

    def _run_after(
        self, workspace: CaseWorkspace, before: snapshot.Snapshot, asked: _Asked, ended: bool
    ) -> Iterator[tuple[str, AfterRun]]:
        """Run our own commands, with the fixture's own tests and settings back in their place."""
        home = workspace.root / "after-home"
        home.mkdir(exist_ok=True)
        environment = {
            **workspace.environment(self._config.env),
            "HOME": str(home),
            "PYTHONPYCACHEPREFIX": str(workspace.root / "after-bytecode"),  # byte code of the agent may not be its code
        }
        for entry in asked.commands:
            if not ended:
                yield str(entry["run"]), AfterRun(why=BROKE)
                continue
            restored = entry.get("restore")
            self._restore(workspace, before, PUBLISHED.entries("test_files") if restored is None else restored)
            seconds = float(entry.get("seconds") or DEFAULT_SECONDS)
            yield str(entry["run"]), run_command(workspace, str(entry["run"]), environment, seconds)

    def _restore(self, workspace: CaseWorkspace, before: snapshot.Snapshot, patterns: Iterable[str]) -> None:
        """Put back the files of the fixture that these patterns name, and remove new ones that would hijack them."""
        patterns = tuple(patterns)
        now = snapshot.take_snapshot(workspace.folder, before)
        for path, entry in before.items():
            if matches_any(patterns, path) and (path not in now or now[path].digest != entry.digest):
                source = workspace.before / path
                _put_back(source if source.exists() else self._source / path, workspace.folder, path)
        for path in now:  # what nothing else looks at must not decide: caches of the agent
            is_new = path not in before or now[path].digest != before[path].digest
            if is_new and matches_any(IGNORED, path) and not path.startswith(".git/"):
                (workspace.folder / path).unlink(missing_ok=True)
        if patterns:
            for path in now.keys() - before.keys():
                if matches_any(PUBLISHED.entries("hijacking_files"), path):
                    (workspace.folder / path).unlink(missing_ok=True)


def _put_back(source: Path, folder: Path, path: str) -> None:
    """Put a file into the folder; a link, or a file that is in its way, is removed, and none is followed."""
    place = folder
    for part in Path(path).parts[:-1]:
        place = place / part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    place = folder / path
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    shutil.copyfile(source, place)
    shutil.copymode(source, place)


class _Asked:
    """What the checks of a case ask of a workspace while it is there."""

    def __init__(self, case: Case) -> None:
        arguments: dict[str, list[dict[str, Any]]] = {name: [] for name in ASKED}
        for spec in _specs(case):
            if spec.name in arguments:
                arguments[spec.name].append(msgspec.json.decode(spec.args))
        self.commands = list({str(entry["run"]): entry for entry in arguments["after"]}.values())
        self._patterns = {
            str(pattern)
            for entry in arguments["files"]
            if entry.get("how") in ("contents", "exist", "absent")
            for pattern in entry.get("paths", ())
        }
        self._names = {str(name) for entry in arguments["network"] for name in entry.get("allowed", ())}

    def find_files(self, folder: Path, after: Mapping[str, object]) -> Iterator[tuple[str, tuple[FoundFile, ...]]]:
        for pattern in sorted(self._patterns):
            paths = [path for path in sorted(after) if matches_glob(pattern, path)][:MOST_FOUND]
            yield pattern, tuple(_find(folder, path) for path in paths)

    def resolve_names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The addresses of the hosts that are named: agents connect to addresses."""
        for name in sorted(self._names):
            with suppress(ValueError):
                ipaddress.ip_network(name, strict=False)
                continue
            try:
                found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError):
                found = []
            yield name, tuple(sorted({str(entry[4][0]) for entry in found}))


def _resolvers() -> tuple[str, ...] | None:
    """The addresses by which this machine looks up names."""
    try:
        lines = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    words = [line.split() for line in lines]
    return tuple(word[1].partition("%")[0] for word in words if len(word) > 1 and word[0] == "nameserver")


def _find(folder: Path, path: str) -> FoundFile:
    shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    data = snapshot.read_file(folder, path, FOUND_CAP + 1)
    if data is None:
        return FoundFile(shown, why="it is a link, or could not be read")
    if len(data) > FOUND_CAP:
        return FoundFile(shown, why=f"it has more than {FOUND_CAP:,} bytes")
    text = snapshot.as_text(data)
    return FoundFile(shown, text, "" if text is not None else "it is not text")


def _specs(case: Case) -> Iterator[CheckSpec]:
    return (spec for _, spec in case.all_checks)


def _read_first(folders: Iterable[Path], path: str) -> bytes | None:
    return next((data for folder in folders if (data := snapshot.read_file(folder, path)) is not None), None)


def _read_nothing(path: str) -> bytes | None:
    return None


def name_path(places: tuple[tuple[str, str], ...], ignored: tuple[str, ...], path: str) -> str:
    """An absolute path as evidence names it; empty for what does not count."""
    if path.startswith(("/dev/", "/proc/")):
        return ""
    for folder, prefix in places:
        if path == folder or path.startswith(f"{folder}/"):
            below = path[len(folder) + 1 :]
            if not prefix or not below or _is_ignored(ignored, below):
                return ""
            return below if prefix == "./" else f"{prefix}{below}"
    return "" if _is_ignored(IGNORED, path[1:]) else path


def _is_ignored(patterns: tuple[str, ...], path: str) -> bool:
    """Whether a file or a folder is ignored: a folder is if all in it is."""
    return matches_any(patterns, path) or matches_any(patterns, f"{path}/")


OUTPUT = 1 << 14
"""So much of the end of an output is kept."""


def run_command(workspace: CaseWorkspace, line: str, environment: Mapping[str, str], seconds: float) -> AfterRun:
    """Run a line by the shell in the workspace, with a deadline; nothing of it is left running."""
    lines: list[bytes] = []
    size = 0

    def take(data: bytes) -> None:
        nonlocal size
        lines.append(data)
        size += len(data) + 1
        while size - len(lines[0]) - 1 > OUTPUT and len(lines) > 1:
            size -= len(lines.pop(0)) + 1

    argv = workspace.argv(["/bin/sh", "-c", f"{{ {line}\n}} 2>&1"], watched=False)
    child = Child(argv, workspace.folder, dict(environment))
    overran: list[bool] = []

    def stop() -> None:
        overran.append(True)
        child.stop()

    timer = Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        ended = child.run(take)
    except OSError as error:
        return AfterRun(why=f"it could not be started: {error}")
    finally:
        timer.cancel()
        workspace.end_processes()
    output = b"\n".join(lines)[-OUTPUT:].decode("utf-8", "replace") or ended.stderr
    if overran:
        return AfterRun(output=output, why=f"it took longer than {seconds:g} s")
    if stopped := workspace.why_stopped():
        return AfterRun(output=output, why=stopped)
    return AfterRun(ended.returncode, output)
