from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from carob.errors import ConfigError
from carob.targets.base import RunContext, TargetError

from .conftest import ask, case, opened

MODULE = """
import asyncio, functools, os
from carob.model.trace import Trace, TraceError, ToolCall

NUMBER = 3

def answer(prompt): return f"plain {prompt}"
def more(prompt, *, case, conversation, context="unset"): return f"{case.id} {type(conversation).__name__} {context}"
def only_case(case): return case.prompt
def swapped(context, prompt): return f"{prompt} {context}"
def optional(prompt, temperature=0.5, *args, **kwargs): return f"{temperature} {args} {kwargs}"
async def awaited(prompt): return prompt
hidden = functools.partial(awaited)
class Callable:
    async def __call__(self, prompt): return f"called {prompt}"
    def method(self, prompt): return f"method {prompt}"
instance = Callable()
later = lambda prompt: awaited(prompt)
def environment(prompt): return os.environ.get("CAROB_TEST", "unset")
def no_prompt(): return "x"
def needs(prompt, model): return "x"
def trace(prompt): return Trace(case_id="", final_message="t", tool_calls=(ToolCall("a", object()),))
def wrong_trace(prompt): return Trace(case_id="", final_message=3)
def other_trace(prompt): return Trace(case_id="two", final_message="t")
def silent_trace(prompt): return Trace(case_id="", final_message="t")
def unknown_channel(prompt): return Trace(case_id="", final_message="t", unobserved={"tool_calls": "not seen"})
def broken_trace(prompt): return Trace(case_id="", error=TraceError("model", "overloaded"))
def stops(prompt): raise StopIteration("s")
def cancels(prompt): raise asyncio.CancelledError("on my own")
async def cancels_too(prompt): raise asyncio.CancelledError("on my own")
def interrupts(prompt): raise KeyboardInterrupt
class RateLimit(Exception): pass
class Response:
    def __init__(self, **headers): self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
def limited(prompt):
    error = RateLimit("slow down")
    exec(prompt)
    raise error
def deep(prompt):
    def down(n): return down(n - 1) + "x" if n else 1 / 0
    return down(500)
async def slow_setup(prompt):
    if prompt == "slow": await asyncio.sleep(3600)
    return prompt
async def hangs(prompt): await asyncio.sleep(3600)
class Mute(Exception):
    def __str__(self): raise ValueError("nothing to say")
    @property
    def retry_after(self): raise ValueError("nor when")
def mute(prompt): raise Mute
def timed(prompt): return {"final_message": "fine", "timings": {"model_ms": float(prompt)}}
def limited_trace(prompt):
    import carob
    from carob.model.trace import TraceError
    return carob.Trace(case_id="", error=TraceError("agent", "429", retry_after=4.0))
"""


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    name = f"agents_{abs(hash(tmp_path)):x}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    return tmp_path / f"{name}.py"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("answer", "plain p"),
        ("more", "one Conversation given"),
        ("only_case", "p"),
        ("swapped", "p given"),
        ("optional", "0.5 () {}"),
        ("awaited", "p"),
        ("hidden", "p"),
        ("instance", "called p"),
        ("instance.method", "method p"),
        ("later", "p"),
        ("environment", "from config"),
    ],
)
async def test_called_as_it_asks(agents: Path, function: str, said: str) -> None:
    async with opened(
        "python", f"{agents.stem}:{function}", agents.parent, env={"CAROB_TEST": "from config"}
    ) as target:
        trace = await target.run(case("p"), RunContext(given="given"))
    assert trace.final_message == said
    assert trace.duration_ms is not None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param("{}:anser", "has no 'anser'. Did you mean 'answer'?", id="no-such-function"),
        pytest.param("{}:NUMBER", "is an int, not a function", id="not-callable"),
        pytest.param("no_such_module_here:f", "there is no module 'no_such_module_here'", id="no-module"),
        pytest.param("json.no_such:f", "there is no module 'json.no_such'", id="no-submodule"),
        pytest.param("{}", "does not name a function", id="no-function"),
        pytest.param("missing.py:f", "there is no file", id="no-file"),
        pytest.param("broken.py:f", "SyntaxError", id="syntax-error"),
        pytest.param("exits.py:f", "SystemExit", id="exits-at-import"),
        pytest.param("stops.py:f", "cannot be imported: Stop: enough", id="base-exception-at-import"),
        pytest.param("unset.py:f", "KeyError: 'NOT_SET_HERE' at {}/unset.py:2", id="raised-by-a-library"),
        pytest.param("imports.py:f", "ModuleNotFoundError: No module named 'absent_thing'", id="import-inside"),
        pytest.param("{}:no_prompt", "does not take the prompt", id="no-parameter"),
        pytest.param("{}:needs", "needs 'model', which Carob cannot provide", id="unknown-parameter"),
    ],
)
async def test_what_cannot_be_opened(agents: Path, spec: str, message: str) -> None:
    (agents.parent / "broken.py").write_text("def f(:\n")
    (agents.parent / "exits.py").write_text("raise SystemExit(2)\n")
    (agents.parent / "stops.py").write_text("class Stop(BaseException): ...\nraise Stop('enough')\n")
    (agents.parent / "imports.py").write_text("import absent_thing\n")
    (agents.parent / "unset.py").write_text("import os\nos.environ['NOT_SET_HERE']\n")
    with pytest.raises(ConfigError) as caught:
        async with opened("python", spec.format(agents.stem), agents.parent):
            pass
    assert message.format(agents.parent) in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_environment_is_put_back(agents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAROB_TEST", "before")
    async with opened("python", f"{agents.stem}:environment", agents.parent, env={"CAROB_TEST": "x"}) as target:
        assert (await ask(target, "p")).final_message == "x"
    async with opened("python", f"{agents.stem}:environment", agents.parent) as target:
        assert (await ask(target, "p")).final_message == "before"


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        pytest.param("stops", "agent", "StopIteration", id="stop-iteration"),
        pytest.param("cancels", "agent", "CancelledError: on my own", id="cancels-itself"),
        pytest.param("cancels_too", "agent", "CancelledError: on my own", id="cancels-itself-async"),
        pytest.param("interrupts", "agent", "KeyboardInterrupt", id="keyboard-interrupt"),
        pytest.param("mute", "agent", "Mute: what it says cannot be read", id="cannot-be-printed"),
        pytest.param("wrong_trace", "bad-answer", "Expected `str`, got `int` - at `$.final_message`", id="trace-types"),
        pytest.param("other_trace", "bad-answer", "it is for case 'two', not 'one'", id="trace-of-another-case"),
        pytest.param("broken_trace", "model", "overloaded", id="trace-with-error"),
        pytest.param("unknown_channel", "bad-answer", "there is no channel 'tool_calls'", id="trace-with-a-channel"),
    ],
)
async def test_breaks(agents: Path, function: str, kind: str, message: str) -> None:
    async with opened("python", f"{agents.stem}:{function}", agents.parent) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "p")
    assert caught.value.kind == kind
    assert message in caught.value.message


