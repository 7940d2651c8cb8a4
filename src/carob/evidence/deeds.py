"""A trace → what the agent did to its workspace: commands with their exit codes, and when files were last changed.

Processes are asked first. Without them, the calls of shell tools and edit tools say it, as far as a line shows what
it runs and whose exit code it has. What neither shows is not known, and never taken for not done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from msgspec import Struct, structs

from carob.evidence.commands import edited_paths, line_of_call, skills_in, skills_of
from carob.model.trace import PossibleCall, ToolCall, Trace
from carob.model.workspace import TMPDIR, ProcessRun, WorkspaceEvidence
from carob.text.command_lines import (
    CommandLine,
    SimpleCommand,
    assigned_words,
    line_of_argv,
    may_change_files,
    name_of,
    read_line,
    shell_line,
    wrapped_words,
)
from carob.text.exit_codes import is_shell_tool
from carob.text.regexes import safe_regex
from carob.text.tool_names import is_any_named
from carob.text.words import PUBLISHED

NO_WORKSPACE = "the target has no workspace: give it `workspace` in carob.toml"
ASK_FOR_PROCESSES = 'Add "processes" to `evidence` of the target'
MASKED = "{!r} does not have the exit code of its line, which runs other commands too. " + ASK_FOR_PROCESSES
NO_EXIT = "the exit code of {!r} was not seen. " + ASK_FOR_PROCESSES
NO_REFUSALS = "attempts that were refused are only in the agent's own log, which was not read: {}"
MAY_EDIT = "{!r} came after it and may have changed files. " + ASK_FOR_PROCESSES
SIDE_BY_SIDE = "{!r} was asked for together with it, and which came first was not seen. " + ASK_FOR_PROCESSES
REHEARSAL = "{!r} only shows something: {}"
UNSEEN_PROGRAM = "no program {!r} was seen to run: the line {!r} may give the name to something else"
UNCHAINED = "{!r} runs more than one command, and its exit code is not that of each"
BY_HAND = "{!r} is a program that the agent wrote itself"
LATE = "{} was opened for writing before, and was changed after it"
ELSEWHERE = "it was run in {}, not in the workspace"
SLACK = 0.02
"""Seconds by which the clock for changes of files may be late."""


class Deed(Struct, frozen=True):
    """A command that was run, or was to be. `index` is that of its process, or of its call in the trace."""

    text: str
    exit_code: int | None
    why_no_exit: str
    refused: bool
    of_process: bool
    index: int
    started_at: float | None = None
    ended_at: float | None = None
    step: int = 0
    why_maybe: str = ""
    """Why it may not have been run at all: a command before it on its line decides."""
    why_empty: str = ""
    """Why its exit code may say nothing of what it is called for."""
    is_rehearsal: bool = False
    """It only shows something, as `--help` and `--dry-run` do."""

    def __str__(self) -> str:
        how = "refused" if self.refused else "exit code unknown" if self.exit_code is None else f"exit {self.exit_code}"
        return f"{self.text[:120]!r} ({how})"


class Order(NamedTuple):
    """Whether a command came after the last edit; None if it is not known, and why."""

    holds: bool | None
    why: str = ""


class Deeds:
    """What a trace shows of commands and edits."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._evidence = trace.workspace or WorkspaceEvidence()
        self.sees_processes = trace.workspace is not None and not trace.why_unobserved("processes")
        self.sees_files = trace.workspace is not None and not trace.why_unobserved("files")

    # Commands

    def find(self, pattern: str) -> list[Deed]:
        """The commands that a regex finds, in order, without those that only run another of them."""
        found = self._find_processes(pattern) if self.sees_processes else self._find_calls(pattern)
        return [self._with_rehearsal(deed, pattern) for deed in found]

    def _with_rehearsal(self, deed: Deed, pattern: str) -> Deed:
        """The same, marked where an option that the regex does not ask for turns a command into a rehearsal."""
        words = (*deed.text.split(), *(word for line in self._lines_around(deed) for word in assigned_words(line)))
        options = PUBLISHED.entries("rehearsal_options")
        option = next((word for word in words if word.partition("=")[0] in options and word not in pattern), "")
        if not option:
            return deed
        return structs.replace(deed, why_empty=REHEARSAL.format(deed.text[:80], option), is_rehearsal=True)

    def _lines_around(self, deed: Deed) -> Iterator[str]:
        """The lines by which a command was asked for, which may set variables."""
        if not deed.of_process:
            line = line_of_call(self._trace.tool_calls[deed.index])
            yield line.text if line is not None else ""
            return
        for run in (self._evidence.processes[number] for number in self._ancestors(deed.index)):
            if not run.own:
                yield shell_line(run.argv) or line_of_argv(run.argv)

    def find_attempts(self, pattern: str) -> list[Deed]:
        """The same, with what was asked for and never ran."""
        refused = [deed for deed in self._find_calls(pattern) if deed.refused or not self.sees_processes]
        return [*(self._find_processes(pattern) if self.sees_processes else ()), *refused]

    def why_unseen(self, *, attempts: bool = False) -> str:
        """Why a command may have been run that is not among those found; with `attempts`, or been asked for."""
        if self.sees_processes:
            if why := self._trace.cut("processes") or (NO_COMMAND_NOTED if not self._evidence.processes else ""):
                return why
            unlogged = self._trace.why_incomplete("tools")
            if attempts and unlogged:
                return NO_REFUSALS.format(unlogged)
            return self._why_line_unseen(lambda call: not call.called) if attempts else ""
        if unlogged := self._trace.why_incomplete("tools"):
            hint = self._trace.why_unobserved("processes") or NO_WORKSPACE
            return f"{unlogged}; {hint}"
        if possible := next((call for call in self._trace.possible_calls if _may_be_command(call)), None):
            return possible.why
        return self._why_line_unseen(lambda call: attempts or call.called)

    def _why_line_unseen(self, is_meant: Callable[[ToolCall], bool]) -> str:
        """Why a line that one of these calls asked a shell for is not known."""
        for _, call, line in self._lines:
            if line is None and is_meant(call):
                return f"the command line of a call to {call.name} was not seen. {ASK_FOR_PROCESSES}"
            if line is not None and line.why_unread and is_meant(call):
                return f"{line.why_unread}. {ASK_FOR_PROCESSES}"
        return ""

    def _find_processes(self, pattern: str) -> list[Deed]:
        runs = self._evidence.processes
        hits = {n for n, run in enumerate(runs) if not run.own and _is_found(pattern, _texts_of(run))}
        inner = {
            parent for number in hits for parent in self._ancestors(number) if _passes_on(runs[parent], runs[number])
        }
        outer = hits - inner
        first = {n for n in outer if not any(p in outer and runs[p].pid == runs[n].pid for p in self._before(n))}
        return [self.read_run(number) for number in sorted(first)]

    def read_run(self, number: int) -> Deed:
        """A process as a command."""
        run = self._evidence.processes[number]
        text = line_of_argv(run.argv)
        why = "" if run.exit_code is not None else f"the end of {text[:80]!r} was not seen: it was ended with the agent"
        last = self._last_of(number)
        empty = self._why_unproved(number) or (BY_HAND.format(run.program) if self._is_by_hand(run) else "")
        return Deed(text, run.exit_code, why, False, True, number, run.started_at, last.ended_at, why_empty=empty)

    def _why_unproved(self, number: int) -> str:
        """Why the exit code of a shell may not be that of the commands of its line."""
        inner = shell_line(self._evidence.processes[number].argv)
        if inner is None:
            return ""
        line = read_line(inner)
        seen = self._names_below.get(number, set()) | {*PUBLISHED.entries("shell_builtins")}
        unseen = next((command for command in line.commands if name_of(command.words) not in seen), None)
        if unseen is not None:
            return UNSEEN_PROGRAM.format(name_of(unseen.words), inner[:80])
        return line.why_unread or ("" if line.is_chain else UNCHAINED.format(inner[:80]))

    @cached_property
    def _names_below(self) -> dict[int, set[str]]:
        """By each run, the programs that it and those that it started ran."""
        names: dict[int, set[str]] = {}
        for index, run in enumerate(self._evidence.processes):
            for above in self._ancestors(index):
                names.setdefault(above, set()).add(name_of(run.argv))
        return names

    def _is_by_hand(self, run: ProcessRun) -> bool:
        """Whether the agent wrote the program, and no compiler or package manager did."""
        writers = (
            self._evidence.processes[write.run]
            for write in self._evidence.writes
            if write.path == run.program and write.at < run.started_at
        )
        return run.program == TMPDIR or any(map(_writes_by_hand, writers))

    def _last_of(self, number: int) -> ProcessRun:
        """The program that a process became in the end."""
        runs = self._evidence.processes
        last = runs[number]
        for run in runs[number + 1 :]:
            if run.pid == last.pid and last.replaced:
                last = run
        return last

    def _ancestors(self, number: int) -> Iterator[int]:
        runs, seen = self._evidence.processes, {number}
        parent = runs[number].parent
        while parent is not None and parent not in seen and parent < len(runs):
            seen.add(parent)
            yield parent
            parent = runs[parent].parent

    def _before(self, number: int) -> Iterator[int]:
        """The programs that the process was before."""
        runs = self._evidence.processes
        for parent in self._ancestors(number):
            if runs[parent].pid != runs[number].pid or not runs[parent].replaced:
                return
            yield parent

    @cached_property
    def _lines(self) -> list[tuple[int, ToolCall, CommandLine | None]]:
        calls = enumerate(self._trace.tool_calls)
        return [(index, call, line_of_call(call)) for index, call in calls if is_shell_tool(call.host_name)]

    def _find_calls(self, pattern: str) -> list[Deed]:
        found: list[Deed] = []
        for index, call, line in self._lines:
            if line is None:
                continue
            steps = {c.step: c.line for c in line.commands if safe_regex.search(pattern, c.line)}
            for step, text in sorted(steps.items()):
                found.append(_read_deed(index, call, line, text, step))
            if not steps and safe_regex.search(pattern, line.text):
                found.append(_read_deed(index, call, line, line.text, line.last_step, whole=True))
        return found

    # Edits

    def is_after_last_edit(self, deed: Deed) -> Order:
        """Whether nothing in the workspace was changed once a command had begun, by anything but itself."""
        if deed.of_process:
            return self._is_after_writes(deed)
        return self._is_after_calls(deed)

    def _is_after_writes(self, deed: Deed) -> Order:
        own = self._runs_of(deed.index)
        began, ended = deed.started_at or 0.0, deed.ended_at
        for write in self._evidence.writes:
            if write.at > began and not write.path.startswith(("/", "~/")) and write.run not in own:
                return Order(False, f"{write.path} was changed after it")
        late = self._find_open_writer(own, began)
        for change in self._evidence.files if ended is not None else ():
            if (change.changed_at or 0.0) > (ended or 0.0) + SLACK:
                writers = {write.run for write in self._evidence.writes if write.path == change.path}
                if not writers:
                    return Order(False, f"{change.path} was changed after it")
                # A command of its own may write at its very end.
                late = late or ("" if writers & own else LATE.format(change.path))
        folder = self._evidence.processes[deed.index].folder
        why = self._trace.cut("processes") or late or (ELSEWHERE.format(folder) if folder else "")
        return Order(None, why) if why else Order(True)

    def _find_open_writer(self, own: set[int], began: float) -> str:
        """Why a file may have been changed by a process that opened it before, and was still there."""
        changed = {change.path for change in self._evidence.files if (change.changed_at or 0.0) > began}
        changed -= {write.path for write in self._evidence.writes if write.run in own}
        for write in self._evidence.writes:
            if write.at > began or write.path not in changed:
                continue
            ended = self._evidence.processes[write.run].ended_at
            if ended is None or ended > began:
                return LATE.format(write.path)
        return ""

    def _runs_of(self, number: int) -> set[int]:
        """A command with all that it started, and the rest of its pipeline, such as `| tee FILE`."""
        runs = self._evidence.processes
        readers: set[tuple[int, str]] = set()
        for shell in self._ancestors(number):
            commands = read_line(shell_line(runs[shell].argv) or "").commands
            for at, command in enumerate(commands):
                if command.line == line_of_argv(runs[number].argv):
                    rest = takewhile(lambda reader: reader.after == "|", commands[at + 1 :])
                    readers |= {(shell, reader.line) for reader in rest}
        mine = {number}
        for index, run in enumerate(runs):
            around = [*self._ancestors(index)]
            if number in around or any((shell, line_of_argv(run.argv)) in readers for shell in around):
                mine.add(index)
        return mine

    def _is_after_calls(self, deed: Deed) -> Order:
        mine = self._trace.tool_calls[deed.index]
        doubt = ""
        for index, call in enumerate(self._trace.tool_calls):
            is_sibling = index != deed.index and call.message is not None and call.message == mine.message
            if (index < deed.index and not is_sibling) or not call.called:
                continue
            sure, maybe = _edits_of(call, deed.step if index == deed.index else -1)
            if is_sibling and (sure or maybe):
                doubt = doubt or SIDE_BY_SIDE.format(sure or maybe)
            elif sure and call.success is not False:
                return Order(False, f"{sure} was changed after it")
            elif maybe:
                doubt = doubt or MAY_EDIT.format(maybe)
        if doubt and self._is_after_changes(deed):
            doubt = ""
        doubt = doubt or self._trace.why_incomplete("tools") or ""
        return Order(None, doubt) if doubt else Order(True)

    def _is_after_changes(self, deed: Deed) -> bool:
        """Whether the files show by their times that all that was changed was changed before."""
        if not self.sees_files or self._trace.cut("files"):
            return False
        changes = self._evidence.files
        if not changes:
            return True
        began = deed.started_at
        return began is not None and all(c.changed_at is not None and c.changed_at + SLACK < began for c in changes)

    # Skills

    def skills(self) -> dict[str, int | None]:
        """The skills that were used, each with the call that loaded it."""
        used: dict[str, int | None] = {}
        for index, call in enumerate(self._trace.tool_calls):
            for skill in skills_of(call) if call.called and call.success is not False else ():
                used.setdefault(skill, index)
        for run in self._evidence.processes:
            for skill in skills_in(" ".join(run.argv)) if not run.own and run.exit_code in (0, None) else ():
                used.setdefault(skill, None)
        return used


