"""Runs of AgentDojo: one file per run, as it writes them, or a line for each run of a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Required, TypedDict

import yaml

from carob.evidence.exports.record import RecordedCase
from carob.evidence.exports.results import ResultReader
from carob.providers.messages import read_call_entry
from carob.suites.shapes.foreign import require_type

BENCHMARK = "agent-dojo"
DELIMITERS = ("<<", ">>")
"""What a defence puts around every result."""
_Content = str | list[dict[str, Any]] | None


class _Function(TypedDict):
    name: str
    arguments: str | dict[str, Any]


class _Call(TypedDict, total=False):
    function: Required[str | _Function]
    args: dict[str, Any]


class _Message(TypedDict, total=False):
    role: Required[str]
    content: _Content
    tool_calls: list[_Call] | None
    error: str | None


class _About(TypedDict, total=False):
    suite_name: str
    user_task_id: str | None
    injection_task_id: str | None


class _Run(_About, total=False):
    messages: list[_Message]
    metadata: _About


def _is_run(row: Mapping[str, Any]) -> bool:
    """Whether a row has the ids of its tasks, next to its messages or in `metadata`."""
    about = find_about(row)
    return about.get("benchmark") == BENCHMARK or ("messages" in row and {"suite_name", "user_task_id"} <= {*about})


def _read(run: Any) -> Iterator[RecordedCase]:
    if "messages" in run:
        require_type(run, _Run)
        yield RecordedCase(name_run(find_about(run)), read_run(run["messages"]))


RUNS = ResultReader(_read, accepts=_is_run)


def find_about(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a run says of itself."""
    about = run.get("metadata")
    return about if isinstance(about, Mapping) else run


def name_run(about: Mapping[str, Any]) -> str:
    """The id of its case: the suite, the task of the user, and that of the attacker if there is one."""
    return "-".join(filter(None, (about.get("suite_name"), about.get("user_task_id"), about.get("injection_task_id"))))


def read_run(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The short form of a run. A call without a result was asked for, and its end was not written down."""
    if not messages:
        return {"error": "the run broke before there was a message"}
    calls: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    for message in messages:
        asked = [_read_call(call) for call in message.get("tool_calls") or ()]
        calls += asked
        waiting += asked
        if message["role"] == "tool" and waiting:
            _end(waiting.pop(0), message)
    prompt = next((_text_of(message) for message in messages if message["role"] == "user"), "")
    answer = _text_of(messages[-1]) if messages[-1]["role"] == "assistant" else ""
    return {"input": prompt, "final_message": answer, "tool_calls": calls}


def _read_call(call: Mapping[str, Any]) -> dict[str, Any]:
    asked = read_call_entry(call)
    if asked is None:
        raise ValueError("a call has no name")
    arguments = {"": asked.arguments} if isinstance(asked.arguments, str) and asked.arguments else asked.arguments
    return {"name": asked.name, "arguments": arguments or {}, "unfinished": True}


def _end(call: dict[str, Any], message: Mapping[str, Any]) -> None:
    del call["unfinished"]
    call["success"] = not message.get("error")
    if message.get("error"):
        call["error"] = message["error"]
    call["result"] = read_result(_text_of(message))


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("content") or part.get("text") or "") for part in content)


def read_result(text: str) -> object:
    """The records of a result, which its tools write as YAML; other text stays text."""
    text = text.removeprefix(DELIMITERS[0]).removesuffix(DELIMITERS[1])
    try:
        value = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError):
        return text
    return json.loads(json.dumps(value, default=str)) if isinstance(value, dict | list) else text
