"""What the configuration of a target says of its traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import ConfigError
from carob.model.suite import Case
from carob.plugins.project import find_project
from carob.targets.base import RunContext, TargetError
from carob.targets.config import TargetConfig, read_config
from carob.targets.wrappers.success_rules import WithSuccessRules
from targets.conftest import ask, case, opened

AGENT = """
import json

def answer(prompt):
    return {"final_message": "Done.", **json.loads(prompt)}
"""


def agent(folder: Path, **rest: Any) -> Any:
    (folder / "agent.py").write_text(AGENT)
    return opened("python", "agent.py:answer", folder, name="desk", **rest)


def called(result: Any, name: str = "book", **rest: Any) -> str:
    return json.dumps({"tool_calls": [{"name": name, "result": result, **rest}]})


HELD = {"book": {"field": "booking.state", "is": ["confirmed", "held"]}}


@pytest.mark.parametrize(
    ("success", "prompt", "expected"),
    [
        pytest.param(HELD, called({"booking": {"state": "held"}}), True, id="field"),
        pytest.param(HELD, called({"booking": {"state": "full"}, "ok": True}), False, id="the-rule-before-the-result"),
        pytest.param(HELD, called("{'booking': {'state': 'held'}}"), True, id="field-in-a-text"),
        pytest.param(HELD, called({"booking": None}), None, id="no-such-field"),
        pytest.param(HELD, called({"booking": {"state": "held"}}, error="it broke"), False, id="an-error"),
        pytest.param(HELD, called({"ok": True}, name="find"), True, id="another-tool"),
        pytest.param({"*": {"text": "^OK"}}, called("OK 17"), True, id="text"),
        pytest.param({"*": {"text": "^OK"}}, called("17"), False, id="not-that-text"),
        pytest.param({"*": {"text": '"seats": *[1-9]'}}, called({"seats": 3}), True, id="text-of-an-object"),
        pytest.param({"*": {"field": "seats", "is": [1]}}, called({"seats": True}), False, id="true-is-not-1"),
    ],
)
async def test_when_a_tool_succeeded(tmp_path: Path, success: Any, prompt: str, expected: bool | None) -> None:
    async with agent(tmp_path, success=success) as target:
        (call,) = (await ask(target, prompt)).tool_calls
    assert call.success is expected


@pytest.mark.parametrize(
    ("vouched", "result", "success"),
    [
        pytest.param("", "The card has expired", None, id="no-one-vouches"),
        pytest.param("success", "The card has expired", True, id="the-target-vouches"),
        pytest.param("success", "Error: the card has expired", False, id="words-of-failure"),
        pytest.param("success", {"status": "error"}, False, id="a-sign-of-failure"),
    ],
)
async def test_a_target_vouches_for_plain_text_that_only_messages_show(
    vouched: Any, result: Any, success: bool | None
) -> None:
    content = result if isinstance(result, str) else json.dumps(result)
    asked = {"id": "1", "type": "function", "function": {"name": "book", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "1", "content": content},
        {"role": "assistant", "content": "Done."},
    ]

    class Exported(carob.BaseTarget):
        async def run(self, case: Case, context: RunContext) -> carob.Trace:
            return carob.trace_from_messages(messages)

    target = WithSuccessRules(Exported(), TargetConfig(kind="python", spec="desk:answer", plain_text=vouched))
    (call,) = (await target.run(case("Hi"), RunContext())).tool_calls
    assert call.success is success


async def test_how_the_log_spells_a_call(tmp_path: Path) -> None:
    lines = ["-> book {'room': 'Blue'}", "<- book fine"]
    telemetry = {"events": {"start": "-> {tool} {arguments}", "result": "<- {tool} {result}"}}
    async with agent(tmp_path, telemetry=telemetry) as target:
        trace = await ask(target, json.dumps({"telemetry": lines}))
    assert [(c.name, c.arguments, c.result) for c in trace.tool_calls] == [("book", {"room": "Blue"}, "fine")]
    assert json.loads(trace.dialect) == telemetry["events"]


async def test_a_backend_that_broke_in_a_setup_turn_is_an_error(tmp_path: Path) -> None:
    broke = json.dumps({"telemetry": [{"source": "llm", "event": "stream_error"}]})
    async with agent(tmp_path) as target:
        with pytest.raises(TargetError) as caught:
            await target.run(case("{}", setup_prompts=("{}", broke)), RunContext())
    assert caught.value.kind == "setup"
    assert caught.value.message == (
        'setup prompt 2 of 2: the log says that the backend failed: {"source":"llm","event":"stream_error"}'
    )


async def test_a_backend_that_broke_is_an_error(tmp_path: Path) -> None:
    broke = {"source": "llm", "event": "stream_error"}
    async with agent(tmp_path) as target:
        with pytest.raises(TargetError) as caught:
            await target.run(case(json.dumps({"telemetry": [broke]})), RunContext())
    assert str(caught.value) == (
        'the log says that the backend failed: {"source":"llm","event":"stream_error"} [backend]'
    )
    assert caught.value.partial is not None
    assert caught.value.partial.final_message == "Done."


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ('[targets.desk.success]\nbook = { field = "a" }', "success.book]: give either `field` with `is`, or `text`"),
        ('[targets.desk.success]\nbook = { text = "(" }', "`text` is not a regex"),
        ('[targets.desk.success]\nbook = { text = ".*" }', "`text` matches every result"),
        ('[targets.desk.success]\nbook = { fild = "a", is = [1] }', "Did you mean 'field'?"),
        ('[targets.desk.telemetry.events]\nstart = "calling"', "telemetry.events]: `start` does not say where"),
        ('[targets.desk.telemetry.events]\nbegin = "{tool} x"', "unknown field `begin`"),
        ("[targets.desk.telemetry]\nevent = 3", "Did you mean 'events'?"),
    ],
)
def test_what_makes_no_sense_is_told_before_any_case(tmp_path: Path, written: str, says: str) -> None:
    from carob.targets.catalog import build

    (tmp_path / "carob.toml").write_text(f'[targets.desk]\nuse = "python:agent.py:answer"\n{written}\n')
    with pytest.raises(ConfigError) as caught:
        build(read_config(find_project(tmp_path)).targets["desk"])
    assert caught.value.where == f"{tmp_path / 'carob.toml'}:3"
    assert says in str(caught.value)
