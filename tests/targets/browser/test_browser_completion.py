"""Each way of knowing that an answer is complete, and what is taken for it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Playwright

from karat.targets import chromium
from karat.targets.base import TargetError
from karat.targets.browser_options import Complete
from karat.targets.browser_watch import Watch, Work

from .conftest import ask, opened
from .stub import Stub

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOT = {"selector": ".bot"}


@pytest.mark.parametrize("answer", [pytest.param(BOT, id="place"), pytest.param(None, id="no-place")])
@pytest.mark.parametrize(
    ("how", "complete"),
    [
        pytest.param("busy", {"busy": "#out"}, id="aria-busy"),
        pytest.param("gone", {"gone": "Thinking..."}, id="gone-text"),
        pytest.param("spinner", {"spinner": "#spin"}, id="spinner"),
        pytest.param("quiet", {"quiet_ms": 700}, id="quiet"),
        pytest.param("busy", {"busy": "#out", "quiet_ms": 100}, id="busy-and-quiet"),
    ],
)
async def test_the_whole_answer_is_waited_for(
    stub: Stub, how: str, complete: dict[str, Any], answer: dict[str, str] | None
) -> None:
    async with opened(stub.url, f"/chat?how={how}", complete=complete, answer=answer) as target:
        assert (await ask(target, "stream it please")).final_message == "one two three"


async def test_a_telemetry_event_ends_the_turn(logging_stub: Stub) -> None:
    telemetry = {"log": str(logging_stub.log), "end_source": "turn", "end_event": "end"}
    logging_stub.late = 2.5
    async with opened(logging_stub.url, complete={"event": True}, telemetry=telemetry, answer=BOT) as target:
        trace = await ask(target, "drip it please")
    assert trace.final_message == "one two three", "the pauses are longer than the page may lag behind"
    assert [str(call) for call in trace.tool_calls] == ["look (success)"]


async def test_a_page_that_never_shows_its_work_is_known_by_its_rest(stub: Stub) -> None:
    async with opened(stub.url, "/chat?how=quiet", complete={"busy": "#out"}, answer=BOT) as target:
        assert (await ask(target, "stream it please")).final_message == "one two three"


async def test_no_answer_is_a_time_out_unless_the_work_is_seen_to_be_over(stub: Stub) -> None:
    async with opened(stub.url, complete={"quiet_ms": 100}, wait_ms=1500) as target:
        with pytest.raises(TargetError, match="no complete answer within 1500 ms") as caught:
            await ask(target, "say  ")
        assert caught.value.kind == "timeout"
    async with opened(stub.url, "/chat?how=busy", complete={"busy": "#out"}, answer=BOT) as target:
        assert (await ask(target, "say  ")).final_message == ""


async def test_work_that_is_over_at_once_is_seen(stub: Stub, driver: Playwright) -> None:
    path = chromium.find("", driver.chromium.executable_path)
    browser = await driver.chromium.launch(executable_path=path, args=chromium.arguments())
    page = await browser.new_page()
    await page.goto(f"{stub.url}/chat?how=busy")
    watch = Watch(page, Complete(busy="#out", gone="Thinking..."))
    await watch.begin()
    assert await watch.state() == Work(seen=False, over=True)
    await page.evaluate("() => { for (const on of ['true', 'false']) at('out').setAttribute('aria-busy', on) }")
    await page.evaluate("() => { bubble('wait', 'Bot: thinking…').id = 'wait' }")
    assert await watch.state() == Work(seen=True, over=False), "both signs were seen, one still shows"
    await page.evaluate("() => at('wait').remove()")
    assert await watch.state() == Work(seen=True, over=True)
    await page.evaluate("() => bubble('bot', 'I was thinking... of you')")
    assert await watch.state() == Work(seen=True, over=True), "an answer that speaks of thinking is not at work"
    await page.goto(f"{stub.url}/chat?how=busy")
    assert await watch.state() == Work(seen=True, over=True), "a new page is a sign of work, too"
    await browser.close()
