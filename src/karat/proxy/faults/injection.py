"""What stubs and faults make of requests to models, MCP servers and HTTP services on their way through the proxy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from threading import Event
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from msgspec import structs

from karat.evidence.models.apis import ModelApi, find_api
from karat.evidence.models.streams import Table, read_events, table
from karat.model.faults import AlteredCall, Fault
from karat.proxy import model_replies
from karat.proxy.faults.world import CallPlan, CaseWorld, FaultError, FaultTimeoutError, digest
from karat.proxy.forwarding import ForwardedRequest
from karat.proxy.replies import JSON, ServiceReply
from karat.proxy.tape.file import StreamEvent
from karat.proxy.tape.requests import read_json
from karat.system.loopback_auth import RefusedRequest
from karat.text.tool_names import is_named

CALL, LIST = "tools/call", "tools/list"
NO_TOOL, NO_ANSWER = -32602, -32001
"""Codes of JSON-RPC by which MCP servers say that there is no such tool, and clients that no answer came."""
_STATUS = re.compile(r"\s*(?:HTTP\S* )?([45]\d\d)\b")


class FaultPlan(Protocol):
    """A request for which a stub or a fault is due."""

    def apply(self, forwarded: ForwardedRequest, over: Event) -> bool:
        """Give the agent what it is to get. Whether the connection goes on."""
        ...


def plan_of(world: CaseWorld, forwarded: ForwardedRequest) -> FaultPlan | None:
    """What is to become of a request; None: nothing is done to it."""
    body = table(found.value) if (found := read_json(forwarded.request.body)) is not None else {}
    api = find_api(forwarded.path) if forwarded.request.method == "POST" else None
    if api is not None and api.fits(body):
        plan = world.begin(model_replies.model_of(body, forwarded.path), hits="model")
        if plan.fault is not None:
            return ModelFault(plan, plan.fault, api, body)
    if (tool := called_tool(body)) is not None:
        plan = world.begin_outside(tool, table(body.get("params")).get("arguments"))
        if _is_due(plan):
            return ToolFault(plan, body)
    if body.get("method") == LIST and (gone := gone_tools(world)):
        return GoneTools(world, gone)
    plan = world.begin(forwarded.service, _request_values(forwarded, body), hits="service")
    return ServiceFault(plan) if _is_due(plan) else None


def _request_values(forwarded: ForwardedRequest, body: Table) -> dict[str, object]:
    """The values of a request, by which its answer may be known to be about something else."""
    split = urlsplit(forwarded.path)
    parts = [unquote(part) for part in split.path.split("/") if part]
    return {"method": forwarded.request.method, "path": parts, "query": parse_qsl(split.query), "body": body}


def _is_due(plan: CallPlan) -> bool:
    return plan.fault is not None or not plan.runs


def _whole_reply(forwarded: ForwardedRequest, plan: CallPlan) -> ServiceReply:
    """The reply to be changed. Where none comes, the fault took no effect."""
    try:
        return forwarded.read_whole()
    except RefusedRequest:
        plan.mark_unused()
        raise


def called_tool(message: Table) -> str | None:
    """The tool that a message of MCP calls."""
    name = table(message.get("params")).get("name")
    return name if message.get("method") == CALL and isinstance(name, str) else None


class ModelFault:
    """A request to a model that a fault is for."""

    def __init__(self, plan: CallPlan, fault: Fault, api: ModelApi, body: Table) -> None:
        self._plan = plan
        self._fault = fault
        self._api = api.name
        self._join = api.join
        self._body = body

    def apply(self, forwarded: ForwardedRequest, over: Event) -> bool:
        fault, plan = self._fault, self._plan
        over.wait(plan.delay)
        if fault.kind in ("slow", "hang"):
            plan.mark_applied("", "")
            if fault.kind == "slow":
                return forwarded.pass_on()
            forwarded.wait_for_end(over.wait)
            return False
        if not plan.runs:
            plan.mark_applied("", "")
            return forwarded.send(self._instead(forwarded.path))
        reply = _whole_reply(forwarded, plan)
        changed = self._change(reply) if reply.status < 400 else None
        if changed is None:
            plan.mark_unused()
            return forwarded.send(reply)
        plan.mark_applied(_digest_of(reply), _digest_of(changed))
        cut = model_replies.cut_at(reply.events, reply.body, fault.value) if fault.kind == "cut_stream" else None
        return forwarded.send(changed, cut)

    def _instead(self, path: str) -> ServiceReply:
        fault, api = self._fault, self._api
        if fault.kind == "refusal":
            words = fault.value if isinstance(fault.value, str) else model_replies.SAYS_NO
            model = model_replies.model_of(self._body, path)
            whole = model_replies.refusal_body(api, self._body, model, words)
            streamed = model_replies.wants_stream(self._body, path)
            return _stream_reply(api, whole) if streamed else ServiceReply.of_json(200, whole)
        if fault.kind == "context_length":
            return ServiceReply.of_json(400, model_replies.too_long_body(api))
        status, wait = int(fault.value), fault.retry_after
        headers = {} if wait is None or api == "gemini" else {"retry-after": f"{wait:g}"}
        return ServiceReply.of_json(status, model_replies.error_body(api, status, retry_after=wait), headers)

    def _change(self, reply: ServiceReply) -> ServiceReply | None:
        """The reply as the fault makes it; None if there is nothing in it to change."""
        if self._fault.kind == "cut_stream":
            return reply if reply.events or reply.body else None
        streamed = bool(reply.events)
        if streamed:
            whole = self._join(read_events([one.data for one in reply.events]))
        else:
            whole = table(found.value) if (found := read_json(reply.body)) is not None else {}
        if self._fault.kind == "empty":
            whole = model_replies.empty_body(self._api, whole)
        elif not self._change_call(whole, streamed=streamed):
            return None
        return _stream_reply(self._api, whole) if streamed else ServiceReply.of_json(200, whole)

    def _change_call(self, whole: Table, *, streamed: bool) -> bool:
        calls = model_replies.calls_in(self._api, whole)
        for call in calls[:1]:
            value = self._fault.value
            if self._fault.kind == "unknown_tool":
                call["name"] = value if isinstance(value, str) else f"{call.get('name')}_v2"
            else:
                model_replies.break_arguments(self._api, call, value, streamed=streamed)
        return bool(calls)


def _stream_reply(api: str, whole: Table) -> ServiceReply:
    events = tuple(StreamEvent(0, text) for text in model_replies.split(api, whole))
    return ServiceReply(200, {"content-type": "text/event-stream"}, events=events)


def _digest_of(reply: ServiceReply) -> str:
    return digest("".join(one.data for one in reply.events) or reply.body.decode("utf-8", "replace"))


class ToolFault:
    """A call of a tool of an MCP server that a stub or a fault is for."""

    def __init__(self, plan: CallPlan, message: Table) -> None:
        self._plan = plan
        self._message = message

    def apply(self, forwarded: ForwardedRequest, over: Event) -> bool:
        over.wait(self._plan.delay)
        if not self._plan.runs:
            return forwarded.send(ServiceReply.of_json(200, self.change_answer()))
        reply = _whole_reply(forwarded, self._plan)
        said = _rpc_answer(reply, self._message.get("id"))
        if said is None:
            self._plan.mark_unused()
            return forwarded.send(reply)
        changed = self.change_answer(said)
        headers = {**reply.headers, **JSON}
        return forwarded.send(reply if changed is said else ServiceReply.of_json(200, changed, headers))

    def delay(self, over: Event) -> None:
        over.wait(self._plan.delay)

    @property
    def runs(self) -> bool:
        return self._plan.runs

    def change_answer(self, said: Table | None = None) -> Table:
        """What the agent gets, given the answer of the server if it was asked."""
        result = table(said).get("result")
        if said is not None and (not isinstance(result, Mapping) or result.get("isError") is True):
            self._plan.mark_unused()  # it failed by itself
            return said
        frame = {"jsonrpc": "2.0", "id": self._message.get("id")}
        try:
            given = self._plan.finish(result)
        except FaultError as error:
            return frame | self._error_answer(error)
        return said if said is not None and given is result else frame | {"result": _tool_result(given)}

    def _error_answer(self, error: FaultError) -> dict[str, Any]:
        if isinstance(error, FaultTimeoutError):
            return {"error": {"code": NO_ANSWER, "message": "Request timed out"}}
        if error.gone:
            return {"error": {"code": NO_TOOL, "message": f"Unknown tool: {called_tool(self._message)}"}}
        return {"result": {"content": [{"type": "text", "text": str(error)}], "isError": True}}


def _tool_result(given: object) -> dict[str, Any]:
    """A result as MCP has it; one that is not, such as that of a stub, is put into its form."""
    if isinstance(given, Mapping) and isinstance(given.get("content"), list):
        return dict(given)
    text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    whole: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": False}
    return whole | ({"structuredContent": dict(given)} if isinstance(given, Mapping) else {})


def _rpc_answer(reply: ServiceReply, asked_as: object) -> Table | None:
    """The answer to a message, in a body or a stream of events."""
    found = read_json(reply.body) if not reply.events else None
    messages = read_events([one.data for one in reply.events]) if reply.events else [table(found and found.value)]
    return next((one for one in messages if one.get("id") == asked_as and {"result", "error"} & {*one}), None)


def gone_tools(world: CaseWorld) -> dict[int, Fault]:
    """The faults by which tools are gone from the beginning, so that they are not listed either."""
    if world.in_setup:
        return {}
    gone = enumerate(world.faults)
    return {place: one for place, one in gone if (one.hits, one.kind, one.from_call) == ("tool", "gone", 1)}


def without_gone(world: CaseWorld, gone: Mapping[int, Fault], said: Table) -> Table:
    """The answer to `tools/list` without the tools that are gone."""
    listed = table(said.get("result")).get("tools")
    if not isinstance(listed, list):
        return said
    kept = list(listed)
    for place, fault in gone.items():
        for tool in [one for one in kept if is_named(fault.name, str(table(one).get("name")))]:
            kept.remove(tool)
            name = str(tool["name"])
            world.note(AlteredCall(hits="tool", name=name, call=0, kind=fault.kind, fault=place, seed=fault.seed))
    return {**said, "result": {**table(said.get("result")), "tools": kept}}


class GoneTools:
    """A request for the tools of an MCP server of which some are gone."""

    def __init__(self, world: CaseWorld, gone: Mapping[int, Fault]) -> None:
        self._world = world
        self._gone = gone

    def apply(self, forwarded: ForwardedRequest, over: Event) -> bool:
        reply = forwarded.read_whole()
        asked = read_json(forwarded.request.body)
        said = _rpc_answer(reply, table(asked and asked.value).get("id"))
        if said is None:
            return forwarded.send(reply)
        headers = {**reply.headers, **JSON}
        return forwarded.send(ServiceReply.of_json(200, without_gone(self._world, self._gone, said), headers))


class ServiceFault:
    """A request to a named service that a stub or a fault is for."""

    def __init__(self, plan: CallPlan) -> None:
        self._plan = plan

    def apply(self, forwarded: ForwardedRequest, over: Event) -> bool:
        plan, fault = self._plan, self._plan.fault
        over.wait(plan.delay)
        if fault is not None and fault.kind == "hang":
            plan.mark_applied("", "")
            forwarded.wait_for_end(over.wait)
            return False
        if fault is not None and fault.kind == "slow":
            plan.mark_applied("", "")
            return forwarded.pass_on()
        reply = _whole_reply(forwarded, plan) if plan.runs else None
        if reply is not None and reply.status >= 400:
            plan.mark_unused()  # it failed by itself
            return forwarded.send(reply)
        return forwarded.send(self._change_reply(reply))

    def _change_reply(self, reply: ServiceReply | None) -> ServiceReply:
        given = None if reply is None else _value_of(reply)
        try:
            found = self._plan.finish(given)
        except FaultError as error:
            status = self._status(error)
            said = HTTPStatus(status).phrase if str(error) == str(status) else str(error)
            return ServiceReply.of_json(status, {"error": said}, self._wait())
        if reply is None:
            return ServiceReply.of_json(200, found)
        if found is given:
            return reply
        body = found.encode() if isinstance(found, str) else msgspec.json.encode(found)
        return structs.replace(reply, body=body, events=())

    def _status(self, error: FaultError) -> int:
        fault = self._plan.fault
        if isinstance(error, FaultTimeoutError):
            return 504
        if fault is not None and fault.kind in ("status", "gone"):
            return int(fault.value) if fault.kind == "status" else 404
        named = _STATUS.match(str(error))
        return int(named[1]) if named else 500

    def _wait(self) -> dict[str, str]:
        wait = None if self._plan.fault is None else self._plan.fault.retry_after
        return {} if wait is None else {"retry-after": f"{wait:g}"}


def _value_of(reply: ServiceReply) -> object:
    """The body as data, or as text."""
    text = "".join(one.data for one in reply.events) or reply.body.decode("utf-8", "replace")
    found = read_json(reply.body)
    return text if found is None else found.value
