"""Turns without words, words at another place than was said, and words that go before they are read."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from carob.features.browser.log import TurnLog
from carob.features.browser.options import LogOptions
from carob.targets.base import TargetError

from .conftest import IN_A_BROWSER, ask, opened, waited_in_vain
from .stub import Stub

pytestmark = IN_A_BROWSER

BUSY: dict[str, Any] = {"path": "/chat?how=busy", "complete": {"busy": "#out"}}
BOT = {"answer": {"selector": ".bot"}}
TURN = "at('go').onclick = async () => {{ work(true); {} work(false); }};"
CARD = "at('out').append(Object.assign(document.createElement('section'), {className: 'card', textContent: 'Milk'}));"
TYPO = "`answer` (.bott) matched nothing on the page, and words appeared in div.msg.bot"


async def told(stub: Stub, **options: Any) -> TargetError:
    async with opened(stub.url, **options) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi there")
    return caught.value


async def test_a_mistyped_place_is_told_with_what_is_near(stub: Stub) -> None:
    error = await told(stub, **BUSY, answer={"selector": ".bott"})
    assert str(error) == f"{TYPO}: correct `answer` [config]"


async def test_a_mistyped_place_where_nothing_shows_work_is_told_with_the_time_out(stub: Stub) -> None:
    said = f"no complete answer within {{}} ms: {TYPO} [timeout]"
    await waited_in_vain(stub.url, "/chat", "say hi there", said, answer={"selector": ".bott"})


async def test_the_card_of_a_tool_may_be_the_answer(logging_stub: Stub) -> None:
    """The log tells of a tool, so nobody can say that the place is wrong."""
    telemetry = {"log": str(logging_stub.log), "end_source": "turn", "end_event": "end"}
    logging_stub.script = TURN.format("await fetch('/say', {method: 'POST', body: 'x'});" + CARD)
    async with opened(logging_stub.url, **BUSY, **BOT, telemetry=telemetry) as target:
        trace = await ask(target, "Add milk")
    assert trace.final_message == ""
    assert trace.unobserved == {"final_message": "`answer` (.bot) matched nothing on the page"}
    assert [str(call) for call in trace.tool_calls] == ["look (success)"]
    assert "Milk" in (trace.page or "")


async def test_a_place_that_was_there_before_is_right_and_the_answer_empty(stub: Stub) -> None:
    stub.script = "bubble('bot', 'Hello!');" + TURN.format(CARD)
    async with opened(stub.url, **BUSY, **BOT) as target:
        trace = await ask(target, "Add milk")
    assert (trace.final_message, "final_message" in trace.unobserved) == ("", False)


LEAVE = {
    "load": "location.href = '/chat?how=busy&left=1'; await sleep(10000);",
    "reload": "location.reload(); await sleep(10000);",
    "route": "history.pushState({}, '', '/elsewhere'); at('out').replaceChildren();",
}


@pytest.mark.parametrize(
    "way", [next(iter(LEAVE)), *(pytest.param(way, marks=pytest.mark.thorough) for way in [*LEAVE][1:])]
)
async def test_words_are_caught_when_the_app_leaves_the_page(stub: Stub, way: str) -> None:
    stub.script = TURN.format(f"bubble('me', at('in').value); bubble('bot', 'Saved.'); await sleep(900); {LEAVE[way]}")
    async with opened(stub.url, **BUSY, **BOT) as target:
        trace = await ask(target, "Save it")
    assert trace.final_message == "Saved."
    assert trace.metadata == {"answer": "caught when the app left the page"}
    assert "final_message" not in trace.unobserved


@pytest.mark.parametrize("answer", [BOT, {}], ids=["place", "no-place"])
async def test_words_that_went_unread_are_not_an_empty_answer(stub: Stub, answer: dict[str, Any]) -> None:
    stub.script = TURN.format("history.pushState({}, '', '/elsewhere'); await sleep(300);")
    async with opened(stub.url, **BUSY, **answer) as target:
        trace = await ask(target, "Save it")
    assert trace.unobserved["final_message"] == "the app left the page before its answer could be read"


async def test_a_page_that_was_left_is_no_sign_that_the_answer_is_complete(stub: Stub) -> None:
    """Where nothing shows when the assistant works, it may only be about to say something."""
    stub.script = "at('go').onclick = () => { location.href = '/chat?left=1'; };"
    said = "no complete answer within {} ms: the app left the page before its answer could be read [timeout]"
    await waited_in_vain(stub.url, "/chat", "Save it", said, complete={"quiet_ms": 300}, **BOT)


async def test_a_time_out_tells_what_the_backend_said(stub: Stub) -> None:
    stub.script = TURN.format("await fetch('/nowhere'); await sleep(60000);")
    said = (
        'no complete answer within {} ms: the sign of work busy = "#out" still shows; the app answered 404 to '
        "GET /nowhere [timeout]"
    )
    await waited_in_vain(stub.url, prompt="say hi there", said=said, **BUSY, **BOT)


BROKEN = '{"source": "backend", "event": "stream_error", "level": "error", "data": {"why": "Rate limit reached"}}'
SAYS = f"the app's log says: {BROKEN} [agent]"


@pytest.mark.parametrize(
    ("signs", "broken"),
    [
        pytest.param([{"event": "stream_error"}], True, id="event"),
        pytest.param([{"source": "backend", "level": "error"}], True, id="two-fields"),
        pytest.param([{"text": "rate LIMIT"}], True, id="text"),
        pytest.param([{"event": "x"}, {"source": "backend", "text": "limit"}], True, id="any-of-them"),
        pytest.param([{"source": "tool.look", "level": "error"}], False, id="all-fields-must-fit"),
        pytest.param([], False, id="nobody-said-so"),
    ],
)
async def test_a_line_that_says_that_the_turn_broke(tmp_path: Path, signs: list[dict[str, str]], broken: bool) -> None:
    file = tmp_path / "log.jsonl"
    with closing(TurnLog(file, msgspec.convert({"failure": signs}, LogOptions), "")) as log:
        file.write_text(f"{BROKEN}\n")
        with pytest.raises(TargetError) if broken else nullcontext() as caught:
            log.stop_if_broken()
    assert not broken or str(caught.value) == SAYS


async def test_a_turn_that_broke_by_its_log(logging_stub: Stub) -> None:
    logging_stub.first = BROKEN
    telemetry = {"log": str(logging_stub.log), "end_source": "turn", "end_event": "end", "failure": [{"text": "limit"}]}
    async with opened(logging_stub.url, **BUSY, **BOT, telemetry=telemetry) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi")
        assert str(caught.value) == SAYS
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi", setup_prompts=("say hello",))
        assert str(caught.value) == f"setup prompt 1 of 1: {SAYS.removesuffix('[agent]')}[setup]"
