"""What an MCP server asks a person while it works on a call, from the messages to what rules make of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carob.evidence import mcp_calls
from carob.evidence.conversation_events import read_conversation
from carob.evidence.mcp_calls import AT_AN_ADDRESS, NO_YES, TOO_MANY, WHICH_CALL, McpExchange, McpTraffic, ProxiedCall
from carob.model.trace import ToolCall, Trace
from carob.rules.monitor import judge_events
from rules.lines import contract

SESSION = {"mcp-session-id": "s"}
PAY = {"name": "pay", "arguments": {"amount": 80}}
ACCEPT, DECLINE, CANCEL = ({"action": action} for action in ("accept", "decline", "cancel"))


def encode(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def send_call(traffic: McpTraffic, call_id: int = 1, headers: dict[str, str] = SESSION, **more: Any) -> McpExchange:
    return traffic.ask(headers, encode(id=call_id, method="tools/call", params={**PAY, **more}), "")


def send_answer(traffic: McpTraffic, question_id: object, headers: dict[str, str] = SESSION, **answer: Any) -> None:
    traffic.ask(headers, encode(id=question_id, **answer), "")


def ask(exchange: McpExchange, question_id: object = 0, **params: Any) -> None:
    exchange.read(encode(id=question_id, method="elicitation/create", params={"message": "Pay?", **params}))


def end(exchange: McpExchange, call_id: int = 1, text: str = "Paid.") -> None:
    exchange.read(encode(id=call_id, result={"content": [{"type": "text", "text": text}]}))


def open_stream(traffic: McpTraffic, headers: dict[str, str] = SESSION) -> McpExchange:
    return traffic.ask(headers, b"", "")


def outcomes(proxied: ProxiedCall) -> list[str]:
    return [approval.doubt or approval.answer for approval in proxied.call.approvals]


CHOICE = {"requestedSchema": {"properties": {"answer": {"type": "string", "enum": ["pay", "yes", "leave"]}}}}


@pytest.mark.parametrize(
    ("params", "answer", "expected"),
    [
        ({}, {"result": ACCEPT}, "approved"),
        ({}, {"result": {**ACCEPT, "content": None}}, "approved"),
        ({}, {"result": {**ACCEPT, "content": {"confirm": True}}}, "approved"),
        ({}, {"result": {**ACCEPT, "content": {"name": "Ada Lovelace", "amount": 0}}}, "approved"),
        ({}, {"result": {**ACCEPT, "content": {"confirm": False}}}, NO_YES),
        ({}, {"result": {**ACCEPT, "content": {"confirm": "No."}}}, NO_YES),
        ({}, {"result": {**ACCEPT, "content": {"confirm": "nein"}}}, NO_YES),
        (CHOICE, {"result": {**ACCEPT, "content": {"answer": "leave"}}}, NO_YES),
        (CHOICE, {"result": {**ACCEPT, "content": {"answer": ["leave"]}}}, NO_YES),
        (CHOICE, {"result": {**ACCEPT, "content": {"answer": "Yes"}}}, "approved"),
        ({"mode": "url"}, {"result": ACCEPT}, AT_AN_ADDRESS),
        ({"mode": "url"}, {"result": DECLINE}, "denied"),
        ({}, {"result": DECLINE}, "denied"),
        ({}, {"result": CANCEL}, "denied"),
        ({}, {"result": {"action": "later"}}, ""),
        ({}, {"result": "accept"}, ""),
        ({}, {"error": {"code": -32600, "message": "no such method"}}, ""),
    ],
)
def test_what_a_person_answered_decides(params: dict[str, Any], answer: dict[str, Any], expected: str) -> None:
    traffic = McpTraffic()
    exchange = send_call(traffic)
    ask(exchange, **params)
    send_answer(traffic, 0, **answer)
    end(exchange)
    (proxied,) = traffic
    assert outcomes(proxied) == [expected]
    # A server may say of a call that was denied that all went well: whether it was carried out is not known.
    assert (proxied.call.name, proxied.call.success) == ("pay", None if expected == "denied" else True)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((ACCEPT, ACCEPT), ["approved", "approved"]),
        ((ACCEPT, DECLINE), ["approved", "denied"]),
        ((ACCEPT, None), ["approved", ""]),
        ((None, ACCEPT), ["", "approved"]),
    ],
)
def test_each_question_about_a_call_has_its_own_answer(answers: tuple[Any, ...], expected: list[str]) -> None:
    traffic = McpTraffic()
    exchange = send_call(traffic)
    for number, answer in enumerate(answers):
        ask(exchange, number)
        ask(exchange, number)  # a stream that is taken up again repeats it
        if answer:
            send_answer(traffic, number, result=answer)
            send_answer(traffic, number, result=DECLINE)  # the first answer counts
    end(exchange)
    send_answer(traffic, 1, result=ACCEPT)  # and none does once the call is over
    (proxied,) = traffic
    assert outcomes(proxied) == expected


def test_a_question_on_the_stream_of_a_call_is_about_that_one() -> None:
    traffic = McpTraffic()
    first, second = send_call(traffic, 1), send_call(traffic, 2)
    ask(second)
    send_answer(traffic, 0, result=ACCEPT)
    end(first, 1)
    end(second, 2)
    assert [outcomes(proxied) for proxied in traffic] == [[], ["approved"]]


@pytest.mark.parametrize(
    ("headers", "calls", "expected"),
    [
        (SESSION, 0, []),
        (SESSION, 1, [["approved"]]),
        (SESSION, 2, [[WHICH_CALL], [WHICH_CALL]]),
        ({"mcp-session-id": "other"}, 1, [[]]),
        ({}, 1, [[]]),
    ],
)
def test_a_question_of_a_session_is_about_its_only_call(
    headers: dict[str, str], calls: int, expected: list[list[str]]
) -> None:
    traffic = McpTraffic()
    exchanges = [send_call(traffic, call_id) for call_id in range(calls)]
    ask(open_stream(traffic, headers))
    send_answer(traffic, 0, result=ACCEPT)
    for call_id, exchange in enumerate(exchanges):
        end(exchange, call_id)
    assert [outcomes(proxied) for proxied in traffic] == expected


def test_a_question_outside_any_call_is_about_none() -> None:
    traffic = McpTraffic()
    end(send_call(traffic))
    ask(open_stream(traffic))
    listing = traffic.ask(SESSION, encode(id=5, method="tools/list"), "")
    ask(listing, 7)
    assert [outcomes(proxied) for proxied in traffic] == [[]]


def test_without_sessions_equal_ids_may_be_any_question() -> None:
    traffic = McpTraffic()
    ask(send_call(traffic, 1, {}))
    ask(send_call(traffic, 2, {}))
    send_answer(traffic, 0, {}, result=ACCEPT)
    ask(open_stream(traffic, {}), 8)
    assert [outcomes(proxied) for proxied in traffic] == [[WHICH_CALL, WHICH_CALL], [WHICH_CALL, WHICH_CALL]]


def test_questions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_calls, "MOST_QUESTIONS", 2)
    traffic = McpTraffic()
    exchange = send_call(traffic)
    for number in range(9):
        ask(exchange, number)
    (proxied,) = traffic
    assert outcomes(proxied) == ["", "", TOO_MANY]


def test_a_call_that_is_sent_again_with_answers_is_one_call() -> None:
    traffic = McpTraffic()
    for state, answer in (("x", ACCEPT), ("y", DECLINE), ("z", None)):
        exchange = send_call(traffic)
        wanted = {"q": {"method": "elicitation/create", "params": {}}, "roots": {"method": "roots/list"}}
        exchange.read(
            encode(id=1, result={"resultType": "input_required", "inputRequests": wanted, "requestState": state})
        )
        if answer:
            end(send_call(traffic, 2, inputResponses={"q": answer}, requestState=state), 2)
    calls = [proxied.call for proxied in traffic]
    assert [outcomes(proxied) for proxied in traffic] == [["approved"], ["denied"], [""]]
    assert [(call.success, call.unfinished) for call in calls] == [(True, False), (None, False), (None, True)]
    end(send_call(traffic, 3, inputResponses={"q": ACCEPT}, requestState="unknown"), 3)
    assert [outcomes(proxied) for proxied in traffic][3:] == [[]]


def test_answers_to_equal_calls_may_be_those_of_either() -> None:
    traffic = McpTraffic()
    for call_id in (1, 2):
        wanted = {"q": {"method": "elicitation/create", "params": {}}}
        result = {"resultType": "input_required", "inputRequests": wanted}
        send_call(traffic, call_id).read(encode(id=call_id, result=result))
    end(send_call(traffic, 3, inputResponses={"q": ACCEPT}), 3)
    assert [outcomes(proxied) for proxied in traffic] == [[WHICH_CALL], [WHICH_CALL]]


BEFORE = {
    "each": {"call": "pay", "success": True, "arguments": {"$as": "shown"}},
    "needs": {"before": {"approved": "pay", "arguments": {"$same": "shown"}}},
}
AT_REQUEST = {"each": {"call": "pay"}, "needs": {"before": {"approved": "pay"}}}
ASKED = {"each": {"asks_approval": "pay"}, "needs": {"after": {"approved": "pay"}}}
REFUSED = {"each": {"denied": "pay"}, "forbids": {"after": {"call": "pay", "success": True}}}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        # (BEFORE, AT_REQUEST, ASKED, REFUSED)
        ((), ("broken", "broken", "not_triggered", "not_triggered")),
        ((ACCEPT,), ("held", "held", "held", "not_triggered")),
        ((ACCEPT, ACCEPT), ("held", "held", "held", "not_triggered")),
        ((DECLINE,), ("unknown", "broken", "broken", "unknown")),
        ((CANCEL,), ("unknown", "broken", "broken", "unknown")),
        ((ACCEPT, DECLINE), ("unknown", "broken", "broken", "unknown")),
        ((None,), ("broken", "broken", "broken", "not_triggered")),
        ((ACCEPT, None), ("broken", "broken", "broken", "not_triggered")),
        (({**ACCEPT, "content": {"ok": False}},), ("unknown", "unknown", "unknown", "unknown")),
    ],
)
@pytest.mark.parametrize("message", [None, "1"])
def test_rules_see_approvals_of_calls(answers: tuple[Any, ...], expected: tuple[str, ...], message: str | None) -> None:
    traffic = McpTraffic()
    exchange = send_call(traffic)
    for number, answer in enumerate(answers):
        ask(exchange, number)
        if answer:
            send_answer(traffic, number, result=answer)
    end(exchange)
    (proxied,) = traffic
    # Another call of the same message came first.
    earlier = ToolCall("look", {}, success=True, message=message, started_at=1.0, ended_at=2.0)
    of_message = ToolCall(
        **{key: getattr(proxied.call, key) for key in proxied.call.__struct_fields__} | {"message": message}
    )
    seen = Trace(case_id="a", final_message="Done.", tool_calls=(earlier, of_message), metadata={"approvals": []})
    conversation = read_conversation(seen)
    rules = (BEFORE, AT_REQUEST, ASKED, REFUSED)
    found = [judge_events(contract(rule), conversation.events, conversation.end)[0] for rule in rules]
    assert tuple(str(verdict.outcome) for verdict in found) == expected
