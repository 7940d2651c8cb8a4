"""Traffic with models as evidence: real SDKs, a scripted model, and tools whose own log is the truth."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from carob.evidence.merge import TurnEvidence
from carob.evidence.model_evidence import read_traffic, why_model_failed
from carob.evidence.model_traffic import ModelTraffic
from carob.model.trace import Tokens, ToolCall
from carob.proxy.faults.world import CaseWorld
from carob.proxy.server import CaseSession, ServiceProxy
from proxy.clients import AGENTS, SCHEMAS, SYSTEM, ToolLog
from scripted_model import ScriptedModel, serve

RULES: dict[str, Any] = {
    "rules": [
        {
            "when": {"user": r"balance of (?P<a>\w+) and (?P<b>\w+)"},
            "call": [{"get_balance": {"account": "${a}"}}, {"get_balance": {"account": "${b}"}}],
            "usage": {"input": 11, "output": 7},
        },
        {
            "when": {"user": r"balance of (?P<a>\w+)"},
            "call": {"get_balance": {"account": "${a}"}},
            "usage": {"input": 11, "output": 7},
        },
        {
            "when": {"user": "balance", "results": {"get_balance": r"(?P<sum>\d+\.\d\d)"}},
            "say": "You have ${sum}.",
            "usage": {"input": 5, "output": 3},
        },
        {"when": {"user": "pay"}, "call": {"pay": {"to": "Ann"}}, "usage": {"input": 11, "output": 7}},
        {"when": {"user": "pay", "results": "any"}, "say": "I could not pay.", "usage": {"input": 5, "output": 3}},
        {"when": {"user": "unknown"}, "call": {"fly": {}}},
        {"when": {"user": "unknown", "results": "any"}, "say": "There is no such tool."},
        {"when": {"user": "long"}, "say": "One two", "finish": "length"},
        {"when": {"user": "flaky"}, "status": 500, "times": 1},
        {"when": {"user": "flaky"}, "say": "Good day."},
        {"when": {"user": "busy"}, "status": 429},
        {"when": {"user": "."}, "say": "Good day.", "usage": {"input": 2, "output": 2}},
    ]
}


def exchanged(traffic: ModelTraffic, *messages: dict[str, Any], said: dict[str, Any], **rest: Any) -> None:
    """One exchange with a model, as OpenAI's chat has it."""
    offered = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
    body = {"model": "m", "messages": messages, "tools": offered, **rest}
    exchange = traffic.add_request("openai", "/v1/chat/completions", msgspec.json.encode(body))
    assert exchange is not None
    reply = {"choices": [{"message": {"role": "assistant", **said}, "finish_reason": "stop"}]}
    traffic.add_reply(exchange, 200, msgspec.json.encode(reply), (), torn=False)


def asking(arguments: str = '{"order": "A"}') -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": arguments}}
    return {"content": None, "tool_calls": [call]}


USER = {"role": "user", "content": "Refund A"}


@pytest.mark.parametrize(
    ("result", "success"),
    [
        pytest.param("the card has expired", None, id="the-words-of-an-exception"),
        pytest.param("", None, id="no-words"),
        pytest.param("Error: the card has expired", False, id="words-of-failure"),
        pytest.param('{"status": "paid"}', True, id="an-object"),
        pytest.param('["A-17"]', True, id="a-list"),
        pytest.param("null", True, id="null"),
        pytest.param("12.5", True, id="a-number"),
        pytest.param("{'status': 'paid'}", True, id="a-printed-object"),
    ],
)
def test_plain_text_that_only_messages_show_is_no_success(result: str, success: bool | None) -> None:
    traffic = ModelTraffic()
    exchanged(traffic, USER, said=asking())
    answered = {"role": "tool", "tool_call_id": "c1", "content": result}
    exchanged(traffic, USER, {"role": "assistant", **asking()}, answered, said={"content": "Done."})
    (call,) = read_traffic(traffic, traffic.exchanges, "Done.").calls
    assert (call.called, call.success) == (True, success)


