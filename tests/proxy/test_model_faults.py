"""Faults of models on their way through the proxy: what real SDKs make of them, in every API, plain and streamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from google.genai import errors as gemini

from carob.model.faults import Fault
from carob.proxy.faults.world import CaseWorld
from evidence.test_model_traffic import RULES, every_api, plain_and_streamed, served

ANY = {"rules": [*RULES["rules"][:3], {"when": {"user": "balance", "results": "any"}, "say": "I cannot."}]}
ASKED = "What is the balance of A1?"


def world(kind: str, value: object = True, **more: Any) -> CaseWorld:
    return CaseWorld(faults=[Fault(hits="model", kind=kind, value=value, **more)])


Shape = Callable[[Any], object]
RATE_LIMITS: dict[str, tuple[type[Exception], Shape, object]] = {
    "chat": (openai.RateLimitError, lambda e: (e.code, e.type), ("rate_limit_exceeded", "requests")),
    "responses": (openai.RateLimitError, lambda e: (e.code, e.type), ("rate_limit_exceeded", "requests")),
    "messages": (anthropic.RateLimitError, lambda e: e.body["error"]["type"], "rate_limit_error"),
    "gemini": (gemini.ClientError, lambda e: (e.code, e.status), (429, "RESOURCE_EXHAUSTED")),
}
TOO_LONG: dict[str, tuple[type[Exception], Shape, object]] = {
    "chat": (openai.BadRequestError, lambda e: (e.code, e.param), ("context_length_exceeded", "messages")),
    "responses": (openai.BadRequestError, lambda e: (e.code, e.param), ("context_length_exceeded", "input")),
    "messages": (anthropic.BadRequestError, lambda e: "prompt is too long" in str(e), True),
    "gemini": (gemini.ClientError, lambda e: (e.status, "token count" in str(e)), ("INVALID_ARGUMENT", True)),
}


@every_api
@plain_and_streamed
def test_errors_have_the_shape_of_their_provider(api: str, stream: bool) -> None:
    for kind, value, shapes in (("status", 429, RATE_LIMITS), ("context_length", True, TOO_LONG)):
        surroundings = world(kind, value)
        kind_of_error, shape, expected = shapes[api]
        with served(world=surroundings) as here:
            with pytest.raises(kind_of_error) as caught:
                here.agent(api, stream=stream).say(ASKED)
            assert shape(caught.value) == expected
            assert not here.model.requests, "it never reached the model"
            assert [call.kind for call in surroundings.altered] == [kind]


@every_api
@plain_and_streamed
def test_an_agent_that_tries_again_gets_through(api: str, stream: bool) -> None:
    surroundings = world("status", 429, times=2, retry_after=0.01)
    with served(world=surroundings) as here:
        answer = here.agent(api, stream=stream, retries=2).say(ASKED)
        reading = here.read(answer)
        assert answer == "You have 12.50."
        assert [(call.name, call.arguments) for call in reading.calls] == here.log.ran
        assert [(one.kind, one.call) for one in surroundings.altered] == [("status", 1), ("status", 2)]


@every_api
@plain_and_streamed
def test_a_refusal_and_an_empty_reply(api: str, stream: bool) -> None:
    for kind, value, words in (("refusal", "That is not for me.", "That is not for me."), ("empty", True, "")):
        surroundings = world(kind, value)
        with served(world=surroundings) as here:
            assert here.agent(api, stream=stream).say(ASKED) == words
            assert (here.log.ran, len(surroundings.altered)) == ([], 1)
            assert len(here.model.requests) == (kind == "empty")


@every_api
@plain_and_streamed
def test_calls_of_tools_that_do_not_exist_or_with_bad_arguments(api: str, stream: bool) -> None:
    for kind, value in (("unknown_tool", True), ("bad_tool_arguments", True), ("bad_tool_arguments", {"account": 7})):
        surroundings = world(kind, value, times=1)
        with served(ANY, surroundings) as here:
            agent = here.agent(api, stream=stream)
            if (api, stream, value) == ("messages", True, True) and kind == "bad_tool_arguments":
                with pytest.raises(ValueError, match="JSON"):  # the SDK itself reads them
                    agent.say(ASKED)
                continue
            answer = agent.say(ASKED)
            (call,) = here.read(answer).calls
            assert len(surroundings.altered) == 1
            assert surroundings.altered[0].before != surroundings.altered[0].after
            if kind == "unknown_tool":
                assert (here.log.ran, call.name, call.called) == ([], "get_balance_v2", False)
            elif value is True:
                assert ("get_balance", {"account": "A1"}) not in here.log.ran
                assert here.log.ran or not call.called
            else:
                assert here.log.ran == [("get_balance", value)] == [(call.name, call.arguments)]


@every_api
def test_a_fault_of_calls_waits_for_a_reply_with_a_call(api: str) -> None:
    surroundings = world("unknown_tool", times=1)
    with served(ANY, surroundings) as here:
        agent = here.agent(api)
        with pytest.raises(Exception, match="no rule"):
            agent.say("Hello")
        assert not surroundings.altered
    assert surroundings.not_reached()


BROKEN = (
    *(openai.APIError, anthropic.APIError, gemini.APIError),
    *(httpx.HTTPError, httpx2.HTTPError, ValueError, RuntimeError),
)


@every_api
@plain_and_streamed
def test_a_reply_that_breaks_off(api: str, stream: bool) -> None:
    surroundings = world("cut_stream", times=1)
    with served(world=surroundings) as here:
        with pytest.raises(BROKEN):
            here.agent(api, stream=stream).say(ASKED)
        here.read()
        assert here.log.ran == []
        assert [call.kind for call in surroundings.altered] == ["cut_stream"]
        reply = here.traffic.exchanges[0].reply
        assert reply is None or reply.torn


@every_api
def test_a_reply_that_never_comes_and_one_that_comes_late(api: str) -> None:
    surroundings = CaseWorld(
        faults=[Fault(hits="model", kind="slow", value=0.05, times=1), Fault(hits="model", kind="hang", from_call=2)]
    )
    with served(world=surroundings) as here:
        agent = here.agent(api)
        if api == "gemini":
            agent.client._api_client._http_options.timeout = 300
        else:
            agent.client = agent.client.with_options(timeout=0.3)
        with pytest.raises((openai.APITimeoutError, anthropic.APITimeoutError, httpx.TimeoutException)):
            agent.say(ASKED)
        assert [call.kind for call in surroundings.altered] == ["slow", "hang"]
        assert len(here.log.ran) == 1
        here.read()
        assert not here.run.is_busy, "who hangs up is no longer waited for"


def test_only_the_model_that_is_named_is_hit() -> None:
    surroundings = world("status", 500, name="other-*")
    with served(world=surroundings) as here:
        assert here.agent("chat").say(ASKED) == "You have 12.50."
    assert surroundings.not_reached()