async def test_a_trace_that_says_nothing_of_tools(agents: Path) -> None:
    async with opened("python", f"{agents.stem}:silent_trace", agents.parent) as target:
        assert "give it tool_calls=() if there were none" in ((await ask(target, "p")).why_unobserved("tools") or "")


@pytest.mark.parametrize(
    ("how", "seconds"),
    [
        pytest.param("error.retry_after = 7", 7, id="attribute"),
        pytest.param("error.response = Response(Retry_After='7')", 7, id="header"),
        pytest.param("error.response = Response(retry_after='0.5')", 0.5, id="fraction"),
        pytest.param("error.response = Response(Retry_After='Sun, 06 Nov 1994 08:49:37 GMT')", 0, id="date-gone-by"),
        pytest.param("error.response = Response(Retry_After='Fri, 01 Jan 2999 00:00:00 GMT')", 1e9, id="far"),
        pytest.param("error.response = Response(Retry_After='86400')", 86_400, id="a-day"),
        pytest.param("error.retry_after = float('inf')", 1e9, id="for-ever"),
        pytest.param("error.retry_after = 10**400", 1e9, id="more-than-a-float"),
        pytest.param("import datetime; error.retry_after = datetime.timedelta(minutes=2)", 120, id="timedelta"),
        pytest.param("error.retry_after = [7]", None, id="list"),
        pytest.param("error.response = Response(Retry_After='soon')", None, id="no-time"),
        pytest.param("error.response = Response(Retry_After='-1')", None, id="negative"),
        pytest.param("error.response = Response(Other='7')", None, id="no-header"),
        pytest.param("error.response = Response(Retry_After='nan')", None, id="nan"),
    ],
)
async def test_how_long_a_provider_asks_to_wait(agents: Path, how: str, seconds: float | None) -> None:
    async with opened("python", f"{agents.stem}:limited", agents.parent) as target:
        with pytest.raises(TargetError) as limited:
            await ask(target, how)
    assert limited.value.retry_after == seconds


