"""`promptfoo eval -o results.json`, `.jsonl` or `.csv`: the answers of a run, of each test, prompt and provider."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Required, TypedDict

from carob.evidence.exports.base import Table, TableRow
from carob.evidence.exports.record import RecordedCase
from carob.evidence.exports.results import ResultReader
from carob.features.importers.promptfoo.suite import describe_identity, user_messages
from carob.features.importers.promptfoo.templates import BadTemplateError, render
from carob.features.importers.promptfoo.tool_assertions import SKILL
from carob.providers.base import read_ending
from carob.providers.messages import CALL_MARKS, read_calls
from carob.suites.shapes.foreign import decode_json, require_type

_ANSWERS = re.compile(r"\[(?P<provider>[^\]]+)\] (?P<label>.*)", re.DOTALL)
_OLD_CELL = re.compile(r"\[(PASS|FAIL|ERROR)\] \([^)]*\)\s*(.*?)(?:\n\n(?:Pass|Fail) Reason: .*)?", re.DOTALL)
_ESCAPED = re.compile(r"'(?=[\s\u200b-\u200d]*[=+\-@])")
"""What promptfoo writes before a cell that a spreadsheet would take for a formula."""
_FILE = re.compile(r"\A(?:/|[A-Za-z]:\\)[^\n:]*\.(?:txt|j2|json|jsonl|ya?ml): ")
"""What it writes before a prompt of a file in a table."""


class _Prompt(TypedDict, total=False):
    raw: Required[str]


class _SkillCall(TypedDict, total=False):
    name: Required[str]
    is_error: bool


class _ResponseMetadata(TypedDict, total=False):
    skillCalls: list[_SkillCall]


class _Tokens(TypedDict, total=False):
    prompt: float
    completion: float


class _Response(TypedDict, total=False):
    output: Any
    error: str
    tokenUsage: _Tokens
    cost: float
    finishReason: str
    metadata: _ResponseMetadata


class _Provider(TypedDict, total=False):
    id: str
    label: str


class _Metadata(TypedDict, total=False):
    conversationId: str | int


class _TestCase(TypedDict, total=False):
    description: str
    metadata: _Metadata


class _Row(TypedDict, total=False):
    prompt: Required[str | _Prompt]
    provider: str | _Provider
    vars: dict[str, Any]
    testCase: _TestCase
    response: _Response
    output: Any
    error: str
    latencyMs: float
    cost: float
    testIdx: int
    promptIdx: int


def _is_result(row: Table) -> bool:
    results = row.get("results")
    is_whole = isinstance(results, dict) and isinstance(results.get("results"), list)
    is_table = isinstance(row, TableRow) and any(map(_ANSWERS.fullmatch, row.columns))
    return is_whole or is_table or {"testIdx", "promptIdx", "prompt"} <= row.keys()


def _split(row: Table) -> Iterable[Any]:
    return (row,) if isinstance(row, TableRow) or "results" not in row else row["results"]["results"]


def _read(row: Any) -> Iterator[RecordedCase]:
    if isinstance(row, TableRow):
        yield from map(_read_row, _read_cells(row.columns, row.cells))
    else:
        require_type(row, _Row)
        yield _read_row(row)


RESULTS = ResultReader(_read, _split, _is_result)


def _read_row(row: Mapping[str, Any]) -> RecordedCase:
    prompt, provider = row["prompt"], row.get("provider") or ""
    raw: str = prompt if isinstance(prompt, str) else prompt["raw"]
    test = row.get("testCase") or {}
    conversation = (test.get("metadata") or {}).get("conversationId")
    identity = describe_identity(raw, row.get("vars"), test.get("description"), conversation)
    name = provider if isinstance(provider, str) else provider.get("label") or provider.get("id") or ""
    said = tuple(user_messages(raw)) or (raw,)
    # They are written as they come in; tests that nothing else distinguishes have results in the order of tests.
    number = (row["testIdx"], row.get("promptIdx") or 0) if row.get("testIdx") is not None else None
    return RecordedCase(said[-1], _form(row), said=said, identity=identity, provider=name, number=number)


def _read_cells(columns: Sequence[str], cells: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    found = [(index, match) for index, name in enumerate(columns) if (match := _ANSWERS.fullmatch(name))]
    row = dict(zip(columns[: found[0][0]], (_unescape(cell) for cell in cells), strict=False))
    description = row.pop("Description", "")
    for index, match in found:
        text, status = cells[index], columns[index + 1 : index + 2]
        old = _OLD_CELL.fullmatch(text)
        failed = cells[index + 1] == "ERROR" if status == ["Status"] else bool(old and old[1] == "ERROR")
        answer = _unescape(text) if status == ["Status"] else old[2] if old else text
        try:
            raw = render(_FILE.sub("", match["label"]), row)
        except BadTemplateError as error:
            message = f"the prompt of the column {columns[index]!r} is not known: {error}. Use results.json"
            raise ValueError(message) from None
        response = {"error": answer or "the run contains no answer"} if failed else {"output": answer}
        test = {"description": description} if description else {}
        yield {"prompt": raw, "provider": match["provider"], "vars": row, "testCase": test, "response": response}


def _unescape(cell: str) -> str:
    return cell[1:] if _ESCAPED.match(cell) else cell


def _form(row: Mapping[str, Any]) -> dict[str, Any]:
    response = row.get("response") or {}
    output, reason = response.get("output", row.get("output")), response.get("finishReason")
    if output is None and reason is not None and not (row.get("error") or response.get("error")):
        output = ""  # the model ended without words
    if output is None:
        return {"error": row.get("error") or response.get("error") or "the run contains no answer"}
    calls = tool_calls(output)
    for used in (response.get("metadata") or {}).get("skillCalls") or ():
        skill = {"name": SKILL, "arguments": {"skill": used["name"]}, "success": not used.get("is_error")}
        calls = [*(calls or ()), skill]
    form: dict[str, Any] = {"final_message": output if isinstance(output, str) else json.dumps(output)}
    form |= {"tool_calls": calls} if calls is not None else {}
    form |= {"duration_ms": row["latencyMs"]} if row.get("latencyMs") is not None else {}
    if used := response.get("tokenUsage"):
        form["tokens"] = {"input": used.get("prompt"), "output": used.get("completion")}
    cost = response.get("cost", row.get("cost"))
    form |= {"metadata": {"cost_usd": cost}} if cost is not None else {}
    return {**form, **({"ended_by": read_ending(reason)} if reason is not None else {})}


def tool_calls(output: Any) -> list[dict[str, Any]] | None:
    """The calls that an answer asks for; None if it is words."""
    if isinstance(output, str):  # parts of a message, one after the other
        read = [decode_json(part, {"type": "text"}) for part in output.split("\n\n")]
        output = [part for entry in read for part in (entry if isinstance(entry, list) else [entry])]
        if not all(isinstance(part, dict) and not CALL_MARKS.isdisjoint(part) for part in output):
            return None
    calls = read_calls(output)
    return None if calls is None else [{"name": call.name, "arguments": call.arguments} for call in calls]
