"""The tools that an agent has, from what lists them: those that no rule names pass a guard unseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from carob.errors import ConfigError
from carob.features.guard.policy import GuardPolicy

FIX = (
    "Name a file with the answer to an MCP server's tools/list or with definitions of tools, a recording, or Python: "
    "tools.py:TOOLS."
)


def find_unnamed(policy: GuardPolicy, tools: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The tools that no rule names, each with a question whether a name in a rule was meant, if one is like it."""
    for tool in dict.fromkeys(tools):
        if not policy.concerns(tool):
            yield tool, policy.did_you_mean(tool)


def list_tools(source: str, root: Path) -> list[str]:
    """The names of the tools that a file lists, that a recording has calls of, or that a value in Python holds."""
    file, _, value = source.rpartition(":")
    if value.isidentifier() and file and not Path(source).exists():
        names = list(_list_python(source, root))
    else:
        names = list(_list_definitions(Path(source))) or list(_list_recorded(source))
    if not names:
        raise ConfigError("it lists no tools.", where=source, fix=FIX, slug="no-tools")
    return names


def _list_python(source: str, root: Path) -> Iterator[str]:
    from carob.plugins.code import load_attribute
    from carob.targets.in_process.functions import find_tool

    value: Any = load_attribute(source, root, [root])
    if isinstance(value, Mapping):
        yield from map(str, value)
        return
    for tool in value if isinstance(value, Iterable) else [value]:
        yield tool if isinstance(tool, str) else find_tool(tool).name


def _list_definitions(path: Path) -> Iterator[str]:
    """The names in a file of definitions, alone or in an answer of an MCP server; none: it is something else."""
    import msgspec

    from carob.providers.base import tool_schemas

    try:
        data = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"it cannot be read: {error.strerror}.", where=str(path), fix=FIX, slug="no-tools") from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return
    if isinstance(data, dict) and isinstance(data.get("result"), dict):
        data = data["result"]
    if isinstance(data, list) and all(isinstance(name, str) for name in data):
        yield from data
    elif not isinstance(data, dict) or "tools" in data:
        yield from tool_schemas(data)


def _list_recorded(source: str) -> Iterator[str]:
    from carob.evidence.exports.reading import read_conversations

    for conversation in read_conversations([source]):
        trace = conversation.trace
        for turn in trace.turns or (trace,):
            yield from turn.tool_schemas
            yield from (call.name for call in (*turn.setup_calls, *turn.tool_calls))
