"""More streams of other people, for `carob init --inspect` alone: the turns of foreign_streams in other shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .foreign_streams import Shape, Step, lines, sse_bytes

NDJSON, SSE = "application/x-ndjson", "text/event-stream"
Event = dict[str, Any]


def nested_parts(steps: list[Step]) -> Iterator[Event]:
    """A delta in each event, with parts in it; a call that failed has no result and a flag."""
    yield {"id": "run_9", "delta": {"role": "assistant"}}
    for step in steps:
        part: Event
        match step.what:
            case "think":
                yield {"id": "run_9", "delta": {"thinking": {"text": step.value}}}
                continue
            case "say":
                part = {"type": "output_text", "text": step.value}
            case "call":
                function = {"name": step.name, "arguments": json.dumps(step.value)}
                part = {"type": "tool_request", "request": {"id": step.id, "function": function}}
            case "result":
                part = {"type": "tool_reply", "request_id": step.id, "value": step.value}
            case "error":
                part = {"type": "tool_reply", "request_id": step.id, "ok": False, "problem": step.value}
            case "fail":
                yield {"id": "run_9", "fault": {"code": 500, "text": step.value}}
                return
            case _:
                spent = {"prompt_tokens": step.value[0], "completion_tokens": step.value[1]}
                yield {"id": "run_9", "finish": "stop", "usage": spent}
                return
        yield {"id": "run_9", "delta": {"content": [part]}}


def apart(steps: list[Step]) -> Iterator[tuple[str, Any]]:
    """Names of SSE; arguments are next to the object that names the call, and its two ends are kinds of their own."""
    for step in steps:
        match step.what:
            case "think":
                yield "reasoning.step", {"note": step.value}
            case "say":
                yield "answer.part", {"t": step.value}
            case "call":
                yield "tool.invoked", {"call": {"cid": step.id, "tool": step.name}, "with": step.value}
            case "result":
                yield "tool.returned", {"cid": step.id, "payload": step.value, "ms": 12}
            case "error":
                yield "tool.raised", {"cid": step.id, "reason": step.value, "ms": 3}
            case "fail":
                yield "run.crashed", {"reason": step.value}
            case _:
                yield "run.closed", {"tokens": {"input": step.value[0], "output": step.value[1]}}


def by_index(steps: list[Step]) -> Iterator[Event]:
    """One key for words and for pieces of arguments, which belong to a call by a number."""
    number = -1
    for step in steps:
        match step.what:
            case "think" | "say":
                yield {"t": "think" if step.what == "think" else "text", "d": step.value}
            case "call":
                number += 1
                text = json.dumps(step.value)
                yield {"t": "fn.open", "i": number, "d": {"name": step.name, "call_id": step.id}}
                for at in range(0, len(text), 9):
                    yield {"t": "fn.args", "i": number, "d": text[at : at + 9]}
                yield {"t": "fn.close", "i": number}
            case "result":
                yield {"t": "fn.out", "call_id": step.id, "d": json.dumps(step.value)}
            case "error":
                yield {"t": "fn.out", "call_id": step.id, "d": f"Error: {step.value}"}
            case "fail":
                yield {"t": "err", "d": step.value}
            case _:
                yield {"t": "end", "u": {"input_tokens": step.value[0], "output_tokens": step.value[1]}}


def phases(steps: list[Step]) -> Iterator[Event]:
    """Flat events with a phase; errors are events of their own."""
    for step in steps:
        match step.what:
            case "think":
                yield {"phase": "plan", "note": step.value}
            case "say":
                yield {"phase": "reply", "chunk": step.value}
            case "call":
                yield {"phase": "tool_begin", "tool": step.name, "call": step.id, "input": step.value}
            case "result":
                yield {"phase": "tool_end", "call": step.id, "output": step.value}
            case "error":
                yield {"phase": "tool_error", "call": step.id, "message": step.value}
            case "fail":
                yield {"phase": "error", "message": step.value}
            case _:
                yield {"phase": "finish", "usage": {"input": step.value[0], "output": step.value[1]}}


def whole_states(steps: list[Step]) -> Iterator[tuple[str, Any]]:
    """Each event has all messages so far."""
    messages: list[Event] = [{"type": "human", "content": "Hi", "id": "h1"}]
    yield "metadata", {"run_id": "r1"}
    for number, step in enumerate(steps):
        match step.what:
            case "say":
                if messages[-1]["type"] == "ai" and not messages[-1]["tool_calls"]:
                    messages[-1]["content"] += step.value
                else:
                    messages.append({"type": "ai", "content": step.value, "id": f"a{number}", "tool_calls": []})
            case "call":
                call = {"name": step.name, "args": step.value, "id": step.id, "type": "tool_call"}
                messages.append({"type": "ai", "content": "", "id": f"a{number}", "tool_calls": [call]})
            case "result" | "error":
                status, said = ("error", step.value) if step.what == "error" else ("success", json.dumps(step.value))
                messages.append({"type": "tool", "content": said, "tool_call_id": step.id, "status": status})
            case "fail":
                yield "error", {"error": "Exception", "message": step.value}
                return
            case "end":
                yield "end", None
                return
        yield "values", {"messages": messages}


def whole_steps(steps: list[Step]) -> Iterator[Event]:
    """A step is one event with its call and its result, next to the object that is the call."""
    begun: dict[str, Step] = {}
    for step in steps:
        match step.what:
            case "think" | "say":
                yield {"step": "thought" if step.what == "think" else "final", "content": step.value}
            case "call":
                begun[step.id] = step
            case "result" | "error":
                call = begun[step.id]
                yield {
                    "step": "action",
                    "action": {"tool": call.name, "tool_input": call.value},
                    "status": "ok" if step.what == "result" else "failed",
                    "observation": step.value,
                }
            case "fail":
                yield {"step": "error", "content": step.value}
            case _:
                yield {"step": "done", "tokens": step.value[0]}


def keys_alone(steps: list[Step]) -> Iterator[Event]:
    """Each kind is a key of its own."""
    for number, step in enumerate(steps):
        event: Event
        match step.what:
            case "think":
                event = {"reasoning": step.value}
            case "say":
                event = {"answerDelta": step.value}
            case "call":
                event = {"toolInvocation": {"invocationID": step.id, "toolName": step.name, "toolInput": step.value}}
            case "result" | "error":
                succeeded = step.what == "result"
                event = {"toolOutcome": {"invocationID": step.id, "succeeded": succeeded, "output": step.value}}
            case "fail":
                event = {"fatal": step.value}
            case _:
                event = {"completed": {"inputTokens": step.value[0], "outputTokens": step.value[1]}}
        yield {"eventId": number, **event}


def codes(steps: list[Step]) -> Iterator[Event]:
    """Kinds are numbers."""
    for step in steps:
        match step.what:
            case "think" | "say":
                yield {"code": 10 if step.what == "think" else 20, "txt": step.value}
            case "call":
                yield {"code": 30, "tool": step.name, "args": step.value, "id": step.id}
            case "result":
                yield {"code": 31, "id": step.id, "result": step.value}
            case "error":
                yield {"code": 32, "id": step.id, "error": step.value}
            case "fail":
                yield {"code": 50, "error": step.value}
            case _:
                yield {"code": 99}


def updated_parts(steps: list[Step]) -> Iterator[Event]:
    """A part of the page for each call, sent again with each change of its state."""
    begun: dict[str, Step] = {}
    for step in steps:
        state: Event
        match step.what:
            case "think" | "say":
                kind = "reasoning" if step.what == "think" else "text"
                yield {"type": "part", "part": {"type": kind, "text": step.value}}
                continue
            case "call":
                begun[step.id] = step
                state = {"status": "running"}
            case "result":
                state = {"status": "completed", "output": step.value}
            case "error":
                state = {"status": "error", "error": step.value}
            case "fail":
                yield {"type": "session.error", "error": step.value}
                continue
            case _:
                yield {"type": "session.idle", "tokens": {"input": step.value[0], "output": step.value[1]}}
                continue
        state |= {"input": begun[step.id].value}
        yield {"type": "part", "part": {"type": "tool", "callID": step.id, "tool": step.name, "state": state}}


def arguments_later(steps: list[Step]) -> Iterator[tuple[str, Any]]:
    """A call begins with its name alone; a second event has all of its arguments."""
    for step in steps:
        match step.what:
            case "think":
                yield "status", {"message": "thinking"}
            case "say":
                yield "delta", {"message": step.value}
            case "call":
                yield "tool-input-start", {"toolCallId": step.id, "toolName": step.name}
                yield "tool-input-available", {"toolCallId": step.id, "toolName": step.name, "input": step.value}
            case "result":
                yield "tool-output-available", {"toolCallId": step.id, "output": step.value}
            case "error":
                yield "tool-output-error", {"toolCallId": step.id, "errorText": step.value}
            case "fail":
                yield "error", {"message": step.value}
            case _:
                yield "finish", {"usage": {"input_tokens": step.value[0], "output_tokens": step.value[1]}}


def log_lines(steps: list[Step]) -> Iterator[Event]:
    """As a logger writes: what differs is in an object of its own."""
    for step in steps:
        match step.what:
            case "think":
                yield {"level": "debug", "msg": "model.thought", "extra": {"text": step.value}}
            case "say":
                yield {"level": "info", "msg": "answer.token", "extra": {"text": step.value}}
            case "call":
                extra = {"tool": step.name, "args": step.value, "call": step.id}
                yield {"level": "info", "msg": "tool.start", "extra": extra}
            case "result":
                yield {"level": "info", "msg": "tool.end", "extra": {"call": step.id, "returned": step.value}}
            case "error":
                yield {"level": "error", "msg": "tool.end", "extra": {"call": step.id, "exc": step.value}}
            case "fail":
                yield {"level": "critical", "msg": "run.aborted", "extra": {"exc": step.value}}
            case _:
                spent = {"input_tokens": step.value[0], "output_tokens": step.value[1]}
                yield {"level": "info", "msg": "run.done", "extra": spent}


def messages(steps: list[Step]) -> Iterator[Event]:
    """Messages in which a call is next to words, and the tool answers by its name."""
    for step in steps:
        match step.what:
            case "say":
                yield {"message": {"role": "assistant", "content": step.value, "function_call": None}}
            case "call":
                call = {"name": step.name, "arguments": json.dumps(step.value)}
                yield {"message": {"role": "assistant", "content": "", "function_call": call}}
            case "result" | "error":
                said = {"error": step.value} if step.what == "error" else step.value
                yield {"message": {"role": "function", "name": step.name, "content": json.dumps(said)}}
            case "fail":
                yield {"error": {"message": step.value}}
            case "end":
                yield {"done": True}


UNUSUAL = {
    "nested-parts": Shape(NDJSON, lambda steps: lines(nested_parts(steps)), {}),
    "results-apart": Shape(SSE, lambda steps: sse_bytes(apart(steps)), {}),
    "pieces-by-index": Shape(SSE, lambda steps: sse_bytes(("", event) for event in by_index(steps)), {}),
    "phases": Shape(NDJSON, lambda steps: lines(phases(steps)), {}),
    "one-poll": Shape("application/json", lambda steps: json.dumps({"events": list(phases(steps))}).encode(), {}),
    "whole-states": Shape(SSE, lambda steps: sse_bytes(whole_states(steps)), {}),
    "whole-steps": Shape(NDJSON, lambda steps: lines(whole_steps(steps)), {}),
    "keys-alone": Shape(SSE, lambda steps: sse_bytes(("message", event) for event in keys_alone(steps)), {}),
    "codes": Shape(NDJSON, lambda steps: lines(codes(steps)), {}),
    "updated-parts": Shape(SSE, lambda steps: sse_bytes(("", event) for event in updated_parts(steps)), {}),
    "arguments-later": Shape(SSE, lambda steps: sse_bytes(arguments_later(steps)), {}),
    "log-lines": Shape(NDJSON, lambda steps: lines(log_lines(steps)), {}),
    "messages": Shape(NDJSON, lambda steps: lines(messages(steps)), {}),
}