async def test_a_trace_may_ask_to_wait(agents: Path) -> None:
    async with opened("python", f"{agents.stem}:limited_trace", agents.parent) as target:
        with pytest.raises(TargetError) as limited:
            await ask(target, "p")
    assert (limited.value.message, limited.value.retry_after) == ("429", 4.0)


@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
async def test_a_span_that_no_journal_can_hold(agents: Path, number: str) -> None:
    async with opened("python", f"{agents.stem}:timed", agents.parent) as target:
        with pytest.raises(TargetError, match="timings") as caught:
            await ask(target, number)
    assert caught.value.kind == "bad-answer"


async def test_a_provider_may_ask_to_wait_until_a_time(agents: Path) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    async with opened("python", f"{agents.stem}:limited", agents.parent) as target:
        with pytest.raises(TargetError) as limited:
            await ask(target, f"error.response = Response(Retry_After={soon!r})")
    assert 0 < (limited.value.retry_after or 0) <= 3600


async def test_the_detail_of_an_error_is_bounded(agents: Path) -> None:
    async with opened("python", f"{agents.stem}:deep", agents.parent) as target:
        with pytest.raises(TargetError) as deep:
            await ask(target, "p")
    assert deep.value.detail.rstrip().endswith("ZeroDivisionError: division by zero")
    assert len(deep.value.detail) <= 8_000


async def test_a_trace_is_taken_as_it_is(agents: Path) -> None:
    async with opened("python", f"{agents.stem}:trace", agents.parent) as target:
        trace = await ask(target, "p")
    assert (trace.case_id, trace.input, trace.final_message, trace.unobserved) == ("one", "p", "t", {})
    assert trace.tool_calls[0].name == "a"
    assert trace.tool_calls[0].arguments.startswith("<object object")


@pytest.mark.parametrize("agent", ["sync_agent", "async_agent"])
async def test_setup_prompts_share_the_conversation_and_only_the_prompt_is_judged(agent: str) -> None:
    async with opened("python", f"behaviours.py:{agent}") as target:
        trace = await ask(target, "recall", setup_prompts=("say first", "tools", "remember", "tell"))
        assert json.loads(trace.final_message) == [["say first", "first", "tools", "hi"], ["user", "assistant"] * 4]
        assert trace.tool_calls == ()
        assert "tools" in trace.unobserved
        told = await ask(target, "tell", setup_prompts=("tell",))
        assert [call.name for call in told.tool_calls] == ["lookup", "search"]
        alone = await ask(target, "recall")
        assert json.loads(alone.final_message) == [None, []], "another case is another conversation"


@pytest.mark.parametrize("setup", ["crash", "none"])
async def test_a_setup_prompt_that_fails(setup: str) -> None:
    async with opened("python", "behaviours.py:sync_agent") as target:
        with pytest.raises(TargetError, match="setup prompt 2 of 2: ") as caught:
            await ask(target, "say hi", setup_prompts=("say a", setup))
    assert caught.value.kind == "setup"


@pytest.mark.parametrize(
    ("function", "setup", "said"),
    [("hangs", (), "the turn took"), ("slow_setup", ("slow",), "setup prompt 1 of 1: the turn took")],
)
async def test_turn_timeout(agents: Path, function: str, setup: tuple[str, ...], said: str) -> None:
    async with opened("python", f"{agents.stem}:{function}", agents.parent, turn_timeout=0.05) as target:
        with pytest.raises(TargetError, match=rf"^{said} longer than 0\.05 s") as caught:
            await ask(target, "p", setup_prompts=setup)
    assert caught.value.kind == "timeout"


async def test_unknown_options_are_refused(agents: Path) -> None:
    with pytest.raises(ConfigError, match="unknown option 'temperature'"):
        async with opened("python", f"{agents.stem}:answer", agents.parent, options={"temperature": 1}):
            pass


def test_a_hanging_agent_does_not_keep_the_process_alive() -> None:
    script = """
        import asyncio, time
        from pathlib import Path
        from carob.model.suite import Case
        from carob.targets.base import RunContext
        from carob.targets.catalog import build
        from carob.targets.config import TargetConfig
        async def main():
            target = build(TargetConfig(kind="python", spec="behaviours.py:sync_agent", root=Path({root!r})))
            await target.open()
            try:
                await asyncio.wait_for(target.run(Case(id="a", prompt="hang", checks=()), RunContext()), 0.1)
            except TimeoutError:
                print("timed out")
            await target.close()
        asyncio.run(main())
    """
    script = textwrap.dedent(script).format(root=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "timed out\n", "")