NO_COMMAND_NOTED = "no process of the agent was noted"


def _may_be_command(possible: PossibleCall) -> bool:
    return possible.of != "call" or is_shell_tool(possible.text)


def _texts_of(run: ProcessRun) -> tuple[str, ...]:
    inner = shell_line(run.argv)
    line = line_of_argv(run.argv)
    return (line,) if inner is None else (line, inner)


def _is_found(pattern: str, texts: Sequence[str]) -> bool:
    return any(safe_regex.search(pattern, text) for text in texts)


def _writes_by_hand(run: ProcessRun) -> bool:
    """Whether what a program writes is what the agent gave to it: its own, a shell's, a copy, or code in its line."""
    name, first = name_of(run.argv), run.argv[1] if len(run.argv) > 1 else "-"
    if run.own or name in PUBLISHED.entries("shells") or name in PUBLISHED.entries("copying_commands"):
        return True
    return name in PUBLISHED.entries("unreadable_commands") and first in ("-", "-c", "-e", "-i")


def _passes_on(outer: ProcessRun, inner: ProcessRun) -> bool:
    """Whether a program is a shell or a wrapper that was to run the other one."""
    return shell_line(outer.argv) is not None or (bool(wrapped_words(outer.argv)) and outer.pid != inner.pid)


def _read_deed(index: int, call: ToolCall, line: CommandLine, text: str, step: int, *, whole: bool = False) -> Deed:
    """A command of a line, with the exit code that the line proves for it."""
    code, why = call.exit_code, ""
    is_last = step == line.last_step
    if not call.called:
        return Deed(text, None, "it was refused", True, False, index, step=step)
    if code is None:
        why = NO_EXIT.format(text[:80])
    elif not (whole or line.is_chain) or (code != 0 and not is_last):
        code, why = None, MASKED.format(text[:80])
    maybe = "" if step == 0 or (line.is_chain and call.exit_code == 0) else f"{text[:80]!r} may not have been reached"
    return Deed(text, code, why, False, False, index, call.started_at, call.ended_at, step, maybe)


def read_step(call: ToolCall, line: CommandLine, command: SimpleCommand) -> Deed:
    """One command of the line of a call."""
    return _read_deed(-1, call, line, command.line, command.step)


def _edits_of(call: ToolCall, after_step: int) -> tuple[str, str]:
    """What a call edits, and what of it may change files; of its line only what comes after a step."""
    paths = edited_paths(call)
    if paths is not None:
        return (paths[0] if paths else call.name), ""
    if is_shell_tool(call.host_name):
        line = line_of_call(call)
        if line is None:
            return "", call.name
        later = [c for c in line.commands if c.step > after_step and may_change_files(c)]
        return "", later[0].line[:80] if later else ""
    harmless = is_any_named(PUBLISHED.entries("harmless_tools"), call.host_name) or after_step >= 0
    return "", "" if harmless else call.name
