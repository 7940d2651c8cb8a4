"""Each way of knowing that an answer is complete, and what is taken for it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from carob.features.browser import page as looking
from carob.features.browser.options import Complete
from carob.features.browser.page import Watch
from carob.targets.base import TargetError

from .conftest import IN_A_BROWSER, ask, opened, waited_in_vain
from .stub import Stub

pytestmark = IN_A_BROWSER

BOT = {"selector": ".bot"}


SIGNS: dict[str, tuple[str, dict[str, Any]]] = {
    "aria-busy": ("busy", {"busy": "#out"}),
    "gone-text": ("gone", {"gone": "Thinking..."}),
    "spinner": ("spinner", {"spinner": "#spin"}),
    "quiet": ("quiet", {"quiet_ms": 700}),
    "busy-and-quiet": ("busy", {"busy": "#out", "quiet_ms": 100}),
}
FEW = ("aria-busy", "quiet")
"""One that is seen and one that is waited for: these need not know where the answer stands, either."""


@pytest.mark.parametrize(
    ("how", "complete", "answer"),
    [
        *(pytest.param(*SIGNS[name], BOT, id=name) for name in SIGNS),
        *(
            pytest.param(
                *SIGNS[name], None, id=f"{name}-no-place", marks=() if name in FEW else (pytest.mark.thorough,)
            )
            for name in SIGNS
        ),
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


async def test_a_sign_that_is_never_seen_is_an_error(stub: Stub) -> None:
    complete = {"busy": "#put", "gone": "Thinking...", "spinner": "#spin", "quiet_ms": 100}
    async with opened(stub.url, "/chat?how=quiet", complete=complete, answer=BOT) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi")
    assert str(caught.value) == (
        'the answer arrived, but the sign of work busy = "#put" and the sign of work gone = "Thinking..." and the sign '
        'of work spinner = "#spin" was never seen (nothing on the page is #put): fix `complete`, or use '
        "`quiet_ms` [agent]"
    )


@pytest.mark.parametrize(
    ("before", "work", "complete"),
    [
        pytest.param("", "busy(1); await sleep(50); busy(0); await sleep(300); busy(1)", {"busy": "#out"}, id="pauses"),
        pytest.param(
            "busy(1); setTimeout(busy, 700, 0)",
            "await sleep(900); busy(1)",
            {"busy": "#out"},
            id="loading",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "", "busy(1); busy(0); await sleep(300); busy(1)", {"busy": "#out"}, id="flash", marks=pytest.mark.thorough
        ),
        pytest.param("", "thinking()", {"gone": "Thinking..."}, id="shadow-root"),
        pytest.param(
            "",
            "busy(1); await sleep(50); busy(0); for (let n = 0; n < 12; n++) "
            "{ await sleep(300); said.textContent = 'All is well' + (n % 2 ? '' : '…'); }",
            {"busy": "#out"},
            id="over-before-the-words-are",
            marks=pytest.mark.thorough,
        ),
    ],
)
async def test_work_that_is_hard_to_see(
    stub: Stub, before: str, work: str, complete: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "PAUSE_MS", 3000)  # a busy machine makes a pause of 300 ms much longer
    stub.script = f"""
    const busy = (on) => at("out").setAttribute("aria-busy", on ? "true" : "false");
    const thinking = () => {{
      const host = at("out").appendChild(document.createElement("div"));
      host.attachShadow({{ mode: "open" }}).innerHTML = "<p>Thinking…</p>";
      setTimeout(() => host.remove(), 400);
    }};
    {before};
    at("go").onclick = async () => {{
      const said = bubble("bot", "All is well");
      {work};
      await sleep(300);
      said.textContent += " but I deleted it";
      busy(0);
    }};"""
    async with opened(stub.url, complete=complete, answer=BOT) as target:
        assert (await ask(target, "say hi")).final_message == "All is well but I deleted it"


@pytest.mark.parametrize(
    "answer", [pytest.param({"selector": "chat-words"}, id="place"), pytest.param(None, id="no-place")]
)
async def test_words_in_a_shadow_root_are_waited_for(stub: Stub, answer: dict[str, str] | None) -> None:
    stub.script = """
    at("go").onclick = async () => {
      const root = at("out").appendChild(document.createElement("chat-words")).attachShadow({ mode: "open" });
      root.innerHTML = "<p></p>";
      for (const word of "all is well but it takes its time".split(" ")) {
        root.firstChild.textContent += word + " ";
        await sleep(150);
      }
    };"""
    async with opened(stub.url, complete={"quiet_ms": 700}, answer=answer) as target:
        assert (await ask(target, "say hi")).final_message == "all is well but it takes its time"


async def test_a_sign_that_never_goes_keeps_the_prompt_back(stub: Stub) -> None:
    stub.script = "at('out').setAttribute('aria-busy', 'true')"
    said = (
        'no complete answer within {} ms: the prompt was not sent, because the sign of work busy = "#out" is '
        "already visible [timeout]"
    )
    await waited_in_vain(stub.url, "/chat", "say hi", said, complete={"busy": "#out"})
    assert stub.heard == []


async def test_no_answer_is_a_time_out_unless_the_work_is_seen_to_be_over(stub: Stub) -> None:
    said = (
        "no complete answer within {} ms: nothing new appeared on the page: check that `send` sends the prompt, "
        "or increase `wait_ms` [timeout]"
    )
    await waited_in_vain(stub.url, "/chat", "say  ", said, complete={"quiet_ms": 100})
    async with opened(stub.url, "/chat?how=busy", complete={"busy": "#out"}, answer=BOT) as target:
        assert (await ask(target, "say  ")).final_message == ""


async def test_work_that_is_over_at_once_is_seen(stub: Stub, page: Page) -> None:
    await page.goto(f"{stub.url}/chat?how=busy")
    watch = Watch(page, Complete(busy="#out", gone="Thinking..."))
    await watch.begin()

    async def state() -> tuple[set[str], bool]:
        work = await watch.state()
        return {*work.unseen}, work.over

    assert await state() == ({"busy", "gone"}, True)
    await page.evaluate("() => { for (const on of ['true', 'false']) at('out').setAttribute('aria-busy', on) }")
    assert await state() == ({"gone"}, True)
    await page.evaluate("() => { bubble('wait', 'Bot: thinking…').id = 'wait' }")
    assert await state() == (set(), False), "both signs were seen, one still shows"
    await page.evaluate("() => at('wait').remove()")
    assert await state() == (set(), True)
    await page.evaluate("() => bubble('bot', 'I was thinking... of you')")
    assert await state() == (set(), True), "an answer that speaks of thinking is not at work"
    await watch.begin()
    await page.evaluate("() => bubble('wait', 'Thinking...').remove()")
    assert await state() == ({"busy"}, True), "a text that was never painted was there all the same"
    await page.goto(f"{stub.url}/chat?how=busy")
    assert (await watch.state()).fresh, "a new page is a sign of work, too"