@pytest.mark.parametrize(
    ("choice", "calls"),
    [
        pytest.param({"type": "function", "function": {"name": "refund"}}, [], id="the-model-had-to"),
        pytest.param("auto", ["refund"], id="the-model-chose"),
        pytest.param("required", ["refund"], id="any-tool"),
    ],
)
def test_a_call_whose_arguments_are_the_answer_vanishes_only_where_it_had_to_be_made(
    choice: object, calls: list[str]
) -> None:
    traffic = ModelTraffic()
    exchanged(traffic, USER, said=asking(), tool_choice=choice)
    assert [call.name for call in read_traffic(traffic, traffic.exchanges, '{"order": "A"}').calls] == calls


@pytest.mark.parametrize(
    ("client", "tool", "plugins"),
    [
        pytest.param("semantic-kernel-python/1.45.0 AsyncOpenAI/Python", "Desk-refund", {"Desk-"}, id="python"),
        pytest.param("Semantic-Kernel", "Desk-refund", {"Desk-"}, id="dotnet"),
        pytest.param("semantic-kernel-python/1.45.0", "refund", set(), id="without-a-plugin"),
        pytest.param("semantic-kernel-python/1.45.0", "a-b-c", set(), id="of-its-own"),
        pytest.param("AsyncOpenAI/Python", "get-order", set(), id="another-client"),
    ],
)
def test_semantic_kernel_puts_the_plugin_before_the_name_of_a_tool(client: str, tool: str, plugins: set[str]) -> None:
    traffic = ModelTraffic()
    offered = [{"type": "function", "function": {"name": tool}}]
    body = msgspec.json.encode({"messages": [USER], "tools": offered})
    assert traffic.add_request("openai", "/v1/chat/completions", body, client) is not None
    assert traffic.plugins == plugins


class Served:
    """A scripted model, the proxy before it, and one run of a case."""

    def __init__(self, model: ScriptedModel, world: CaseWorld | None = None) -> None:
        self.model = model
        self.traffic = ModelTraffic()
        self.run = CaseSession(traffic=self.traffic, world=world)
        upstreams = dict.fromkeys(("openai", "anthropic", "gemini"), model.url)
        self.proxy = ServiceProxy(None, upstreams, frozenset(), lambda name: self.run)
        self.log = ToolLog()

    def agent(self, api: str, *, stream: bool = False, retries: int = 0) -> Any:
        return AGENTS[api](self.proxy.url(), self.log, stream=stream, retries=retries)

    def read(self, answer: str = "", since: int = 0) -> TurnEvidence:
        for _ in range(400):  # a stream may end after the agent has its last event
            if not self.run.is_busy:
                break
            self.run.over.wait(0.005)
        return read_traffic(self.traffic, self.traffic.exchanges[since:], answer)


@contextmanager
def served(rules: dict[str, Any] = RULES, world: CaseWorld | None = None) -> Iterator[Served]:
    with serve(rules) as model:
        server = Served(model, world)
        server.proxy.open()
        try:
            yield server
        finally:
            server.run.over.set()
            server.proxy.close()


def names(calls: tuple[ToolCall, ...]) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in calls]


every_api = pytest.mark.parametrize("api", AGENTS)
plain_and_streamed = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


