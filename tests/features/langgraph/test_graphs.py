"""Which graphs Carob talks to, how it gets them, and what it gives them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.system.installing import install_extra
from carob.targets.base import TargetError
from targets.conftest import ask, opened

HERE = Path(__file__).parent
NAME_ONE = "Name a graph, compiled or not, or a function that returns one."
SAY_WHERE = 'Say in its options where the answer is: output = "$.answer".'


def graph(name: str, **rest: Any) -> Any:
    return opened("langgraph", f"graphs.py:{name}", HERE, **rest)


@pytest.mark.parametrize("name", ["graph", "factory", "async_factory", "factory_with_a_default", "agent"])
async def test_a_graph_or_a_factory_of_one(name: str) -> None:
    async with graph(name) as target:
        trace = await ask(target, "two at once")
    assert trace.final_message == "Both done."
    assert [call.name for call in trace.tool_calls] == ["look", "book"]
    assert trace.unobserved == {
        "telemetry": "the target gave no telemetry: functions, commands and recordings return its lines as "
        "`telemetry`, browser targets name the file as `telemetry.log`; for others, expect `tool_calls` instead"
    }
    assert trace.started_at is not None
    assert trace.duration_ms is not None


@pytest.mark.parametrize("name", ["factory_of_context", "by_context", "by_config"])
async def test_what_the_setup_hook_gives_reaches_the_graph(name: str) -> None:
    async with graph(name, setup="graphs.py:for_lab") as target:
        said = [(await ask(target, "where?", case_id=case_id)).final_message for case_id in ("one", "two")]
    assert said == ["lab 7 of one", "lab 7 of two"]


async def test_a_context_that_is_no_dict_reaches_the_graph_too() -> None:
    async with graph("by_bare_config", setup="graphs.py:bare_lab") as target:
        assert (await ask(target, "where?")).final_message == "lab 9"


async def test_every_case_has_a_thread_of_its_own() -> None:
    async with graph("thread") as target:
        threads = {(await ask(target, "which?", setup_prompts=("x", "y"))).final_message for _ in range(3)}
    assert len(threads) == 3


@pytest.mark.parametrize("name", ["graph", "remembering", "agent"])
async def test_setup_prompts_share_the_conversation_and_other_cases_do_not(name: str) -> None:
    async with graph(name) as target:
        trace = await ask(target, "recall", setup_prompts=("say one", "two at once"))
        assert trace.final_message == "say one | two at once | recall"
        assert trace.tool_calls == ()
        assert [message.role for message in trace.messages] == ["assistant"]
        assert (await ask(target, "recall")).final_message == "recall"


@pytest.mark.parametrize(
    ("name", "options", "steps"),
    [
        pytest.param("graph", {}, 50, id="graph"),
        pytest.param("agent", {}, 50, id="agent-with-a-high-limit-of-its-own"),
        pytest.param("modest", {}, 7, id="graph-with-a-low-limit-of-its-own"),
        pytest.param("modest", {"recursion_limit": 5}, 5, id="option"),
        pytest.param("graph", {"recursion_limit": 61}, 61, id="option-above-the-default"),
    ],
)
async def test_a_graph_that_loops_ends(name: str, options: dict[str, Any], steps: int) -> None:
    async with graph(name, options=options) as target:
        trace = await ask(target, "loop")
    assert (trace.ended_by, trace.steps, trace.final_message) == ("recursion_limit", steps, "")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param(
            "number", f"is an int, neither a graph nor a function that returns one. {NAME_ONE} [config]", id="no-graph"
        ),
        pytest.param("factory_that_breaks", "raised RuntimeError: no model here [config]", id="factory-breaks"),
        pytest.param(
            "factory_of_something_else",
            f"returned a str, which is not a graph. {NAME_ONE} [config]",
            id="factory-of-no-graph",
        ),
        pytest.param(
            "factory_that_asks_for_more",
            "needs 'model', which Carob cannot provide. A factory may have the parameters `context` and "
            "`config`; any other needs a default. [config]",
            id="asks-for-more",
        ),
    ],
)
async def test_what_is_no_graph_is_refused_before_any_case(name: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with graph(name):
            pass
    assert str(caught.value) == f"'graphs.py:{name}' {says}"


async def test_a_checkpointer_that_cannot_be_read_is_told_before_any_case() -> None:
    with pytest.raises(ConfigError) as caught:
        async with graph("unreachable_saver"):
            pass
    assert str(caught.value) == (
        "the checkpointer of 'graphs.py:unreachable_saver', a LostSaver, cannot be read: OSError: connection "
        "refused. Check that its database is running and was set up (`setup()` of the checkpointer). [config]"
    )


async def test_without_langgraph_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.graph", None)
    with pytest.raises(ConfigError) as caught:
        async with graph("graph"):
            pass
    assert str(caught.value) == f"langgraph is not installed. {install_extra('langgraph')} [config]"


async def test_names_that_nobody_has_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        async with graph("grph"):
            pass
    assert str(caught.value) == "'graphs.py:grph': graphs.py has no 'grph'. Did you mean 'graph'? [config]"
    with pytest.raises(ConfigError) as caught:
        async with graph("graph", options={"recursion_limits": 5}):
            pass
    assert str(caught.value) == (
        "unknown option 'recursion_limits' of a target of kind 'langgraph'. Did you mean 'recursion_limit'? "
        "[unknown-option]"
    )


async def test_a_factory_that_breaks_for_one_case_spoils_that_case_alone() -> None:
    async with graph("factory_that_breaks_for_some", setup="graphs.py:for_lab") as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "hi", case_id="bad")
        assert (
            str(caught.value) == "'graphs.py:factory_that_breaks_for_some' raised RuntimeError: no lab for it [agent]"
        )
        assert (await ask(target, "hi", case_id="good")).final_message == "fine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("as_dicts", "a dict", id="messages-as-dicts"),
        pytest.param("overwriting", "only this", id="state-without-a-reducer"),
        pytest.param("functional", "by function", id="functional-api"),
        pytest.param("commanding", "Handed over.", id="command"),
    ],
)
async def test_other_shapes_of_messages(name: str, said: str) -> None:
    async with graph(name) as target:
        trace = await ask(target, "hi", setup_prompts=("hello",))
    assert (trace.final_message, [m.content for m in trace.messages]) == (said, [said])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("functional_number", f"the graph returned an int without `messages`. {SAY_WHERE}", id="no-state"),
        pytest.param(
            "functional_dict",
            f"the graph returned a dict without `messages` (it has: answer). {SAY_WHERE}",
            id="no-path",
        ),
        pytest.param(
            "unreadable",
            f"the graph's `messages` cannot be read: Unsupported message type: <class 'int'>. {SAY_WHERE}",
            id="no-messages",
        ),
    ],
)
async def test_what_cannot_be_read_is_a_bad_answer(name: str, says: str) -> None:
    async with graph(name) as target:
        with pytest.raises(TargetError) as caught:
            await ask(target, "hi")
    assert str(caught.value) == f"{says} [bad-answer]"


async def test_the_environment_of_the_configuration_holds_while_it_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAROB_TEST_OLD", "before")
    monkeypatch.delenv("CAROB_TEST_NEW", raising=False)
    async with graph("graph", env={"CAROB_TEST_OLD": "during", "CAROB_TEST_NEW": "during"}):
        assert (os.environ["CAROB_TEST_OLD"], os.environ["CAROB_TEST_NEW"]) == ("during", "during")
    assert os.environ["CAROB_TEST_OLD"] == "before"
    assert "CAROB_TEST_NEW" not in os.environ
