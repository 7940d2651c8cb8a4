"""The short form of a trace, as agents return it, commands print it and replay files hold it → Trace.

Keys: `case_id, final_message, tool_calls, tools_called, telemetry, page, page_before, messages, input, error,
duration_ms, steps, tokens, database, state, tool_schemas, ended_by, metadata, started_at, timings, attachments,
workspace, turns`.
`final_message` is needed unless `error` is there, or `turns`: a recorded conversation, each turn of it in this form.
`telemetry` holds objects or raw lines. `tools_called` is a list of names and may stand for `tool_calls`. With telemetry
alone, tool calls are derived from its `tool.<name>` events; with both, the telemetry completes the list. A key that is
left out, or null, was not observed; an empty list was observed to be empty. Without a page, or with a page of null, the
agent has none; next to a `page_before`, one that is left out was not observed.

A tool call, as the API of a model has it, or: `name, arguments|args, result, error, success,
missing_fields|missingFields, started, id, started_at, ended_at, unfinished, kind, parent, refused, exit_code`. An
error, a `success` of false or a sign of failure in the result is a failure; else a call with a `result` (null too), an
`ended_at` or a `success` succeeded; else its success is not known. With `started` of false, it was only asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from carob.evidence.logs.events import moment
from carob.evidence.merge import merge_calls, merge_telemetry, merge_turns
from carob.evidence.recorder import Recorder
from carob.model.trace import CallKind, Channel, Message, Tokens, ToolCall, Trace, TraceError
from carob.model.workspace import WorkspaceEvidence
from carob.text.clean import jsonable, table, text
from carob.text.key_names import suggest_keys
from carob.text.tool_results import call_success, missing_fields, parse_result

NO_RESULTS = "the target gave only the names of tools, not their results"
NO_TOOLS = (
    "the target gave no tool_calls, tools_called or telemetry: functions return, and commands and recordings write, "
    '{"final_message": "...", "tool_calls": [{"name": "...", "arguments": {...}, "result": ...}]}'
)
NO_TELEMETRY = (
    "the target gave no telemetry: functions, commands and recordings return its lines as `telemetry`, browser targets "
    "name the file as `telemetry.log`; for others, expect `tool_calls` instead"
)
NO_PROCESSES = "the target gave no processes"
NO_PAGE = "the target gave no page"

Name = Annotated[str, Meta(min_length=1)]
Wait = Annotated[float, Meta(ge=0)]
Span = Annotated[float, Meta(ge=0, le=1e15)]
"""A time span that was measured; JSON knows no endless one."""


class ShortError(Struct, forbid_unknown_fields=True, kw_only=True):
    message: str
    kind: str = "agent"
    detail: str = ""
    retry_after: Wait | None = None


class ShortMessage(Struct, forbid_unknown_fields=True, kw_only=True):
    role: str
    content: str | None = None
    name: str | None = None


class ShortTokens(Struct, forbid_unknown_fields=True, kw_only=True):
    input: int | None = None
    output: int | None = None


class ShortCall(Struct, forbid_unknown_fields=True, kw_only=True):
    name: Name
    arguments: Any = None
    args: Any = None
    result: Any = UNSET
    error: str | dict[str, Any] | None = None
    success: bool | None = None
    missing_fields: list[str] | None = None
    missing_fields_too: list[str] | None = field(default=None, name="missingFields")
    started: bool = True
    id: str | int | None = None
    started_at: float | str | None = None
    ended_at: float | str | None = None
    unfinished: bool = False
    kind: CallKind = "tool"
    parent: str | None = None
    message: str | int | None = None
    with_words: bool | None = None
    refused: bool = False
    exit_code: int | None = None


class Short(Struct, forbid_unknown_fields=True, kw_only=True):
    case_id: str | None = None
    final_message: str | None = None
    tool_calls: list[ShortCall] | None = None
    tools_called: list[Name] | None = None
    telemetry: list[str | dict[str, Any]] | None = None
    page: str | UnsetType | None = UNSET
    page_before: str | None = None
    messages: list[ShortMessage] | None = None
    input: str | None = None
    error: str | ShortError | None = None
    duration_ms: Span | None = None
    steps: Annotated[int, Meta(ge=0)] | None = None
    tokens: ShortTokens | None = None
    database: dict[str, Any] | None = None
    state: dict[str, Any] | None = None
    tool_schemas: dict[str, dict[str, Any] | None] | None = None
    ended_by: str | None = None
    metadata: dict[str, Any] | None = None
    started_at: float | str | None = None
    timings: dict[str, Span] | None = None
    attachments: dict[str, str] | None = None
    workspace: WorkspaceEvidence | None = None
    turns: list[Short] | None = None


_OF_ONE_TURN = tuple(name for name in Short.__struct_fields__ if name not in ("case_id", "metadata", "turns"))

Form = TypeVar("Form", bound=Struct)

_TABLES: dict[str, type[Struct]] = {
    "tool_calls": ShortCall,
    "messages": ShortMessage,
    "tokens": ShortTokens,
    "error": ShortError,
}
_UNKNOWN = re.compile(r"unknown field `(.*?)`(?: - at `\$\.(?:.*\.)?(\w+)[^.`]*`)?$", re.DOTALL)


def convert(value: object, to: type[Form]) -> Form:
    """The value as this struct. Raises ValueError with one line that names the key and the nearest known one."""
    try:
        return msgspec.convert(value, to)
    except msgspec.ValidationError as error:
        raise ValueError(_explain(str(error), to)) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read(value: object) -> Short:
    """The short form in a dict, or a ValueError as `convert` raises it."""
    return _check(convert(_respell_calls(value), Short))


def read_short_call(value: Mapping[str, object]) -> ToolCall:
    """One call of the short form. Raises ValueError."""
    return tool_call(convert(_respell_call(value), ShortCall))


def _respell_calls(value: object) -> object:
    """The same with its calls in the keys of the short form, as APIs of models do not write them."""
    if not isinstance(value, dict):
        return value
    respelled = dict(value)
    for key, respell in (("tool_calls", _respell_call), ("turns", _respell_calls)):
        if isinstance(entries := value.get(key), list):
            respelled[key] = [respell(entry) for entry in entries]
    return respelled


def _respell_call(entry: object) -> object:
    if not isinstance(entry, Mapping):
        return entry
    from carob.providers.messages import CALL_MARKS, CALL_PARTS, decode_value, read_call_entry  # where there are calls

    if CALL_MARKS.isdisjoint(entry):
        texts = {key: decode_value(entry[key]) for key in ("arguments", "args") if isinstance(entry.get(key), str)}
        return {**entry, **{key: value for key, value in texts.items() if isinstance(value, Mapping)}}
    call = read_call_entry(entry)
    if call is None:
        return entry
    rest = {key: item for key, item in entry.items() if key not in CALL_MARKS and key not in CALL_PARTS}
    return {**rest, "name": call.name, "arguments": call.arguments, "id": call.id or None}


def _check(short: Short) -> Short:
    if short.turns is not None:
        return _conversation(short)
    if short.final_message is None and short.error is None:
        raise ValueError("it has no `final_message`")
    if short.tool_calls is not None and short.tools_called is not None:
        raise ValueError("give either `tool_calls` or `tools_called`, not both")
    return short


def _conversation(short: Short) -> Short:
    """Turns hold all of a conversation: only `case_id` and `metadata` may be next to them."""
    single = [name for name in _OF_ONE_TURN if getattr(short, name) not in (None, UNSET)]
    if single or not short.turns:
        raise ValueError(
            f"`{single[0]}` cannot be combined with `turns`: set it in each turn" if single else "`turns` is empty"
        )
    for number, turn in enumerate(short.turns, 1):
        if turn.turns is not None:
            raise ValueError(f"turn {number} cannot contain turns")
        try:
            _check(turn)
        except ValueError as error:
            raise ValueError(f"turn {number}: {error}") from None
    return short


def read_trace(short: Short, case_id: str, prompt: str = "") -> Trace:
    """The trace of a recording in the short form, with its turns, and with the error in which a turn ended."""
    if short.turns:
        whole = merge_turns([read_trace(turn, case_id) for turn in short.turns])
        return structs.replace(whole, metadata={**whole.metadata, **table(short.metadata)}) if short.metadata else whole
    trace = build_turn(short, case_id, short.input or prompt)
    if short.error is None:
        return trace
    failure = read_error(short.error)
    return structs.replace(trace, error=TraceError(failure.kind, failure.message))


def read_error(error: str | ShortError) -> ShortError:
    """What an answer says went wrong, which may be a text alone."""
    return ShortError(message=error or "the agent returned an empty error") if isinstance(error, str) else error


def build_turn(short: Short, case_id: str, prompt: str, recorder: Recorder | None = None) -> Trace:
    """The trace of one turn, without its error; what the recorder holds fills in what the short form leaves out."""
    calls, telemetry = _calls(short, recorder), _telemetry(short, recorder)
    return Trace(
        case_id=case_id,
        input=prompt,
        final_message=short.final_message or "",
        messages=_messages(short, recorder),
        tool_calls=merge_telemetry(calls or (), telemetry or (), recorder.dialect if recorder else ""),
        telemetry=telemetry or (),
        page=None if short.page is UNSET else short.page,
        page_before=short.page_before,
        database=table(short.database) if short.database else {},
        state=table(short.state) if short.state else {},
        unobserved=dict(_find_unobserved(short, recorder, calls, telemetry)),
        tool_schemas=table(short.tool_schemas) if short.tool_schemas else {},
        ended_by=short.ended_by or "",
        started_at=moment(short.started_at),
        duration_ms=short.duration_ms,
        timings=short.timings or {},
        steps=short.steps,
        attachments=short.attachments or {},
        tokens=None if short.tokens is None else Tokens(short.tokens.input, short.tokens.output),
        metadata=table(short.metadata) if short.metadata else {},
        workspace=short.workspace,
    )


def _find_unobserved(
    short: Short,
    recorder: Recorder | None,
    calls: list[ToolCall] | None,
    telemetry: tuple[str, ...] | None,
) -> Iterator[tuple[Channel, str]]:
    if calls is None and telemetry is None:
        yield "tools", NO_TOOLS
    if telemetry is None:
        yield "telemetry", NO_TELEMETRY
        if short.tools_called is not None and (recorder is None or not recorder.tool_calls):
            yield "tool_results", NO_RESULTS
    if short.page is UNSET and short.page_before is not None:
        yield "page", NO_PAGE
    if short.workspace is not None and not short.workspace.processes:
        yield "processes", NO_PROCESSES


def _messages(short: Short, recorder: Recorder | None) -> tuple[Message, ...]:
    if short.messages:
        return tuple(Message(m.role, m.content or "", m.name) for m in short.messages)
    return tuple(recorder.messages) if recorder else ()


def _calls(short: Short, recorder: Recorder | None) -> list[ToolCall] | None:
    recorded_calls = recorder.tool_calls if recorder else None
    if short.tools_called is not None:
        calls = [ToolCall(name) for name in short.tools_called]
    elif short.tool_calls is not None:
        calls = [tool_call(call) for call in short.tool_calls]
    else:
        return recorded_calls
    return merge_calls(calls, recorded_calls) if recorded_calls else calls


def _telemetry(short: Short, recorder: Recorder | None) -> tuple[str, ...] | None:
    if short.telemetry is not None:
        return tuple(line for item in short.telemetry for line in event_lines(item))
    return tuple(recorder.telemetry) if recorder and recorder.telemetry is not None else None


def tool_call(call: ShortCall) -> ToolCall:
    result = None if call.result is UNSET else jsonable(call.result)
    ended = call.result is not UNSET or call.ended_at is not None
    missing = call.missing_fields if call.missing_fields is not None else call.missing_fields_too
    return ToolCall(
        call.name,
        jsonable(call.args if call.arguments is None else call.arguments),
        id=None if call.id is None else str(call.id),
        started=call.started,
        result=result,
        error=_error_text(call.error),
        success=call_success(result, raised=call.error is not None, claimed=call.success, ended=ended),
        missing_fields=missing_fields(parse_result(result)) if missing is None else tuple(missing),
        started_at=moment(call.started_at),
        ended_at=moment(call.ended_at),
        unfinished=call.unfinished or not call.started,
        kind=call.kind,
        parent=call.parent,
        message=None if call.message is None else str(call.message),
        with_words=call.with_words,
        refused=call.refused,
        exit_code=call.exit_code,
    )


def event_lines(item: str | dict[str, Any]) -> list[str]:
    """One telemetry entry as lines: an object as compact JSON, raw text as written."""
    if isinstance(item, str):
        return [line.rstrip("\r") for line in text(item).split("\n") if line.strip()]
    return [msgspec.json.encode(table(item)).decode()]


def _error_text(error: str | dict[str, Any] | None) -> str | None:
    if isinstance(error, dict):
        message = error.get("message")
        return message if isinstance(message, str) and message else msgspec.json.encode(table(error)).decode()
    return error


def _explain(message: str, to: type[Struct]) -> str:
    unknown = _UNKNOWN.search(message)
    if unknown is None:
        return message
    name, parent = unknown.groups()
    keys = _TABLES.get(parent or "", to).__struct_encode_fields__
    return f"unknown key {name!r}{f' in `{parent}`' if parent else ''}. {suggest_keys(name, keys)}".rstrip()