@every_api
@plain_and_streamed
def test_calls_are_those_of_the_tools_own_log(api: str, stream: bool) -> None:
    with served() as here:
        agent = here.agent(api, stream=stream)
        answer = agent.say("What is the balance of A1 and B2?")
        reading = here.read(answer)
        assert names(reading.calls) == here.log.ran
        assert [call.result for call in reading.calls] == [
            {"balance": "12.50", "account": "A1"},
            {"balance": "12.50", "account": "B2"},
        ]
        assert all(call.success and call.called for call in reading.calls)
        assert len({call.message for call in reading.calls}) == 1  # one reply asked for both
        assert (reading.unproved, reading.open_calls, reading.structured) == ("", (), True)
        assert reading.tokens == Tokens(16, 10)
        assert (reading.ended_by, reading.model_calls, reading.answer) == ("itself", 2, "You have 12.50.")
        assert reading.system_prompts == (SYSTEM,)
        assert set(reading.tool_schemas) == set(SCHEMAS)
        assert reading.tool_schemas["get_balance"] is not None

        # Every request repeats what was said before it: nothing of that is counted again.
        before = len(here.traffic.exchanges)
        answer = agent.say("Now pay Ann.")
        second = here.read(answer, before)
        assert names(here.read(answer).calls) == here.log.ran
        (paid,) = second.calls
        assert (paid.name, paid.success, paid.called) == ("pay", False, True)
        assert second.prompt == "Now pay Ann."
        before = len(here.traffic.exchanges)
        hello = here.read(agent.say("Hello"), before)
        assert (hello.calls, hello.unproved, hello.model_calls) == ((), "", 1)


@every_api
def test_a_tool_that_was_not_offered_is_asked_for_and_never_run(api: str) -> None:
    with served() as here:
        reading = here.read(here.agent(api).say("unknown"))
        (call,) = reading.calls
        assert (call.name, call.called, call.success) == ("fly", False, False)
        assert here.log.ran == []


@every_api
@plain_and_streamed
def test_a_retry_of_a_request_is_one_call(api: str, stream: bool) -> None:
    with served() as here:
        answer = here.agent(api, stream=stream, retries=2).say("flaky")
        reading = here.read(answer)
        assert (reading.calls, reading.model_calls, reading.unproved) == ((), 1, "")
        assert [node.error for node in reading.nodes] == ["status 500", None]


@every_api
def test_a_request_that_is_sent_twice_asks_once(api: str) -> None:
    with served() as here:
        first = here.agent(api)
        first.log = ToolLog()
        patience = first._ask
        first._ask = lambda: (patience(), patience())[1]
        answer = first.say("What is the balance of A1?")
        reading = here.read(answer)
        assert names(reading.calls) == first.log.ran == [("get_balance", {"account": "A1"})]
        assert (reading.unproved, reading.open_calls) == ("", ())


@every_api
def test_how_the_model_ended_and_what_it_lacks(api: str) -> None:
    with served() as here:
        reading = here.read(here.agent(api).say("long"))
        assert reading.ended_by.lower() in ("length", "max_tokens", "max_output_tokens")


@every_api
def test_a_model_that_fails_at_last_is_known(api: str) -> None:
    with served() as here:
        with pytest.raises(Exception, match="429"):
            here.agent(api).say("busy")
        here.read()
        assert "status 429" in why_model_failed(here.traffic.exchanges)


def test_a_call_without_a_result_is_not_proven_to_have_run() -> None:
    with served() as here:
        agent = here.agent("chat")
        agent.messages.append({"role": "user", "content": "What is the balance of A1?"})
        agent._ask()
        reading = here.read("Done.")
        (call,) = reading.calls
        assert (call.name, call.called, call.success) == ("get_balance", False, None)
        assert "no later request returns its result" in reading.open_calls[0].why
        assert "bypassed the proxy" in reading.unproved


def test_items_of_one_reply_that_was_not_seen_were_asked_for_together() -> None:
    """The Responses API gives each call as an item: those between two results are of one reply."""
    traffic = ModelTraffic()
    asked = [{"type": "function_call", "call_id": f"c{n}", "name": f"tool{n}", "arguments": "{}"} for n in range(3)]
    gave = [{"type": "function_call_output", "call_id": f"c{n}", "output": "{}"} for n in range(3)]
    items = [{"role": "user", "content": "Go."}, *asked[:2], *gave[:2], asked[2], gave[2]]
    assert traffic.add_request("openai", "/v1/responses", msgspec.json.encode({"model": "m", "input": items}))
    first, second, third = (call.message for call in traffic.calls)
    assert first == second != third


