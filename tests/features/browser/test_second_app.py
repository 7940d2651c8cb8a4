"""An app that we did not write, by configuration alone: a door, a lobby, no roles, a text that says it thinks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.targets.base import TargetError

from .conftest import IN_A_BROWSER, ask, opened, waited_in_vain
from .stub import Stub

pytestmark = IN_A_BROWSER

DOOR: list[dict[str, Any]] = [
    {"fill": {"selector": "[name=user]"}, "value": "${CHAT_USER}"},
    {"fill": {"selector": "[name=word]"}, "value": "${CHAT_WORD}", "press": "Enter"},
    {"wait_for": {"text": "Welcome."}},
    {"click": {"text": "Open the chat"}},
]


@pytest.fixture
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_USER", "mira")
    monkeypatch.setenv("CHAT_WORD", "s3cret-pass")


@pytest.mark.usefixtures("_keys")
async def test_through_the_door_to_the_chat(stub: Stub) -> None:
    async with opened(stub.url, "/login", steps=DOOR, complete={"gone": "Thinking..."}) as target:
        trace = await ask(target, "stream me something", setup_prompts=("say Hello",))
    assert trace.final_message == "one two three"
    assert stub.heard == ["say Hello", "stream me something"]
    assert trace.page is not None
    assert "Hello" in (trace.page_before or "")
    assert trace.unobserved.keys() == {"tools", "telemetry"}
    assert [(m.role, m.content) for m in trace.messages] == [
        ("user", "stream me something"),
        ("assistant", "one two three"),
    ]


async def test_a_variable_that_is_not_set_is_told_before_any_case(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAT_USER", raising=False)
    with pytest.raises(ConfigError) as caught:
        async with opened(stub.url, "/login", steps=DOOR):
            pytest.fail("it opened")
    assert str(caught.value) == "the environment variable CHAT_USER is not set. Set it before the run. [config]"


@pytest.mark.usefixtures("_keys")
async def test_a_closed_door_is_an_error_that_says_which_step(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_WORD", "wrong-pass")
    said = f'step 3: "Welcome." could not be reached within {{}} ms at {stub.url}/login [agent]'
    await waited_in_vain(stub.url, "/login", "say hi", said, steps=DOOR)
    assert stub.heard == []


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"headers": {"X-Key": "open ${MAGIC}"}}, id="header"),
        pytest.param({"cookies": {"pass": "${MAGIC}"}}, id="cookie"),
    ],
)
async def test_headers_and_cookies_open_the_way(
    stub: Stub, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAGIC", "sesame")
    async with opened(stub.url, "/guarded", **options) as target:
        assert (await ask(target, "say hi")).final_message == "hi"


async def test_without_the_right_ones_the_way_is_shut(stub: Stub) -> None:
    said = f"the chat box: #in could not be reached within {{}} ms at {stub.url}/guarded [agent]"
    wrong: dict[str, Any] = {"headers": {"X-Key": "open simsalabim"}, "cookies": {"pass": "simsalabim"}}
    await waited_in_vain(stub.url, "/guarded", "say hi", said, **wrong)


async def test_a_chat_in_a_frame(stub: Stub) -> None:
    stub.page = '<h1>Hotel</h1><a>{}</a><iframe title="Chat" src="/chat?how=busy"></iframe>'.format
    options: dict[str, Any] = {"steps": [{"frame": "[title=Chat]", "wait_for": {"selector": "#go"}}]}
    options |= {"complete": {"busy": "#out"}, "answer": {"selector": ".bot"}}
    async with opened(stub.url, "/echo?page=x", frame="[title=Chat]", **options) as target:
        trace = await ask(target, "stream it", setup_prompts=("say hi",))
    assert (trace.final_message, stub.heard) == ("one two three", ["say hi", "stream it"])
    assert "Hotel" not in (trace.page or ""), "the chat is the page"
    async with opened(stub.url, "/echo?page=x", frame="h1", **options) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi")
    assert str(caught.value) == "`frame` (h1) is not a frame: name an iframe [config]"


async def test_each_case_has_a_context_and_a_conversation_of_its_own(stub: Stub) -> None:
    async with opened(stub.url, session_query="conversation") as target:
        first, second = await asyncio.gather(
            ask(target, "recall", setup_prompts=("say a", "say b")), ask(target, "recall")
        )
        assert (first.final_message, second.final_message) == ("3", "1")
        assert "Welcome" not in (second.page_before or "")
    assert len(stub.talks) == 2
    assert all(name.startswith("carob-") for name in stub.talks)


async def test_one_session_for_all_if_it_is_given(stub: Stub) -> None:
    async with opened(stub.url, session_query="conversation", session="mine") as target:
        assert target.limits.max_concurrency == 1
        await ask(target, "recall")
        assert (await ask(target, "recall")).final_message == "2"
    assert list(stub.talks) == ["mine"]


async def test_the_session_can_be_told_by_header_and_address(stub: Stub) -> None:
    options = {"headers": {"X-Talk": "{session}"}, "steps": [{"open": "/chat?conversation={session}"}]}
    async with opened(stub.url, **options, session="mine") as target:
        await ask(target, "say hi")
    assert list(stub.talks) == ["mine"]
    assert stub.headers[0]["X-Talk"] == "mine"


async def test_preconditions_are_brought_about_and_unknown_ones_are_errors(stub: Stub) -> None:
    table = {"The talk is named.": [{"open": "/chat?named=1"}], "All is well.": []}
    async with opened(stub.url, preconditions=table) as target:
        assert (await ask(target, "say hi", preconditions=("All is well.",))).final_message == "hi"
        assert (await ask(target, "say hi", preconditions=("The talk is named.",))).final_message == "Bot: hi"
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi", preconditions=("It rains.",))
        assert str(caught.value) == "precondition 'It rains.' is not defined: add it to `preconditions` [setup]"
    async with opened(stub.url) as target:
        assert (await ask(target, "say hi", preconditions=("It rains.",))).final_message == "hi"


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"space_url": "/guarded"}, id="relative", marks=pytest.mark.thorough),
        pytest.param({"space_url": "/guarded#/talk"}, id="fragment"),
        pytest.param({"space_url": "", "app_url": "${APP}/guarded?how=quiet"}, id="whole"),
    ],
)
async def test_an_address_from_the_environment(
    stub: Stub, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP", stub.url)
    settings = {"app_url": "${APP}", "cookies": {"pass": "sesame"}, "session_query": "conversation", **options}
    async with opened("app", **{"path": settings.pop("space_url"), **settings}) as target:
        assert (await ask(target, "say hi")).final_message == "hi"
    assert [name[:6] for name in stub.talks] == ["carob-"]
