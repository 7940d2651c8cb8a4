"""Calls of coding agents that run a command line, change a file or load a skill, whatever their tools are called."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import structs

from carob.model.trace import ToolCall
from carob.text.command_lines import CommandLine, may_change_files, read_command
from carob.text.exit_codes import is_shell_tool, stated_exit_code
from carob.text.tool_names import is_any_named
from carob.text.tool_results import parse_result
from carob.text.words import PUBLISHED

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_SKILL = re.compile(r"(?:^|[/\\])([\w.-]+)[/\\]SKILL\.md\b", re.IGNORECASE)


def line_of_call(call: ToolCall) -> CommandLine | None:
    """The command line that a call asks a shell to run; None for a call of another kind, or without one."""
    return read_command(_command(call)) if is_shell_tool(call.host_name) else None


def command_of(call: ToolCall) -> str | None:
    """The same as it was written, to be compared with what processes were asked."""
    command = _command(call) if is_shell_tool(call.host_name) else None
    if isinstance(command, list):
        line = read_command(command)
        return line.text if line is not None else shlex.join(map(str, command))
    return command.strip() if isinstance(command, str) else None


def read_exit_code(call: ToolCall) -> ToolCall:
    """A call of a command with the exit code that its result states: that decides whether it succeeded."""
    if not is_shell_tool(call.host_name) or not call.called:
        return call
    code = call.exit_code if call.exit_code is not None else stated_exit_code(call.result)
    return call if code is None else with_exit_code(structs.replace(call, exit_code=code))


def with_exit_code(call: ToolCall) -> ToolCall:
    """A call whose exit code is known. An error that its source reports is one all the same."""
    success = call.exit_code == 0 and call.error is None
    return call if call.success is success else structs.replace(call, success=success)


def only_reads(call: ToolCall) -> bool:
    """Whether a call runs a line of which every command is known to change nothing."""
    line = line_of_call(call)
    return line is not None and bool(line.commands) and not any(map(may_change_files, line.commands))


@lru_cache(maxsize=4096)
def is_edit_tool(name: str) -> bool:
    """Whether a tool changes files."""
    return is_any_named(PUBLISHED.entries("edit_tools"), name)


def edited_paths(call: ToolCall) -> tuple[str, ...] | None:
    """The files that a call of an edit tool changes; None for a call of another kind."""
    if not is_edit_tool(call.host_name):
        return None
    arguments = parse_result(call.arguments)
    if isinstance(arguments, str):
        return tuple(_PATCHED.findall(arguments))
    if not isinstance(arguments, Mapping):
        return ()
    paths = [arguments[key] for key in PUBLISHED.entries("edit_path_keys") if isinstance(arguments.get(key), str)]
    patches = [value for value in arguments.values() if isinstance(value, str) and value.startswith("*** ")]
    return (*paths[:1], *(path for patch in patches for path in _PATCHED.findall(patch)))


def skills_of(call: ToolCall) -> Iterator[str]:
    """The skills that a call loads: by its tool, or because it reads their file."""
    arguments = parse_result(call.arguments)
    if is_any_named(PUBLISHED.entries("skill_tools"), call.host_name):
        names = arguments if isinstance(arguments, Mapping) else {"name": arguments}
        for key in PUBLISHED.entries("skill_name_keys"):
            if isinstance(name := names.get(key), str) and name:
                yield name.rpartition(":")[2].lstrip("/")
                return
    values = arguments.values() if isinstance(arguments, Mapping) else [arguments]
    for value in values:
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield from skills_in(text)


def skills_in(text: str) -> list[str]:
    """The skills whose file a path or a command line names."""
    return _SKILL.findall(text)


def _command(call: ToolCall) -> object:
    arguments = parse_result(call.arguments)
    if isinstance(arguments, str | list):
        return arguments
    if not isinstance(arguments, Mapping):
        return None
    keys = PUBLISHED.entries("shell_line_keys")
    return next((arguments[key] for key in keys if isinstance(arguments.get(key), str | list)), None)
