"""A trace of any size and content → one that can be written: UTF-8, JSON, and each channel within its cap."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import structs

from carob.model.trace import TEXT_CAP, Message, TextLoss, ToolCall, Trace, TraceError
from carob.model.workspace import WorkspaceEvidence
from carob.text import clean
from carob.text.wording import end_of, shorten

NAME_CAP = 1_000
NOTE_CAP = 1 << 14
"""For what explains a trace but is not judged: error messages, tracebacks, reasons."""

_TEXTS = ("final_message", "page", "page_before", "answer_page")
_encode = msgspec.json.Encoder().encode


def encodable(trace: Trace) -> tuple[Trace, bytes]:
    """The trace and its JSON; cleaned first if it holds what JSON or UTF-8 cannot."""
    try:
        return trace, _encode(trace)
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError):
        cleaned = check_trace(trace)
    return cleaned, _encode(cleaned)


def check_trace(trace: Trace) -> Trace:
    """The trace with every field of its type and every value one of JSON's. Raises ValueError if that cannot be."""
    alone = structs.replace(trace, turns=())
    checked = msgspec.convert(clean.jsonable(_fields(alone)), Trace)
    return structs.replace(checked, turns=tuple(map(check_trace, trace.turns)))


def cap_trace(trace: Trace) -> Trace:
    """The same trace with each channel within TEXT_CAP bytes; what was cut is named in `cuts` with its size and hash.

    Of tool calls, results are cut first and named as `tool_results`: names and successes are still whole then. If calls
    had to be left out, the tools are also unobserved: what is not in the list may still have been called. Each
    turn of a conversation has the caps of a trace.
    """
    trace, encoded = encodable(trace)
    return trace if len(encoded) <= TEXT_CAP else cap_large_trace(trace)


def cap_large_trace(trace: Trace) -> Trace:
    """`cap_trace` for a trace that is known to be encodable and large."""
    cuts = dict(trace.cuts)
    texts = {name: text for name in _TEXTS if (text := getattr(trace, name)) is not None}
    texts = {name: _text(text, name, cuts) for name, text in texts.items()}
    tool_calls = _calls(trace.tool_calls, cuts)
    dropped = {"tools": cuts["tools"].why} if len(tool_calls) < len(trace.tool_calls) else {}
    return structs.replace(
        trace,
        **texts,
        messages=_messages(trace.messages, cuts),
        tool_calls=tool_calls,
        # What large ones were given and gave is not needed: that they succeeded is what a later claim rests on.
        setup_calls=tuple(structs.replace(c, arguments=None, result=None) for c in trace.setup_calls),
        telemetry=_telemetry(trace.telemetry, cuts),
        **{name: _table(getattr(trace, name), name, cuts) for name in ("database", "state", "metadata")},
        workspace=_workspace(trace.workspace, cuts),
        spans=trace.spans[: _count_fitting([_encode(span) for span in trace.spans])[0]],
        error=_error(trace.error),
        unobserved=trace.unobserved | dropped,
        cuts=cuts,
        turns=tuple(map(cap_trace, trace.turns)),
    )


