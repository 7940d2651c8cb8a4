"""What goes wrong: hanging and crashing pages, dialogs, huge and hostile answers, apps and browsers that end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pytest

from carob.errors import ConfigError
from carob.features.browser.target import BrowserTarget
from carob.journal.limits import cap_trace
from carob.model.trace import TEXT_CAP, Trace, TraceError
from carob.targets.base import RunContext, TargetError
from carob.targets.config import TargetConfig
from processes import below

from .conftest import IN_A_BROWSER, ask, case, opened, target_for, waited_in_vain
from .stub import HUGE, Stub

pytestmark = IN_A_BROWSER

BOT = {"answer": {"selector": ".bot"}}
BUSY: dict[str, Any] = {**BOT, "complete": {"busy": "#out"}}


def written(trace: Trace) -> Trace:
    """A trace as the journal keeps it."""
    return msgspec.json.decode(msgspec.json.encode(cap_trace(trace)), type=Trace)


async def answered(target: BrowserTarget, prompt: str) -> str:
    """The answer of a target whose wait is short: on a machine with other work not always at once."""
    for _ in range(8):
        with suppress(TargetError):
            return (await ask(target, prompt)).final_message
    return ""


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        pytest.param("hang", 'the sign of work busy = "#out" still shows', id="hangs"),
        pytest.param(
            "spin",
            "the page does not respond: one of its scripts may be in an endless loop",
            id="stuck",
            marks=pytest.mark.thorough,
        ),
    ],
)
async def test_a_turn_that_hangs_keeps_what_was_seen(stub: Stub, prompt: str, why: str) -> None:
    said = f"no complete answer within {{}} ms: {why} [timeout]"
    context = await waited_in_vain(stub.url, "/chat?how=busy", prompt, said, **BUSY)
    partial = written(context.recorder.partial(case(prompt), TraceError("timeout", why)))
    assert partial.page_before
    if prompt == "hang":
        assert partial.page is not None
        assert partial.final_message == ""
        assert [(m.role, m.content) for m in partial.messages] == [("user", "hang")]


async def test_a_target_goes_on_after_a_turn_that_hung(stub: Stub) -> None:
    async with opened(stub.url, "/chat?how=busy", **BUSY, wait_ms=5000) as target:
        with pytest.raises(TargetError):
            await ask(target, "spin")
        assert await answered(target, "say next") == "next"


async def test_a_case_that_is_cancelled_leaves_soon_and_keeps_what_was_seen(
    logging_stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carob.features.browser.target.HURRY", 10.0)  # on a busy machine a look takes its time
    telemetry = {"log": str(logging_stub.log), "end_source": "turn", "end_event": "end"}
    context = RunContext()
    async with opened(logging_stub.url, "/chat?how=busy", **BUSY, telemetry=telemetry) as target:
        running = asyncio.create_task(target.run(case("hang"), context))
        while not logging_stub.heard:
            assert not running.done()
            await asyncio.sleep(0.02)
        cancelled_at = monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert monotonic() - cancelled_at < 20
        partial = context.recorder.partial(case("hang"), TraceError("timeout", "too long"))
        assert partial.telemetry == ()
        assert "telemetry" not in partial.unobserved
        assert partial.page is not None
        logging_stub.let_go.set()
        assert (await ask(target, "say next")).final_message == "next"


async def test_a_turn_that_the_app_says_is_broken_is_an_error(stub: Stub) -> None:
    context = RunContext()
    async with opened(stub.url, "/chat?how=busy", **BUSY, failure={"selector": "#oops"}) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "break it", context)
        assert str(caught.value) == "the app says: Something broke. [agent]"
        assert context.recorder.final_message == "half an"
        with pytest.raises(TargetError) as caught:
            await ask(target, "say hi", setup_prompts=("break it",))
        assert str(caught.value) == "setup prompt 1 of 1: the app says: Something broke. [setup]"
        with pytest.raises(TargetError) as caught:
            await ask(target, "drop it")
        assert str(caught.value) == "the app says: The line is dead. [agent]"
        assert (await ask(target, "say next")).final_message == "next"


@pytest.mark.parametrize(
    ("clear", "broken"),
    [
        pytest.param("oops.textContent = ''; await sleep(300)", True, id="cleared"),
        pytest.param("oops.textContent = ''; await null", True, id="cleared-for-a-moment"),
        pytest.param("await sleep(300)", False, id="left-from-before"),
    ],
)
async def test_the_same_complaint_again_is_a_failure(stub: Stub, clear: str, broken: bool) -> None:
    stub.script = f"""
    const oops = at("oops");
    oops.textContent = "Something broke.";
    at("go").onclick = async () => {{
      work(true);
      bubble("bot", "All is");
      {clear};
      oops.textContent = "Something broke.";
      work(false);
    }};"""
    async with opened(stub.url, "/chat?how=busy", **BUSY, failure={"selector": "#oops"}) as target:
        if broken:
            with pytest.raises(TargetError) as caught:
                await ask(target, "say hi")
            assert str(caught.value) == "the app says: Something broke. [agent]"
        else:
            assert (await ask(target, "say hi")).final_message == "All is"


async def test_a_huge_answer_is_kept_as_a_prefix(stub: Stub) -> None:
    async with opened(stub.url, "/chat?how=busy", **BUSY, wait_ms=90_000) as target:
        trace = written(await ask(target, "huge"))
    assert trace.final_message == "x" * TEXT_CAP
    assert trace.cuts["final_message"].size == HUGE


async def test_dialogs_do_not_stop_the_talk_and_hostile_text_stays_text(stub: Stub) -> None:
    async with opened(stub.url, **BOT) as target:
        trace = written(await ask(target, "hostile", setup_prompts=("dialog",)))
    assert trace.final_message.startswith("</div><script>alert(1)</script>")
    assert "{{7*7}}" in trace.final_message
    assert "\ufffd" in trace.final_message


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
@pytest.mark.usefixtures("own_browser")
async def test_a_page_that_crashes_is_an_error(stub: Stub) -> None:
    async with opened(stub.url, "/chat?how=busy", **BUSY) as target:
        running = asyncio.create_task(ask(target, "hang"))
        while not stub.heard:
            assert not running.done()
            await asyncio.sleep(0.02)
        for process in [process_id for process_id, line in below(os.getpid()) if b"--type=renderer" in line]:
            os.kill(process, signal.SIGKILL)
        with pytest.raises(TargetError) as caught:
            await running
        assert str(caught.value) == "the page crashed [agent]"
        stub.let_go.set()
        assert (await ask(target, "say next")).final_message == "next"


@pytest.mark.usefixtures("own_browser")
async def test_a_browser_that_ended_is_started_again(stub: Stub) -> None:
    async with opened(stub.url, **BOT) as target:
        browser = await target._stage.ready()
        await browser.close()
        assert (await ask(target, "say next")).final_message == "next"


async def test_an_app_that_is_not_there_is_gone() -> None:
    with socket.socket() as held:  # nobody else can listen there
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        async with opened(url, **BOT) as target:
            with pytest.raises(TargetError) as caught:
                await ask(target, "say hi")
    assert str(caught.value) == (
        f"the app at {url} cannot be reached (Page.goto: net::ERR_CONNECTION_REFUSED at {url}/chat) [gone]"
    )


async def refused(target: BrowserTarget) -> str:
    """Why a target does not open, in one line."""
    with pytest.raises(ConfigError) as caught:
        await target.open()
    await target.close()
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def test_an_app_that_nobody_named() -> None:
    nameless = BrowserTarget(TargetConfig(kind="browser", spec="app"))
    assert await refused(nameless) == (
        "the browser target has no app. Give `app_url`, or `start` to start it. [config]"
    )


@pytest.mark.parametrize(
    ("prints", "why"),
    [
        pytest.param("echo no display. >&2", "no display", id="says-why"),
        pytest.param("true", "BrowserType.launch: Target page, context or browser has been closed", id="says-nothing"),
    ],
)
async def test_a_browser_that_cannot_be_started(stub: Stub, tmp_path: Path, prints: str, why: str) -> None:
    broken = tmp_path / "chromium"
    broken.write_text(f"#!/bin/sh\n{prints}\nexit 7\n")
    broken.chmod(0o755)
    assert await refused(target_for(stub.url, executable=str(broken))) == (
        f"the browser {broken} cannot be started: {why}. On Debian: apt-get install chromium-headless-shell. "
        "Elsewhere: playwright install chromium-headless-shell. [no-browser]"
    )


APP = Path(__file__).parent / "stub_process.py"
KILLED = "the app ended by signal 9. It printed: serving"


def own_app(**options: Any) -> BrowserTarget:
    settings = {
        "start": f"{{python}} {APP} {{port}}",
        "space_url": "/chat?how=busy",
        "chat_box": {"selector": "#in"},
        "send": {"selector": "#go"},
        "wait_ms": 10_000,
        "failure": {"selector": "#oops"},
        **BUSY,
        **options,
    }
    return BrowserTarget(TargetConfig(kind="browser", spec="app", root=APP.parent, options=settings))


async def test_an_app_that_dies_in_mid_turn_is_gone_and_started_again() -> None:
    target = own_app(
        start_env={"STUB_LOG": "{log}"},
        telemetry={"end_event": "end", "correlation_field": "conversation"},
        session_query="conversation",
    )
    try:
        await target.open()
        assert (await ask(target, "say hi")).final_message == "hi"
        with pytest.raises(TargetError) as caught:
            await ask(target, "die now")
        assert str(caught.value) == f"{KILLED} (the app says: The line is dead.) [gone]"
        again = await ask(target, "say next")
        assert again.final_message == "next"
        assert [str(call) for call in again.tool_calls] == ["look (success)"]
    finally:
        await target.close()


async def test_an_app_that_dies_with_an_answer_on_its_page_is_gone() -> None:
    target = own_app(complete={"quiet_ms": 300})
    try:
        await target.open()
        with pytest.raises(TargetError) as caught:
            await ask(target, "last words")
        assert str(caught.value) == f"{KILLED} [gone]"
        assert caught.value.partial is not None
        assert caught.value.partial.final_message == "OK"
    finally:
        await target.close()


async def test_an_app_that_cannot_be_started_again_is_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = tmp_path / "once"
    once.touch()
    monkeypatch.setenv("STUB_ONLY_WITH", str(once))
    target = own_app()
    try:
        await target.open()
        once.unlink()
        with pytest.raises(TargetError) as caught:
            await ask(target, "die now")
        assert str(caught.value) == f"{KILLED} (the app says: The line is dead.) [gone]"
        for _ in range(2):
            with pytest.raises(TargetError) as caught:
                await ask(target, "say hi")
            assert str(caught.value) == (
                f"{KILLED}; it could not be started again: the app ended with exit code 3. It printed: no such luck. "
                "[gone]"
            )
    finally:
        await target.close()