def test_agents_within_agents_have_their_own_calls() -> None:
    with served() as here:
        outer, inner = here.agent("chat"), here.agent("messages", stream=True)
        call, log = here.log.call, here.log

        def delegate(name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
            log.ran.append((name, arguments))
            inner.log = _Plain(call)
            return inner.say("What is the balance of Z9?"), False

        outer.log = _Plain(delegate)
        answer = outer.say("What is the balance of A1?")
        reading = here.read(answer)
        assert sorted(map(str, names(reading.calls))) == sorted(map(str, log.ran))
        assert len(reading.calls) == 2
        assert (reading.unproved, reading.open_calls) == ("", ())


class _Plain:
    def __init__(self, call: Any) -> None:
        self.call = call


def test_equal_ids_of_different_replies_are_different_calls() -> None:
    """Small servers count calls anew in each reply."""
    traffic = ModelTraffic()

    def ask(messages: list[Any], reply: dict[str, Any]) -> None:
        body = msgspec.json.encode({"model": "m", "messages": messages})
        exchange = traffic.add_request("openai", "/v1/chat/completions", body)
        assert exchange is not None
        finish = "tool_calls" if reply.get("tool_calls") else "stop"
        said = msgspec.json.encode({"choices": [{"message": reply, "finish_reason": finish}]})
        traffic.add_reply(exchange, 200, said, (), torn=False)

    def calls(account: str) -> dict[str, Any]:
        function = {"name": "get_balance", "arguments": f'{{"account": "{account}"}}'}
        return {"role": "assistant", "tool_calls": [{"id": "call_0", "type": "function", "function": function}]}

    def result(value: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": "call_0", "content": value}

    user = {"role": "user", "content": "A and B?"}
    shots = [{"role": "user", "content": "Like this."}, calls("X"), result("example")]
    ask([*shots, user], calls("A"))
    ask([*shots, user, calls("A"), result("1")], calls("B"))
    ask([*shots, user, calls("A"), result("1"), calls("B"), result("2")], {"role": "assistant", "content": "1 and 2"})
    reading = read_traffic(traffic, traffic.exchanges, "1 and 2")
    assert [(call.arguments["account"], call.result) for call in reading.calls] == [("A", "1"), ("B", "2")]
    assert (reading.open_calls, reading.unproved) == ((), "")


def test_the_proxy_has_the_door_of_every_server_of_carob() -> None:
    """Also where there is no tape: what a page or another program of this machine sends is not handed on."""
    with served() as here:
        place = here.proxy.address
        token = here.proxy.url().removeprefix(place)
        hello = {"content-type": "application/json"}
        refused = [
            (f"{place}/openai/v1/chat/completions", hello, 403),
            (f"{place}{token[:-1]}x/openai/v1/chat/completions", hello, 403),
            (f"{place}{token}/openai/v1/chat/completions", {**hello, "host": "evil.example"}, 421),
            (f"{place}{token}/openai/v1/chat/completions", {**hello, "origin": "https://evil.example"}, 403),
            (f"{place}{token}/openai/v1/chat/completions", {**hello, "sec-fetch-site": "cross-site"}, 403),
            (f"{place}{token}/elsewhere/v1", hello, 404),
        ]
        for url, headers, status in refused:
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(urllib.request.Request(url, b"{}", headers), timeout=5)
            with caught.value as failure:
                assert failure.code == status
        assert not here.model.requests


def test_what_is_not_understood_leaves_absence_unproved() -> None:
    traffic = ModelTraffic()
    assert traffic.add_request("openai", "/v1/embeddings", b'{"input": "x"}') is None
    others = ModelTraffic(frozenset({"mail"}))
    assert others.add_request("mail", "/messages", b'{"to": "Ann"}') is None
    assert others.add_request("mail", "/send", b'{"input": "Dear Ann"}') is None
    assert traffic.add_request("cohere", "/v2/chat", b'{"messages": []}') is not None
    assert (
        "is not the address of a model API that Carob can read" in read_traffic(traffic, traffic.exchanges, "").unproved
    )
    assert "no model request of this turn" in read_traffic(ModelTraffic(), [], "").unproved
