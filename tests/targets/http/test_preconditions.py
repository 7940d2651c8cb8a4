"""What a case lists as preconditions is brought about by requests before its conversation begins."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.targets.base import RunContext, TargetError
from targets.conftest import case, opened

from .server import Asked, http, serving

OFF = "Slack is off."
TABLE = {
    OFF: [{"method": "GET", "url": "/?s={conversation.id}"}, {"url": "/{case.id}/off", "body": {"source": "slack"}}]
}
OPTIONS: dict[str, Any] = {"body": {"message": "{prompt}"}, "answer": "$.said", "preconditions": TABLE}


async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(http(json.dumps({"said": "Hello."}), status="500 Broken" if "broken" in asked.path else "200 OK"))


async def test_requests_are_sent_first_in_their_order_and_are_a_turn_of_their_own() -> None:
    context = RunContext()
    async with serving(answer) as server, opened(*server.target, options=OPTIONS) as target:
        trace = await target.run(case("Hi", preconditions=(OFF,)), context)
    first, second, third = server.asked
    assert (first.method, first.path) == ("GET", f"/?s={trace.metadata['conversation']}")
    assert (second.method, second.path, second.json) == ("POST", "/one/off", {"source": "slack"})
    assert third.json == {"message": "Hi"}
    assert first.headers["traceparent"] == second.headers["traceparent"] != third.headers["traceparent"]
    assert len(context.trace_context.turns) == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        pytest.param({"Another.": []}, "precondition 'Slack is off.' is not defined", id="not-in-the-table"),
        pytest.param({OFF: [{"url": "/broken"}]}, "request 1 of the precondition 'Slack is off.': ", id="refused"),
    ],
)
async def test_what_cannot_be_brought_about_is_an_error_of_the_case(table: dict[str, Any], message: str) -> None:
    options = {**OPTIONS, "preconditions": table}
    async with serving(answer) as server, opened(*server.target, options=options) as target:
        with pytest.raises(TargetError, match=message) as error:
            await target.run(case("Hi", preconditions=(OFF,)), RunContext())
    assert error.value.kind == "setup"


async def test_without_a_table_they_are_for_people_to_read() -> None:
    async with serving(answer) as server, opened(*server.target, options={**OPTIONS, "preconditions": {}}) as target:
        assert (await target.run(case("Hi", preconditions=(OFF,)), RunContext())).final_message == "Hello."
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "flawed",
    [
        {"preconditions": {OFF: [{"url": "http://elsewhere.example/"}]}},
        {"preconditions": {OFF: [{"url": "//elsewhere.example/"}]}},
        {"preconditions": {OFF: [{"url": "/{sesion}"}]}},
        {"preconditions": TABLE, "conversation": {"id": "$.id"}},
    ],
    ids=["another-host", "another-host-in-short", "no-such-place", "a-conversation-that-the-service-names"],
)
async def test_what_cannot_be_followed_is_refused(flawed: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"preconditions|conversation"):
        async with opened("http", "//127.0.0.1:9/chat", options={**OPTIONS, **flawed}):
            pass


@pytest.mark.parametrize("has_page", [False, True])
async def test_a_page_that_people_see_and_the_target_does_not(has_page: bool) -> None:
    async with serving(answer) as server, opened(*server.target, options={**OPTIONS, "has_page": has_page}) as target:
        trace = await target.run(case("Hi"), RunContext())
    assert ("page" in trace.unobserved) is has_page
