"""The usual keys of tool calls, the words by which kinds of events are known, and small readers of values."""

from __future__ import annotations

import re
from functools import lru_cache

from karat.suites.diagnostics import Json
from karat.targets.http.streams import loads

NAMES = (
    *("tool", "tool_name", "tool_call_name", "function_name", "name", "fn"),
    *("func", "function", "action", "call", "operation", "op", "callee", "command", "skill", "method"),
)
ARGUMENTS = (
    *("arguments", "args", "input", "parameters", "params", "tool_input", "tool_args", "kwargs", "with"),
    *("action_input", "payload", "inputs", "raw_input"),
)
RESULTS = (
    *("result", "output", "out", "returned", "returns", "return", "tool_output", "observation", "value"),
    *("response", "content", "gave", "data", "outcome", "results"),
)
OUTER_RESULTS = tuple(key for key in RESULTS if key not in ("value", "response", "content", "data"))
"""Keys of a result next to the object that is the call: the others are as often words of the assistant."""
ERRORS = ("error", "err", "errors", "exception", "exc", "failure", "error_message", "errorMessage", "errorText")
IDS = ("tool_call_id", "call_id", "tool_use_id", "invocation_id", "ref", "id", "uid", "call", "cid", "index", "key")
INSIDE = ("function", "func", "tool", "call", "tool_call", "toolCall", "function_call", "functionCall")
"""Keys of an object in a call that says what is called."""
CARRIERS = ("data", "payload", "body", "params", "attributes", "properties", "detail")
"""Keys of an object in an event that carries what the event says."""
NOT_TOOLS = frozenset(
    {"model", "agent", "node", "graph", "assistant", "author", "role", "user", "version", "provider", "session", "lang"}
    | {"sender", "from", "to", "source", "object", "format", "language", "currency", "status", "state", "id"}
)
NOT_ARGUMENTS = ("usage", "metadata", "meta", "config", "options", "settings")
NOT_CARRIERS = (*ARGUMENTS, *RESULTS, *ERRORS, *NOT_ARGUMENTS)
"""Keys of objects that are something of a call themselves, or of something else."""
TALK = re.compile(r"tool|func|\bfn|call|act(?!iv)|invo|exec|use\b|step|skill|command", re.IGNORECASE)
ENDS = re.compile(
    r"result|output|out\b|return|respon|observ|end|done|finish|complet|success|acted|gave|answered", re.IGNORECASE
)
FAILS = re.compile(
    r"fail|error|exception|reject|denied|refus|abort|rais|threw|thrown|crash|panic|fault|unsuccess|time[ds]?_?out",
    re.IGNORECASE,
)
MEASURES = re.compile(
    r"(?:^|_)(?:ts|ms|at|seq|time|timestamp|duration|elapsed|took|latency|count|tokens?|len|size|n|i)$"
)
IDENTIFIER = re.compile(r"[A-Za-z_][\w.:/-]{0,79}")
SEVERAL_WORDS = re.compile(r"[a-z][a-z0-9]*(?:[_.:/-][A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+")


def usual_keys(value: dict[str, Json], usual: tuple[str, ...]) -> list[str]:
    """The keys of an object that are usual ones in any spelling (`call_id`, `callID`), the most usual first."""
    ranks = _ranks(usual)
    return sorted((key for key in value if _folded(key) in ranks), key=lambda key: ranks[_folded(key)])


@lru_cache
def _ranks(usual: tuple[str, ...]) -> dict[str, int]:
    return {_folded(key): rank for rank, key in reversed([*enumerate(usual)])}


@lru_cache(10_000)
def _folded(key: str) -> str:
    return re.sub(r"[_-]", "", key).lower()


def value_at(value: dict[str, Json], path: str) -> Json:
    """What a path of keys finds."""
    found: Json = value
    for plain, quoted in re.findall(r"\.(\w+)|\['([^']+)'\]", path):
        found = found.get(plain or quoted) if isinstance(found, dict) else None
    return found


def holds_object(value: Json) -> bool:
    """Whether it is an object, or JSON of one."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = loads(value)
        except ValueError:
            return False
    return isinstance(value, dict)


def is_id(value: Json) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool) and 0 < len(str(value)) <= 100


def is_measure(key: str, value: Json) -> bool:
    return isinstance(value, bool) or (isinstance(value, int | float) and MEASURES.search(key) is not None)
