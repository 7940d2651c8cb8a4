"""What stubs and faults make of requests to models, MCP servers and HTTP services on their way through the proxy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from threading import Event
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from msgspec import structs

from carob.evidence.mcp_calls import CALL, LIST
from carob.model.faults import AlteredCall, Fault
from carob.providers.base import EVENT_STREAM, ModelApi, Table, read_events, table
from carob.providers.catalog import find_api
from carob.proxy.faults.world import CallPlan, CaseWorld, FaultError, FaultTimeoutError, digest
from carob.proxy.forwarding import JSON, ForwardedRequest, ServiceReply
from carob.proxy.tape.file import StreamEvent
from carob.proxy.tape.requests import read_json
from carob.proxy.tape.settings import MODELS
from carob.system.loopback_auth import RefusedRequest
from carob.text.tool_names import is_named

REFUSAL = "I'm sorry, but I can't help with that."
NO_TOOL, NO_ANSWER = -32602, -32001
"""Codes of JSON-RPC by which MCP servers say that there is no such tool, and clients that no answer came."""
_STATUS = re.compile(r"\s*(?:HTTP\S* )?([45]\d\d)\b")


class FaultPlan:
    """What is to become of a request for which a stub or a fault is due."""

    def __init__(self, plan: CallPlan) -> None:
        self._plan = plan

    def apply(self, forwarded: ForwardedRequest, over: Event) -> bool:
        """Give the agent what it is to get. Whether the connection goes on."""
        plan = self._plan
        kind = plan.fault.kind if plan.fault is not None and plan.hits != "tool" else ""
        over.wait(plan.delay)
        if kind in ("slow", "hang"):
            plan.mark_applied("", "")
            if kind == "slow":
                return forwarded.reply()
            forwarded.wait_for_end(over.wait)
            return False
        if not plan.runs:
            return forwarded.send(self._answer_instead(forwarded.path))
        try:
            reply = forwarded.read_reply()
        except RefusedRequest:
            plan.mark_unused()
            raise
        changed = self._change(reply)
        if changed is None:
            plan.mark_unused()
            return forwarded.send(reply)
        return forwarded.send(changed, self._cut(reply))

    def _answer_instead(self, path: str) -> ServiceReply:
        """The reply to a request that is not handed on."""
        raise NotImplementedError

    def _change(self, reply: ServiceReply) -> ServiceReply | None:
        """The reply as the fault makes it; None if the call failed by itself, or there is nothing in it to change."""
        raise NotImplementedError

    def _cut(self, reply: ServiceReply) -> int | None:
        """After how many events or bytes the reply is to break off."""
        return None


def find_plan(world: CaseWorld, forwarded: ForwardedRequest) -> FaultPlan | GoneTools | None:
    """What is to become of a request; None: nothing is done to it."""
    body = table(read_json(forwarded.body))
    api = find_api(forwarded.path) if forwarded.request.method == "POST" else None
    if api is not None and api.fits(body):
        plan = world.begin(api.model_of(body, forwarded.path), hits="model")
        if plan.fault is not None:
            return ModelFault(plan, plan.fault, api, body)
    if (tool := called_tool(body)) is not None:
        plan = world.begin_outside(tool, table(body.get("params")).get("arguments"))
        if plan.is_due:
            return ToolFault(plan, body)
    if body.get("method") == LIST and (faults := gone_tools(world)):
        return GoneTools(world, faults)
    plan = world.begin(forwarded.service, _request_values(forwarded, body), hits="service")
    if plan.stub is not None and forwarded.service in MODELS and plan.stub.tool != forwarded.service:
        plan.stub = None  # a pattern of tools is for no model
    return ServiceFault(plan) if plan.is_due else None


def _request_values(forwarded: ForwardedRequest, body: Table) -> dict[str, object]:
    """The values of a request, by which its answer may be known to be about something else."""
    split = urlsplit(forwarded.path)
    parts = [unquote(part) for part in split.path.split("/") if part]
    return {"method": forwarded.request.method, "path": parts, "query": parse_qsl(split.query), "body": body}


def called_tool(message: Table) -> str | None:
    """The tool that a message of MCP calls."""
    name = table(message.get("params")).get("name")
    return name if message.get("method") == CALL and isinstance(name, str) else None


class ModelFault(FaultPlan):
    """A request to a model that a fault is for."""

    def __init__(self, plan: CallPlan, fault: Fault, api: ModelApi, body: Table) -> None:
        super().__init__(plan)
        self._fault = fault
        self._api = api
        self._body = body

    def _answer_instead(self, path: str) -> ServiceReply:
        fault, api = self._fault, self._api
        self._plan.mark_applied("", "")
        if fault.kind == "refusal":
            text = fault.value if isinstance(fault.value, str) else REFUSAL
            refusal = api.refusal_body(self._body, api.model_of(self._body, path), text)
            return self._as_reply(refusal, streamed=api.wants_stream(self._body, path))
        if fault.kind == "context_length":
            return ServiceReply.of_json(400, api.too_long_body())
        status, wait = int(fault.value), fault.retry_after
        headers = {} if wait is None or api.name == "gemini" else {"retry-after": f"{wait:g}"}
        return ServiceReply.of_json(status, api.error_body(status, retry_after=wait), headers)

    def _change(self, reply: ServiceReply) -> ServiceReply | None:
        changed = self._apply_change(reply) if reply.status < 400 else None
        if changed is not None:
            self._plan.mark_applied(digest(reply.text), digest(changed.text))
        return changed

    def _apply_change(self, reply: ServiceReply) -> ServiceReply | None:
        if self._fault.kind == "cut_stream":
            return reply if reply.events or reply.body else None
        pieces = read_events([event.data for event in reply.events]) or self._api.read_stream(reply.body)
        streamed = bool(reply.events or pieces)
        message = self._api.join(pieces) if streamed else table(read_json(reply.body))
        if self._fault.kind == "empty":
            message = self._api.empty_body(message)
        elif not self._change_call(message, streamed=streamed):
            return None
        return self._as_reply(message, streamed=streamed)

    def _change_call(self, message: Table, *, streamed: bool) -> bool:
        calls = self._api.tool_calls(message)
        for _, call in calls[:1]:
            value = self._fault.value
            if self._fault.kind == "unknown_tool":
                call["name"] = value if isinstance(value, str) else f"{call.get('name')}_v2"
            else:
                self._api.break_arguments(call, value, streamed=streamed)
        return bool(calls)

    def _cut(self, reply: ServiceReply) -> int | None:
        if self._fault.kind != "cut_stream":
            return None
        value, size = self._fault.value, len(reply.events) or len(reply.body)
        is_count = isinstance(value, int) and not isinstance(value, bool) and reply.events
        return min(int(value) if is_count else max(1, size // 2), max(0, size - 1))  # never at its end

    def _as_reply(self, message: Table, *, streamed: bool) -> ServiceReply:
        if not streamed:
            return ServiceReply.of_json(200, message)
        headers = {"content-type": self._api.stream_type}
        if self._api.stream_type != EVENT_STREAM:
            return ServiceReply(200, headers, self._api.write_body(message))
        events = tuple(StreamEvent(0, text) for text in self._api.write_stream(message))
        return ServiceReply(200, headers, events=events)


class ToolFault(FaultPlan):
    """A call of a tool of an MCP server that a stub or a fault is for."""

    def __init__(self, plan: CallPlan, message: Table) -> None:
        super().__init__(plan)
        self._message = message

    def delay(self, over: Event) -> None:
        over.wait(self._plan.delay)

    @property
    def runs(self) -> bool:
        return self._plan.runs

    def change_answer(self, answer: Table | None = None) -> Table:
        """What the agent gets, given the answer of the server if it was asked."""
        result = table(answer).get("result")
        if answer is not None and (not isinstance(result, Mapping) or result.get("isError") is True):
            self._plan.mark_unused()  # it failed by itself
            return answer
        frame = {"jsonrpc": "2.0", "id": self._message.get("id")}
        try:
            changed = self._plan.finish(result)
        except FaultError as error:
            return frame | self._error_answer(error)
        return answer if answer is not None and changed is result else frame | {"result": _tool_result(changed)}

    def _answer_instead(self, path: str) -> ServiceReply:
        return ServiceReply.of_json(200, self.change_answer())

    def _change(self, reply: ServiceReply) -> ServiceReply | None:
        answer = _rpc_answer(reply, self._message.get("id"))
        return None if answer is None else _with_answer(reply, answer, self.change_answer(answer))

    def _error_answer(self, error: FaultError) -> dict[str, Any]:
        if isinstance(error, FaultTimeoutError):
            return {"error": {"code": NO_ANSWER, "message": "Request timed out"}}
        if error.gone:
            return {"error": {"code": NO_TOOL, "message": f"Unknown tool: {called_tool(self._message)}"}}
        return {"result": {"content": [{"type": "text", "text": str(error)}], "isError": True}}


def _tool_result(value: object) -> dict[str, Any]:
    """A result as MCP has it; one that is not, such as that of a stub, is put into its form."""
    if isinstance(value, Mapping) and isinstance(value.get("content"), list):
        return dict(value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": False}
    return result | ({"structuredContent": dict(value)} if isinstance(value, Mapping) else {})


def _rpc_answer(reply: ServiceReply, message_id: object) -> Table | None:
    """The answer to a message, in a body or a stream of events."""
    events = read_events([event.data for event in reply.events])
    messages = events if reply.events else [table(read_json(reply.body))]
    answers = (message for message in messages if message.get("id") == message_id)
    return next((answer for answer in answers if {"result", "error"} & {*answer}), None)


def _with_answer(reply: ServiceReply, answer: Table, changed: Table) -> ServiceReply:
    return reply if changed is answer else ServiceReply.of_json(200, changed, {**reply.headers, **JSON})


def gone_tools(world: CaseWorld) -> dict[int, Fault]:
    """The faults by which tools are gone all the time, so that they are not listed either."""
    if world.in_setup:
        return {}
    always = ("tool", "gone", 1, None)
    faults = enumerate(world.faults)
    return {index: each for index, each in faults if (each.hits, each.kind, each.from_call, each.times) == always}


def without_gone(world: CaseWorld, faults: Mapping[int, Fault], answer: Table) -> Table:
    """The answer to `tools/list` without the tools that are gone."""
    result = table(answer.get("result"))
    if not isinstance(result.get("tools"), list):
        return answer
    tools = list(result["tools"])
    for index, fault in faults.items():
        for tool in [tool for tool in tools if is_named(fault.name, str(table(tool).get("name")))]:
            tools.remove(tool)
            name = str(tool["name"])
            world.note(AlteredCall(hits="tool", name=name, call=0, kind=fault.kind, fault=index, seed=fault.seed))
    return {**answer, "result": {**result, "tools": tools}}


class GoneTools:
    """A request for the tools of an MCP server of which some are gone."""

    def __init__(self, world: CaseWorld, faults: Mapping[int, Fault]) -> None:
        self._world = world
        self._faults = faults

    def apply(self, forwarded: ForwardedRequest, over: Event) -> bool:
        reply = forwarded.read_reply()
        answer = _rpc_answer(reply, table(read_json(forwarded.body)).get("id"))
        if answer is not None:
            reply = _with_answer(reply, answer, without_gone(self._world, self._faults, answer))
        return forwarded.send(reply)


class ServiceFault(FaultPlan):
    """A request to a named service that a stub or a fault is for."""

    def _answer_instead(self, path: str) -> ServiceReply:
        return self._finish(None)

    def _change(self, reply: ServiceReply) -> ServiceReply | None:
        return self._finish(reply) if reply.status < 400 else None

    def _finish(self, reply: ServiceReply | None) -> ServiceReply:
        content = None if reply is None else read_json(reply.body)
        value = reply.text if reply is not None and content is None else content
        try:
            changed = self._plan.finish(value)
        except FaultError as error:
            status = self._status(error)
            message = HTTPStatus(status).phrase if str(error) == str(status) else str(error)
            wait = None if self._plan.fault is None else self._plan.fault.retry_after
            headers = {} if wait is None else {"retry-after": f"{wait:g}"}
            return ServiceReply.of_json(status, {"error": message}, headers)
        if reply is None:
            return ServiceReply.of_json(200, changed)
        if changed is value:
            return reply
        body = changed.encode() if isinstance(changed, str) else msgspec.json.encode(changed)
        return structs.replace(reply, body=body, events=())

    def _status(self, error: FaultError) -> int:
        fault = self._plan.fault
        if isinstance(error, FaultTimeoutError):
            return 504
        if fault is not None and fault.kind in ("status", "gone"):
            return int(fault.value) if fault.kind == "status" else 404
        status = _STATUS.match(str(error))
        return int(status[1]) if status else 500
