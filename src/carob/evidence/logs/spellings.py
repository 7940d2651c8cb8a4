"""How logs commonly spell a tool call, apart from `tool.<name>`: by the words of its kind and the key of its name."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from carob.text.regexes import lazy
from carob.text.tool_names import is_helper

Stage = Literal["request", "call", "start", "result", "error", "other"]
"""What an event reports of a call. `call` may be its request or its start: the log does not say."""

KINDS = ("event", "type", "kind", "event_type", "eventType", "action", "op", "msg", "message", "name")
TOOLS = ("tool", "tool_name", "toolName", "toolCallName", "tool_call_name", "function_name", "functionName")
NAMES = (*TOOLS, "function", "name", "gen_ai.tool.name")
INSIDE = ("data", "payload", "params", "attributes", "tool_call", "toolCall", "call", "function_call", "properties")
OUTCOMES = ("result", "output", "success", "ok", "response")

_SOURCE = lazy.pattern(r"(?:tools?|functions?)[.:/](.+)", re.DOTALL)
_NAME_SPACE = lazy.pattern(r"\b(?:response|output|message|completion)[.:/](?=[^.:/]*(?:tool|function))", re.IGNORECASE)
"""Where a model streams a call, this says whose event it is, and not that the call has ended: `response.tool_call`."""
_CAMEL = lazy.pattern(r"(?<=[a-z])(?=[A-Z])")
_WORD = lazy.pattern(r"[a-z]+")
_ERROR = frozenset({"error", "errored", "failed", "failure", "exception"})
_END = frozenset(
    {"result", "results", "end", "ended", "output", "complete", "completed", "finish", "finished", "response"}
    | {"done", "return", "returned", "success", "succeeded"}
)
_REQUEST = frozenset(
    {"request", "requested", "requests", "proposed", "pending", "approval", "queued", "planned", "held"}
)
_START = frozenset(
    {"start", "started", "starting", "begin", "began", "begun", "running", "execute", "executing", "exec", "execution"}
    | {"invoke", "invoked", "invoking", "invocation", "input"}
)
_CALL = frozenset({"call", "calls", "calling", "called", "use", "using", "used"})
_PART = frozenset({"delta", "chunk", "args", "arguments", "progress", "update"})


class Spelled(NamedTuple):
    """A tool by its name, the stage of its call, and the object that holds the name."""

    tool: str
    stage: Stage
    inside: Mapping[str, object]


def of_source(source: str) -> str | None:
    """The tool that a source names: `tool.x`, `tools.x`, `tool:x`, `functions/x`."""
    match = _SOURCE.fullmatch(source)
    return match[1] if match else None


def read_spelling(top: Mapping[str, object]) -> Spelled | None:
    """The tool call that an object reports in a common spelling, or None."""
    for kind in _texts(top, KINDS):
        about, stage = _stage(kind[:200])
        if about and stage is not None:
            return _find_named(top, stage)
    tool = next(_texts(top, TOOLS), None)
    if tool is None:
        return None
    stages = (_stage(kind[:200])[1] for kind in _texts(top, KINDS))
    first_stage = next((stage for stage in stages if stage is not None), None)
    return Spelled(tool, first_stage or ("result" if any(key in top for key in OUTCOMES) else "call"), top)


def speaks_of_calls(line: str) -> bool:
    """Whether a line speaks of a tool or function call, in whatever form."""
    return _TALK.search(line) is not None


def asks_in_words(words: str, known_tools: Collection[str] = ()) -> bool:
    """Whether a model asks in its words for a tool that is none of the known ones, or, if none is known, in code."""
    names = [name for match in _ACTION.finditer(words) if (name := next(filter(None, match.groups()), ""))]
    asks = any(name not in known_tools and not is_helper(name) for name in (*names, *_names_called_in_code(words)))
    return asks or (not known_tools and _CODE.search(words) is not None)


def _names_called_in_code(words: str) -> Iterator[str]:
    """The functions that code in a text calls by their bare names, without those of Python and its own."""
    for block in _CODE_BLOCK.finditer(words):
        own = {found[1] for found in _DEFINED.finditer(block[0])}
        for found in _CALLED.finditer(block[0]):
            if found[1] not in own and not hasattr(builtins, found[1]) and not keyword.iskeyword(found[1]):
                yield found[1]


def without_marks_of_code(words: str) -> str:
    """The words of a model whose code is known to call tools that have spans: that it is code says nothing then."""
    return _CODE.sub("", words)


_ACTION = lazy.pattern(
    r"^\W{0,4}Action\s*:\W{0,4}(\w[\w.:/-]*)|[\"'](?:action|tool|tool_name|function)[\"']\s*:\s*[\"'](\w[\w.:/-]*)"
    r"|^\W{0,6}(?:next_)?tool_name\W{1,12}(\w[\w.:/-]*)|<(?:invoke|tool|function)\s+name\s*=\s*[\"']?(\w[\w.:/-]*)",
    re.IGNORECASE | re.MULTILINE,
)
_CODE_BLOCK = lazy.pattern(r"```.*?(?:```|\Z)|<(code|execute)\b.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_CALLED = lazy.pattern(r"(?<![\w.])(\w+)\s*\(")
_DEFINED = lazy.pattern(r"\b(?:def|class)\s+(\w+)|^\s*(?:from\s+\S+\s+)?import\s+(\w+)", re.MULTILINE)
_CODE = lazy.pattern(r"```|<(?:code|tool|function|invoke|execute)\b|^\W{0,4}Action\s*:", re.IGNORECASE | re.MULTILINE)

_TALK = lazy.pattern(
    r"(?:tool|function)s?[\W_]{0,3}(?:call|use[sd]?\b|using|start|invo|exec|run|result|output|error|fail|finish|name|end)"
    r"|(?:call|us|invok|execut|runn)(?:ing|ed|s|e|es)?\W{1,3}(?:the\W{1,3}|a\W{1,3})?(?:tool|function)"
    r"|\b(?:tools?|functions?)[.:/]\w|\"tools?\"\s*:",
    re.IGNORECASE,
)


def _find_named(top: Mapping[str, object], stage: Stage) -> Spelled | None:
    for table in (top, *_objects(top, INSIDE)):
        for key in NAMES:
            value = table.get(key)
            if isinstance(value, Mapping):
                value = value.get("name")
            if isinstance(value, str) and value and not (key == "name" and _stage(value[:200])[0]):
                has_outcome = stage == "call" and any(key in part for part in (top, table) for key in OUTCOMES)
                return Spelled(value, "result" if has_outcome else stage, table)
    return None


@lru_cache(maxsize=1024)
def _stage(kind: str) -> tuple[bool, Stage | None]:
    """Whether a kind is about tools, and what it reports of a call."""
    words = set(_WORD.findall(_CAMEL.sub("_", _NAME_SPACE.sub("", kind)).lower()))
    about = not words.isdisjoint({"tool", "tools"}) or {"function", "call"} <= words
    stages: tuple[tuple[Stage, frozenset[str]], ...] = (
        ("other", _PART),
        ("error", _ERROR),
        ("result", _END),
        ("request", _REQUEST),
        ("start", _START),
        ("call", _CALL),
    )
    return about, next((stage for stage, vocabulary in stages if not words.isdisjoint(vocabulary)), None)


def _texts(table: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[str]:
    return (value for key in keys if isinstance(value := table.get(key), str) and value)


def _objects(table: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[Mapping[str, object]]:
    return (value for key in keys if isinstance(value := table.get(key), Mapping))
