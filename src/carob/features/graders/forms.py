"""A trace as graders want it: the record itself, messages as chat completions have them, or plain parts of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any, Final

import msgspec

from carob.model.trace import ToolCall, Trace

Messages = list[dict[str, Any]]
SYSTEM: Final = ("system", "developer")
_decode = msgspec.msgpack.Decoder(Trace).decode
_encoder = msgspec.msgpack.Encoder(enc_hook=str)


def encode_trace(trace: Trace) -> bytes:
    """A trace as bytes, which say what it is and from which each grader gets its own copy."""
    return _encoder.encode(trace)


class GraderInput:
    """What a grader may ask for. Each part is made anew, so that what a grader changes is changed for it alone."""

    def __init__(self, trace: bytes, reference: bytes) -> None:
        self._trace = trace
        self._reference = reference

    @property
    def trace(self) -> Trace:
        return _decode(self._trace)

    @property
    def reference(self) -> Trace:
        """The recorded trace that the graded one was made of, and that the grader accepted."""
        return _decode(self._reference)

    @cached_property
    def read(self) -> Trace:
        """The trace for adapters, which change nothing of it."""
        return self.trace

    @cached_property
    def expected(self) -> Trace:
        """The reference for adapters, which change nothing of it."""
        return self.reference

    def expect(self, *keys: str) -> Any:
        """What the metadata of the conversation says of what is expected; None if it says nothing."""
        return next((self.expected.metadata[key] for key in keys if key in self.expected.metadata), None)

    def part(self, name: str) -> object:
        """A part by the name of a parameter."""
        return PARTS[name](self)


def messages_of(trace: Trace) -> Messages:
    """The conversation as messages of chat completions: each request of tools with its results after it."""
    messages: Messages = [{"role": m.role, "content": m.content} for m in trace.messages[:1] if m.role in SYSTEM]
    messages += [{"role": "user", "content": prompt} for prompt in trace.setup_prompts]
    number = 0
    for turn in trace.turns or (trace,):
        if turn.input:
            messages.append({"role": "user", "content": turn.input})
        for _, group in groupby(enumerate(turn.tool_calls), key=_message_of):
            calls = [call for _, call in group]
            ids = [call.id or f"call_{number + at}" for at, call in enumerate(calls)]
            number += len(calls)
            requests = [_request(call, name) for call, name in zip(calls, ids, strict=True)]
            messages.append({"role": "assistant", "content": "", "tool_calls": requests})
            messages += _results(calls, ids)
        if turn.final_message:
            messages.append({"role": "assistant", "content": turn.final_message})
    return messages


def calls_of(trace: Trace) -> list[dict[str, Any]]:
    """The tool calls as plain objects."""
    return [
        {"name": call.name, "arguments": call.arguments, "result": call.result, "error": call.error,
         "success": call.success}
        for call in trace.tool_calls
    ]  # fmt: skip


def text_of_result(call: ToolCall) -> str:
    """What a tool returned, as text."""
    value = call.error if call.error else call.result
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _message_of(numbered: tuple[int, ToolCall]) -> object:
    """Calls of one message were requested together; of others it is not known."""
    return numbered[1].message or numbered[0]


def _request(call: ToolCall, name: str) -> dict[str, Any]:
    arguments = json.dumps({} if call.arguments is None else call.arguments, default=str, ensure_ascii=False)
    return {"id": name, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _results(calls: list[ToolCall], ids: list[str]) -> Iterator[dict[str, Any]]:
    for call, name in zip(calls, ids, strict=True):
        if call.result is not None or call.error:
            yield {"role": "tool", "tool_call_id": name, "name": call.name, "content": text_of_result(call)}


PARTS: Final[Mapping[str, Callable[[GraderInput], object]]] = {
    "trace": lambda given: given.trace,
    "messages": lambda given: messages_of(given.trace),
    "outputs": lambda given: messages_of(given.trace),
    "reference": lambda given: given.reference,
    "reference_messages": lambda given: messages_of(given.reference),
    "reference_outputs": lambda given: given.expect("reference_outputs") or messages_of(given.reference),
    "prompt": lambda given: given.read.input,
    "input": lambda given: given.read.input,
    "inputs": lambda given: given.read.input,
    "answer": lambda given: given.read.final_message,
    "output": lambda given: given.read.final_message,
    "response": lambda given: given.read.final_message,
    "final_message": lambda given: given.read.final_message,
    "tool_calls": lambda given: calls_of(given.trace),
    "metadata": lambda given: given.trace.metadata,
    "case_id": lambda given: given.read.case_id,
}
"""What a parameter of this name is given."""