def _fields(value: object) -> object:
    """Structs as dicts, one level after the other, so that cleaning sees every string in them."""
    if isinstance(value, msgspec.Struct):
        return {name: _fields(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        return [_fields(item) for item in value]
    if isinstance(value, dict):
        return {key: _fields(item) for key, item in value.items()}
    return value


def _cut(data: bytes) -> TextLoss:
    size = len(data)
    return TextLoss(f"only the first {TEXT_CAP:,} of {size:,} bytes were kept", size, hashlib.sha256(data).hexdigest())


def _prefix(data: bytes, room: int) -> str:
    return data[: max(room, 0)].decode("utf-8", "ignore")


def _text(value: str, channel: str, cuts: dict[str, TextLoss]) -> str:
    data = value.encode()
    if len(data) <= TEXT_CAP:
        return value
    cuts[channel] = _cut(data)
    return _prefix(data, TEXT_CAP)


def _messages(messages: tuple[Message, ...], cuts: dict[str, TextLoss]) -> tuple[Message, ...]:
    encoded = [_encode(message) for message in messages]
    fitting, room = _count_fitting(encoded)
    if fitting == len(messages):
        return messages
    cuts["messages"] = _cut(b"\n".join(encoded))
    first = messages[fitting]
    torn = Message(first.role[:NAME_CAP], _prefix(first.content.encode(), room), first.name and first.name[:NAME_CAP])
    return (*messages[:fitting], torn)


def _telemetry(lines: tuple[str, ...], cuts: dict[str, TextLoss]) -> tuple[str, ...]:
    encoded = [line.encode() for line in lines]
    fitting, room = _count_fitting(encoded)
    if fitting == len(lines):
        return lines
    cuts["telemetry"] = _cut(b"\n".join(encoded))
    return (*lines[:fitting], _prefix(encoded[fitting], room))


def _calls(calls: tuple[ToolCall, ...], cuts: dict[str, TextLoss]) -> tuple[ToolCall, ...]:
    encoded = [_encode((call.arguments, call.result, call.error)) for call in calls]
    fitting, room = _count_fitting(encoded)
    if fitting < len(calls):
        cuts["tool_results"] = _cut(b"\n".join(encoded))
        torn = structs.replace(calls[fitting], arguments=None, result=_prefix(_encode(calls[fitting].result), room))
        calls = (
            *calls[:fitting],
            _cap_error(torn),
            *(_cap_error(structs.replace(call, arguments=None, result=None)) for call in calls[fitting + 1 :]),
        )
    encoded = [_encode((call.name, call.id, call.missing_fields, call.error)) for call in calls]
    fitting, _ = _count_fitting(encoded)
    if fitting < len(calls):
        cuts["tools"] = TextLoss(f"only the first {fitting:,} of {len(calls):,} tool calls were kept")
    return calls[:fitting]


def _cap_error(call: ToolCall) -> ToolCall:
    return structs.replace(call, error=call.error and call.error[:NAME_CAP])


def _count_fitting(encoded: list[bytes], room: int = TEXT_CAP) -> tuple[int, int]:
    """How many of them fit into the cap, and how many bytes of it are free for the next."""
    for index, data in enumerate(encoded):
        if len(data) > room:
            return index, room
        room -= len(data)
    return len(encoded), room


def _table(value: dict[str, object], name: str, cuts: dict[str, TextLoss]) -> dict[str, object]:
    data = _encode(value)
    if len(data) <= TEXT_CAP:
        return value
    cuts[name] = TextLoss(f"it has {len(data):,} bytes and was left out", len(data), hashlib.sha256(data).hexdigest())
    return {}


def _workspace(evidence: WorkspaceEvidence | None, cuts: dict[str, TextLoss]) -> WorkspaceEvidence | None:
    """Without the lines of files if they are too many, else of each list what fits."""
    if evidence is None or len(data := _encode(evidence)) <= TEXT_CAP:
        return evidence
    loss = _cut(data)
    bare = tuple(structs.replace(c, before_text=None, after_text=None, why_no_text=loss.why) for c in evidence.files)
    evidence = structs.replace(evidence, files=bare)
    for name in ("processes", "writes", "files", "home_files"):
        entries = getattr(evidence, name)
        fitting, _ = _count_fitting([_encode(entry) for entry in entries], TEXT_CAP // 4)
        if fitting < len(entries):
            channel = "files" if name.endswith("files") else "processes"
            cuts[channel] = TextLoss(f"only the first {fitting:,} of {len(entries):,} {name} were kept")
            evidence = structs.replace(evidence, **{name: entries[:fitting]})
    return evidence


def _error(error: TraceError | None) -> TraceError | None:
    if error is None or len(error.message) + len(error.detail) <= NOTE_CAP:
        return error
    detail = error.detail if len(error.detail) <= NOTE_CAP else end_of(error.detail[-NOTE_CAP:])
    return TraceError(error.kind, shorten(error.message, NOTE_CAP), detail)
