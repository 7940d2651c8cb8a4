"""Python tests that talk to the agent and assert with the words of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import carob

if TYPE_CHECKING:
    from pytest_plugin.conftest import Desk

TALK = """
import carob
import pytest

@pytest.mark.asyncio
async def test_talk(carob_agent):
    first = await carob_agent.ask("Hello")
    assert first.final_message == "You said: Hello"
    second = await carob_agent.ask("a refund")
    carob.check(second, tool_calls=[{"tool": "issue_refund", "arguments": {"order": "A-17"}}], must_say_any=["refund"])
    assert second.earlier == (first,) and carob_agent.turns == (first, second)

def test_fresh(carob_agent):
    assert carob_agent.turns == ()
    assert carob_agent.ask_sync("x").final_message == "You said: x"
"""


def test_talking_to_the_agent(desk: Desk) -> None:
    desk.write("test_talk.py", TALK)
    desk.plugins = ()
    assert desk.run("-o", "asyncio_default_fixture_loop_scope=function").parseoutcomes() == {"passed": 2}
    assert not (desk.path / "carob-results").exists()


def test_memory_is_that_of_the_conversation(desk: Desk) -> None:
    desk.write(
        "agent.py",
        """
        async def reply(prompt, conversation):
            conversation.state["seen"] = conversation.state.get("seen", 0) + 1
            return f"{conversation.state['seen']} {len(conversation.messages)}"
        """,
    )
    test = """
    import pytest
    @pytest.mark.parametrize("number", [1, 2])
    def test_memory(carob_agent, number):
        assert [carob_agent.ask_sync("hi").final_message for _ in range(3)] == ["1 0", "2 2", "3 4"]
    """
    desk.write("test_memory.py", test)
    assert desk.run().parseoutcomes() == {"passed": 2}


def test_settings_of_a_configured_target_hold(desk: Desk) -> None:
    """Names, rules of success and hooks are applied to each turn, as they are in a run."""
    desk.write("conftest.py", "")
    desk.write(
        "carob.toml",
        """
        target = "desk"
        secrets = ["DESK_KEY"]
        [targets.desk]
        use = "python:agent:reply"
        setup = "hooks:begin"
        teardown = "hooks:end"
        tool_names = { issue_refund = "pay_back" }
        success = { pay_back = { field = "status", is = ["open"] } }
        """,
    )
    desk.write(
        "hooks.py",
        "def begin(): log('begin')\ndef end(): log('end')\ndef log(line): print(line, file=open('log', 'a'))",
    )
    test = """
    def test_it(carob_agent, monkeypatch):
        (call,) = carob_agent.ask_sync("a refund").tool_calls
        assert (call.name, call.success) == ("pay_back", False)
        assert carob_agent.ask_sync("hi").tool_calls == ()
    """
    desk.write("test_it.py", test)
    assert desk.run("-W", "ignore").parseoutcomes() == {"passed": 1}
    assert (desk.path / "log").read_text() == "begin\nend\n"


@pytest.mark.parametrize(
    ("test", "lines"),
    [
        pytest.param(
            'carob_agent.ask_sync("boom")',
            ["*TargetError: turn 1: RuntimeError: the agent broke [[]agent[]]"],
            id="breaks",
        ),
        pytest.param(
            'carob_agent.ask_sync("sleep")',
            ["*TargetError: the agent took longer than 0.2 s [[]timeout[]]"],
            id="hangs",
        ),
        pytest.param(
            'carob.check(carob_agent.ask_sync("a refund"), tool_calls_none=["issue_refund"], must_say_any=["sorry"])',
            [
                "E*carob.ExpectationError: FAIL: tool_calls_none[[]0[]]: expected no call to 'issue_refund'*",
                "E       called    issue_refund*",
                "E       failed    tool_calls_none[[]0[]] (tool_hygiene)",
                "E       failed    must_say_any (formatting)",
            ],
            id="two-checks",
        ),
        pytest.param(
            'carob.check({"final_message": "one"}, answer_equals="two")',
            ["*- answer_equals -*", "'one' == 'two'", "- two", "+ one"],
            id="diff",
        ),
        pytest.param(
            'carob.check({"final_message": "x", "tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]}, '
            'tool_calls=[{"tool": "pay", "arguments": {"sum": 2}}])',
            ["*- tool_calls[[]0[]] -*", "{'sum': 1} == {'sum': 2}"],
            id="diff-of-arguments",
        ),
        pytest.param(
            'carob.check({"final_message": "x"}, must_sya_any=["x"])',
            ["*UsageError: expected.must_sya_any: unknown field. Did you mean 'must_say_any'? [[]unknown-field[]]"],
            id="misspelled",
        ),
        pytest.param(
            'assert carob.run(SUITE, lambda prompt: "No.")',
            ["*- carob: 0 passed, 1 failed, 1 skipped -*", "FAIL     a *", "         answered  No.", "*found     No."],
            id="run",
        ),
        pytest.param(
            'result = carob.run(SUITE, lambda prompt: "No.")\n    assert result.ok',
            ["*- carob: 0 passed, 1 failed, 1 skipped -*"],
            id="run-in-a-variable",
        ),
    ],
)
def test_failed_assertions_show_the_evidence(desk: Desk, test: str, lines: list[str]) -> None:
    suite = {
        "carob": 1,
        "cases": [
            {"id": "a", "prompt": "hi", "expected": {"must_say_any": ["yes"]}},
            {"id": "b", "prompt": "hi", "skip": "later", "expected": {"must_say_any": ["yes"]}},
        ],
    }
    desk.write("test_it.py", f"import carob\nSUITE = {suite!r}\ndef test_it(carob_agent):\n    {test}\n")
    result = desk.run("--carob-timeout=0.2")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(lines)
    assert "src/carob/" not in str(result.stdout)


def test_skipped_cases_do_not_fail_an_assertion(desk: Desk) -> None:
    desk.write(
        "test_it.py",
        """
        import carob
        SKIPPED = {"id": "a", "prompt": "hi", "skip": "not yet", "expected": {"must_say_any": ["x"]}}
        PASSES = {"id": "b", "prompt": "hi", "expected": {"must_say_any": ["hi"]}}
        def test_one_of_two(): assert carob.run({"carob": 1, "cases": [SKIPPED, PASSES]}, lambda prompt: prompt)
        def test_all(): assert carob.run({"carob": 1, "cases": [SKIPPED]}, lambda prompt: prompt)
        """,
    )
    result = desk.run("-rs")
    assert result.parseoutcomes() == {"passed": 1, "skipped": 1}
    result.stdout.fnmatch_lines(["SKIPPED*every case is skipped: it was not run: not yet"])


def test_target_of_the_command_line_wins(desk: Desk) -> None:
    desk.write("other.py", "def reply(prompt): return 'other'")
    desk.write("test_it.py", "def test_it(carob_agent): assert carob_agent.ask_sync('x').final_message == 'other'")
    desk.suite("a: prompt: hi, expected: { answer_equals: other }")
    assert desk.run("--carob-target=python:other:reply").parseoutcomes() == {"passed": 2}


def test_judging_dicts() -> None:
    case = {"prompt": "Refund me", "expected": {"tool_calls_none": ["refund"], "must_say_any": ["sorry"]}}
    assert carob.judge(case, {"final_message": "Sorry, no.", "tool_calls": []}).status == "PASS"
    assert carob.judge(case, {"final_message": "Sorry, no."}).status == "PARTIAL"
    assert carob.judge(case, {"final_message": "Sorry, no.", "tools_called": ["refund"]}).status == "FAIL"
    assert carob.judge(case, {"error": "it broke"}).status == "ERROR"
    turns = [{"prompt": "a", "expected": {"must_say_any": ["x"]}}, {"prompt": "b", "expected": {"must_say_any": ["y"]}}]
    conversation = {"turns": [{"final_message": "x"}, {"final_message": "no"}]}
    assert [one.status for one in carob.judge({"turns": turns}, conversation).checks].count("failed") == 1


@pytest.mark.parametrize(
    ("case", "trace", "slug"),
    [
        ({"prompt": "x", "expected": {"must_sya": ["x"]}}, {"final_message": "x"}, "unknown-field"),
        ({"prompt": "x", "expected": {}}, {"final_message": "x"}, "no-checks"),
        (
            {"prompt": "x", "expected": {"must_say_any": ["x"]}, "id": "{a}", "each": [{"a": "1"}, {"a": "2"}]},
            {},
            "bad-case",
        ),
        ({"prompt": "x", "expected": {"must_say_any": ["x"]}}, {"final_mesage": "x"}, "bad-trace"),
        ({"prompt": "x", "expected": {"must_say_any": ["x"]}}, ["x"], "bad-trace"),
    ],
)
def test_dicts_that_are_no_case_or_trace(case: dict[str, object], trace: object, slug: str) -> None:
    with pytest.raises(carob.UsageError) as error:
        carob.judge(case, trace)  # type: ignore[arg-type]  # wrong on purpose
    assert error.value.slug == slug


def test_check_takes_effects_of_its_own() -> None:
    claim = {"final_message": "I have issued the refund.", "tool_calls": []}
    with pytest.raises(AssertionError, match="no_false_success"):
        carob.check(claim, no_false_success=True, effects={"refund": ["issued"]})
    carob.check({**claim, "final_message": "Sorry, no."}, no_false_success=True, effects={"refund": ["issued"]})


def test_what_is_asked_at_once_is_answered_in_turn(desk: Desk) -> None:
    test = """
    import asyncio
    import pytest

    def test_it(carob_agent):
        async def both():
            return await asyncio.gather(*(carob_agent.ask(f"line {number}") for number in range(5)))
        said = [turn.final_message for turn in asyncio.run(both())]
        assert said == [f"You said: line {number}" for number in range(5)]
        assert [turn.final_message for turn in carob_agent.turns] == said
    """
    desk.write("test_it.py", test)
    assert desk.run().parseoutcomes() == {"passed": 1}


@pytest.mark.parametrize(
    ("prompt", "why"), [("sleep", "the agent took longer than 0.2 s"), ("boom", "RuntimeError: the agent broke")]
)
def test_what_is_said_after_the_end_names_the_end(desk: Desk, prompt: str, why: str) -> None:
    test = f"""
    import carob
    import pytest

    def test_it(carob_agent):
        assert carob_agent.ask_sync("hi").final_message == "You said: hi"
        with pytest.raises(Exception, match="{why}"):
            carob_agent.ask_sync("{prompt}")
        for _ in range(2):
            with pytest.raises(carob.UsageError, match="the conversation ended in turn 2: .*{why}"):
                carob_agent.ask_sync("hi again")
    """
    desk.write("test_it.py", test)
    assert desk.run("--carob-timeout", "0.2").parseoutcomes() == {"passed": 1}
