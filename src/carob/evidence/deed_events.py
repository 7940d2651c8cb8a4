"""Commands and edits of a coding agent as events of its conversation: `@command` and `@edit` of rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from carob.evidence.commands import edited_paths, line_of_call
from carob.evidence.deeds import MAY_EDIT, read_step
from carob.model.trace import ToolCall, Trace
from carob.rules.events import COMMAND, EDIT
from carob.text.command_lines import line_of_argv, may_change_files, shell_line
from carob.text.exit_codes import is_shell_tool

NO_END = "the end of a command was not seen"


class DeedEvent(Struct, frozen=True):
    """A command or an edit; with `why`, a place where one may not have been seen."""

    tool: str
    arguments: Any = None
    success: bool | None = None
    result: Any = None
    at: float | None = None
    started: bool = True
    why: str = ""


def process_deeds(turn: Trace) -> Iterator[DeedEvent]:
    """The commands that were run as processes, and the files of the workspace that were written, by the clock."""
    evidence = turn.workspace
    if evidence is None:
        return
    moments: list[tuple[float, int, DeedEvent]] = []
    for number, run in enumerate(evidence.processes):
        if run.own or (run.replaced and shell_line(run.argv) is None):
            continue
        success = None if run.exit_code is None else run.exit_code == 0
        arguments = {"line": line_of_argv(run.argv), "argv": list(run.argv)}
        event = DeedEvent(COMMAND, arguments, success, {"exit": run.exit_code}, run.started_at)
        moments.append((run.started_at, number, event))
    inside = [write for write in evidence.writes if not write.path.startswith(("/", "~/"))]
    last = len(evidence.processes)
    moments += [(write.at, last, DeedEvent(EDIT, {"path": write.path}, True, at=write.at)) for write in inside]
    yield from (event for _, _, event in sorted(moments, key=lambda moment: moment[:2]))
    if why := turn.cut("processes"):
        yield DeedEvent(COMMAND, why=why)
        yield DeedEvent(EDIT, why=why)


def call_deeds(call: ToolCall) -> Iterator[DeedEvent]:
    """What a call of a shell tool or an edit tool did, as far as it shows."""
    paths = edited_paths(call)
    for path in paths or ():
        yield DeedEvent(EDIT, {"path": path}, call.success, at=call.started_at)
    line = line_of_call(call)
    if line is None:
        if is_shell_tool(call.host_name):
            yield DeedEvent(COMMAND, why=f"the command line of a call to {call.name} was not seen")
        return
    for command in line.commands:
        deed = read_step(call, line, command)
        success = None if deed.exit_code is None else deed.exit_code == 0
        arguments = {"line": command.line, "argv": list(command.words)}
        yield DeedEvent(COMMAND, arguments, success, {"exit": deed.exit_code}, call.started_at)
        if may_change_files(command):
            yield DeedEvent(EDIT, why=MAY_EDIT.format(command.line[:80]).replace(" came after it and", ""))
    if line.why_unread:
        yield DeedEvent(COMMAND, why=line.why_unread)


def refused_deeds(call: ToolCall) -> Iterator[DeedEvent]:
    """The commands of a call that was not let through: they were asked for, and never ran."""
    line = line_of_call(call)
    for command in line.commands if line is not None else ():
        yield DeedEvent(COMMAND, {"line": command.line, "argv": list(command.words)}, started=False)
