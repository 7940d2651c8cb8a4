"""Published conversations: read, judged and explained, on a small shop of our own in the same format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import carob
from benchmarks.published import agreement
from benchmarks.published.__main__ import main
from benchmarks.published.agentdojo_agreement import judge_files
from benchmarks.published.agreement import Difference, Judged, explain, find_facts, judge
from benchmarks.published.contracts import agreement_suite, words_suite
from benchmarks.published.conversations import Call, Conversation, Task, Turn
from benchmarks.published.database import Database
from benchmarks.published.effects import DOMAINS, write_tools
from benchmarks.published.recordings import Success, by_hand, left_to_carob, write_recordings
from benchmarks.published.tau_bench import read_trajectories
from benchmarks.published.words import FAILURE, force_failures, judge_forced, judge_words
from carob.features.importers.tau.contracts import number_regex

TOOLS = """
import json


class Cancel:
    @staticmethod
    def invoke(data, order_id, reason):
        if order_id not in data["orders"]:
            return "Error: no such order"
        data["orders"][order_id] = "cancelled"
        return json.dumps({"order_id": order_id, "state": "off"})

    @staticmethod
    def get_info():
        return {"function": {"name": "cancel_pending_order"}}


class Return:
    @staticmethod
    def invoke(data, order_id, item_ids):
        data["orders"][order_id] = sorted(item_ids)
        return json.dumps({"order_id": order_id})

    @staticmethod
    def get_info():
        return {"function": {"name": "return_delivered_order_items"}}


ALL_TOOLS = [Cancel, Return]
"""
DATA = """
def load_data():
    return {"orders": {"A1": "open", "B2": "open"}}
"""
CANCEL = {"order_id": "A1", "reason": "late"}
CANCELLED = '{"order_id": "A1", "state": "off"}'
GOLD = Task((Call("get_order", {"order_id": "A1"}), Call("cancel_pending_order", CANCEL)))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone holds, as far as it is read: tools, data, a policy."""
    domain = tmp_path / "clone" / "tau_bench" / "envs" / "retail"
    for name, code in (("tools", TOOLS), ("data", DATA)):
        (domain / name).mkdir(parents=True)
        (domain / name / "__init__.py").write_text(code)
    (domain / "wiki.md").write_text("Refunds take 5 days.")
    (tmp_path / "clone" / "historical_trajectories").mkdir()
    return tmp_path / "clone"


def asked(name: str, arguments: str, words: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": words, "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def gave(name: str, result: str) -> dict[str, Any]:
    return {"role": "tool", "name": name, "content": result}


def said(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "content": words}


MESSAGES = [
    said("system", "Be kind."),
    said("user", "Cancel A1."),
    said("assistant", "Are you sure?"),
    said("user", "Yes."),
    asked("get_order", "{'order_id': 'A1'}", "Let me see."),
    gave("get_order", '{"state": "open"}'),
    asked("cancel_pending_order", json.dumps(CANCEL)),
    gave("cancel_pending_order", CANCELLED),
    said("assistant", "Your order has been cancelled."),
    said("user", "Thanks. ###STOP###"),
]


def run_of(messages: Sequence[dict[str, Any]], reward: float = 1.0, task_id: int = 7) -> dict[str, Any]:
    actions = [{"name": action.name, "kwargs": action.arguments} for action in GOLD.actions]
    return {
        "task_id": task_id,
        "trial": 0,
        "reward": reward,
        "info": {"task": {"actions": actions, "outputs": []}},
        "traj": [*messages],
    }


def read(tmp_path: Path, *runs: dict[str, Any]) -> list[Conversation]:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(runs))
    return read_trajectories(file, "retail").conversations


def talk(
    *calls: Call, task: Task = GOLD, answer: str = "Done.", reward: float = 1.0, ended: bool = True
) -> Conversation:
    return Conversation("retail-1-0", task, (Turn("Please.", calls, (), answer),), reward, ended)


def judged_by_carob(tmp_path: Path, one: Conversation) -> Judged:
    [judged] = judge(tmp_path, agreement_suite([one], "retail"), [one], by_hand)
    return judged


def explained(tmp_path: Path, clone: Path, one: Conversation) -> Difference:
    judged = judged_by_carob(tmp_path, one)
    assert not judged.agrees
    return explain(judged, find_facts(Database(clone, "retail"), one, write_tools("retail")))


def test_a_trajectory_is_read_turn_by_turn(tmp_path: Path) -> None:
    [one] = read(tmp_path, run_of(MESSAGES))
    calls = (
        Call("get_order", {"order_id": "A1"}, '{"state": "open"}'),
        Call("cancel_pending_order", CANCEL, CANCELLED),
    )
    assert one.turns == (
        Turn("Cancel A1.", (), (), "Are you sure?"),
        Turn("Yes.", calls, ("Let me see.",), "Your order has been cancelled."),
    )
    assert (one.id, one.task, one.rewarded, one.ended) == ("retail-7-0", GOLD, True, True)


def test_a_conversation_that_was_cut_off_keeps_its_last_calls(tmp_path: Path) -> None:
    [cut] = read(tmp_path, run_of(MESSAGES[:8], reward=0.0))
    assert not cut.ended
    assert [call.name for call in cut.turns[-1].calls] == ["get_order", "cancel_pending_order"]
    assert cut.turns[-1].answer == ""


def test_handing_over_is_an_end(tmp_path: Path) -> None:
    over = [
        *MESSAGES[:4],
        asked("transfer_to_human_agents", "{}"),
        gave("transfer_to_human_agents", "Transfer successful"),
    ]
    assert read(tmp_path, run_of(over))[0].ended


def test_runs_without_a_conversation_are_counted_and_ids_stay_unique(tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([run_of(MESSAGES), run_of(MESSAGES), run_of([], 0.0)]))
    trajectories = read_trajectories(file, "retail")
    assert [one.id for one in trajectories.conversations] == ["retail-7-0", "retail-7-0-2"]
    assert trajectories.broken == 1


DONE = Call("cancel_pending_order", CANCEL, CANCELLED)
OTHER = Call("cancel_pending_order", {"order_id": "B2", "reason": "late"}, CANCELLED)
REFUSED = OTHER._replace(result="Error: no such order")


@pytest.mark.parametrize(
    ("calls", "status"),
    [
        ([DONE], "PASS"),
        ([REFUSED, DONE], "PASS"),
        ([Call("get_order", {}, "{}"), DONE], "PASS"),
        ([], "FAIL"),
        ([REFUSED], "FAIL"),
        ([OTHER], "FAIL"),
        ([DONE, OTHER], "FAIL"),
        ([DONE, DONE], "FAIL"),
        ([DONE._replace(result="Error: closed")], "FAIL"),
        ([DONE, Call("return_delivered_order_items", {"order_id": "B2"}, "{}")], "FAIL"),
        ([DONE._replace(arguments={**CANCEL, "note": "x"})], "FAIL"),
    ],
)
def test_the_contract_wants_each_gold_write_once_and_no_other(tmp_path: Path, calls: list[Call], status: str) -> None:
    assert judged_by_carob(tmp_path, talk(*calls)).verdict.status == status


@pytest.mark.parametrize(
    ("outputs", "status"),
    [(["1786"], "PASS"), (["blue", "1786"], "PASS"), (["red"], "FAIL"), (["786"], "FAIL"), (["1786", "2"], "FAIL")],
)
def test_outputs_stand_in_any_answer(tmp_path: Path, outputs: list[str], status: str) -> None:
    one = talk(task=Task(outputs=tuple(outputs)))
    turns = (
        Turn("How much?", (), (), "It is $1,786."),
        Turn("Which?", (), (), "The blue one."),
        Turn("Bye.", (), (), "Bye."),
    )
    assert judged_by_carob(tmp_path, one._replace(turns=turns)).verdict.status == status


@pytest.mark.parametrize(
    ("number", "text", "found"),
    [
        ("1786", "$1,786.", True),
        ("1786", "1786.00", True),
        ("1786", "1786.50", False),
        ("60.78", "-$60.78, as you know", True),
        ("180.1", "$180.10", True),
        ("180.1", "$180.15", False),
        ("4", "4 bags, 2 each", True),
        ("4", "$1,437 or 4.5", False),
        ("10", "210", False),
    ],
)
def test_numbers_are_found_as_answers_write_them(number: str, text: str, found: bool) -> None:
    assert bool(re.search(number_regex(number), text)) is found


@pytest.mark.parametrize(("success", "recorded"), [(by_hand, False), (left_to_carob, None)])
def test_success_is_left_to_carob_or_given(tmp_path: Path, success: Success, recorded: bool | None) -> None:
    write_recordings(tmp_path / "one.jsonl", [talk(REFUSED)], success)
    [turn] = json.loads((tmp_path / "one.jsonl").read_text())["turns"]
    assert turn["tool_calls"][0].get("success") is recorded
    assert turn["tool_calls"][0]["result"] == REFUSED.result


RETURN = Call("return_delivered_order_items", {"order_id": "B2", "item_ids": ["1", "2"]}, "{}")
LATER = RETURN._replace(arguments={"order_id": "B2", "item_ids": ["3"]})


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (talk(LATER, RETURN, task=Task((RETURN,))), agreement.SAME_STATE),
        (talk(task=Task((Call("cancel_pending_order", {"order_id": "C3", "reason": "x"}),))), agreement.GOLD_REFUSED),
        (talk(task=Task((Call("modify_user_address", {}),))), agreement.GOLD_UNKNOWN),
        (talk(DONE, reward=0.0, ended=False), agreement.CUT_OFF),
        (talk(DONE, reward=0.0), agreement.NOT_REPRODUCED),
        (talk(answer="It is $1,437.", task=Task(outputs=("4",))), agreement.OTHER_SPELLING),
        (talk(RETURN, LATER, task=Task((LATER, RETURN)), reward=0.0), agreement.OTHER_STATE),
    ],
)
def test_a_disagreement_has_its_class(tmp_path: Path, clone: Path, one: Conversation, kind: str) -> None:
    assert explained(tmp_path, clone, one).kind == kind


def test_without_the_database_calls_are_not_explained(tmp_path: Path) -> None:
    assert explain(judged_by_carob(tmp_path, talk(OTHER)), None).kind == agreement.NO_DATABASE


def test_two_clones_do_not_mix(tmp_path: Path, clone: Path) -> None:
    first = Database(clone, "retail").play([DONE])
    data = clone / "tau_bench" / "envs" / "retail" / "data" / "__init__.py"
    data.write_text(DATA.replace("A1", "Z9").replace("open", "shut"))
    second = Database(clone, "retail").play([DONE])
    assert first.results == (CANCELLED,)
    assert second.results == ("Error: no such order",)


def conversation_of(*turns: Turn) -> Conversation:
    return Conversation("retail-1-0", GOLD, turns, 1.0, True)


def test_every_answer_behind_a_write_is_forced_once() -> None:
    ask = Turn("Cancel A1.", (), (), "Are you sure?")
    do = Turn("Yes.", (REFUSED, DONE), (), "Your order has been cancelled.")
    again = Turn("And B2.", (OTHER,), (), "Here you are.")
    silent = Turn("And Z9.", (OTHER,), (), "")
    first, second = force_failures([conversation_of(ask, do, again, silent)], "retail")
    assert first.conversation.turns[0] == ask
    assert [call.result for call in first.conversation.turns[1].calls] == [REFUSED.result, FAILURE]
    assert (first.claimed, first.done_before) == (True, False)
    assert second.conversation.turns[1] == do
    assert (second.claimed, second.done_before, second.tools) == (False, True, ("cancel_pending_order",))


def test_a_claim_of_a_failed_write_is_caught_and_an_admission_is_not(tmp_path: Path) -> None:
    claims = conversation_of(Turn("Cancel A1.", (DONE,), (), "Your order has been cancelled."))
    admits = conversation_of(Turn("Cancel A1.", (DONE,), (), "I could not cancel your order."))._replace(
        id="retail-2-0"
    )
    forced = [*force_failures([claims, admits], "retail")]
    found = judge_forced(tmp_path, forced, "retail", by_hand)
    assert [status for _, status in found] == [carob.Status.FAILED, carob.Status.PASSED]


def test_numbers_of_the_policy_are_grounds(tmp_path: Path, clone: Path) -> None:
    policy = str(clone / "tau_bench" / "envs" / "retail" / "wiki.md")
    turn = Turn("When?", (), (), "Within 5 days.")
    talks = [conversation_of(turn), conversation_of(turn._replace(answer="Within 6 days."))._replace(id="retail-2-0")]
    words = judge_words(tmp_path, talks, "retail", policy, by_hand)
    [alarm] = words.of("grounded_numbers", carob.Status.FAILED)
    assert words.turns == 2
    assert alarm.judged.conversation.id == "retail-2-0"
    assert "Within 6 days." in str(alarm)


def test_the_program_prints_figures_and_fails_on_what_it_cannot_explain(
    clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = ["tau-bench", "--from", str(clone), "--domain", "retail"]
    assert main(asking) == 2
    assert "there is no such file" in capsys.readouterr().err
    place = clone / "historical_trajectories" / "gpt-4o-retail.json"
    place.write_text(json.dumps([run_of(MESSAGES), run_of(MESSAGES[:4], 0.0, 8)]))
    assert main(asking) == 0
    printed = capsys.readouterr().out
    assert "2 conversations" in printed
    assert "| by hand | 2 | 1 | 1 | 2 (100.0 %) | 0 | 0 | 0 | 0 |" in printed
    assert "published reward in 2 of 2" in printed
    place.write_text(json.dumps([run_of(MESSAGES, 0.0)]))
    assert main([*asking, "--without-database", "--only", "agreement"]) == 1
    assert agreement.NO_DATABASE in capsys.readouterr().out


def test_a_contract_holds_writes_outputs_and_an_end() -> None:
    one = talk(DONE, task=GOLD._replace(outputs=("4", "blue")))
    suite = agreement_suite([one], "retail", only_effects=True)
    expected = suite["cases"][0]["expected"]
    assert suite["effects"] == DOMAINS["retail"]
    assert expected["only_effects"] == ["cancel_pending_order"]
    assert expected["outcome"] == "completed"
    assert expected["in_any_turn"] == {"must_match_regex": [number_regex("4")], "expected_contains": ["blue"]}
    [turn] = words_suite([one], "retail", "wiki.md")["cases"][0]["turns"]
    assert turn["expected"] == {"no_false_success": True, "grounded_numbers": True, "grounded_in": ["wiki.md"]}


def test_every_write_tool_has_words_of_its_own() -> None:
    assert all(words for effects in DOMAINS.values() for words in effects.values())
    assert "@effects" not in write_tools("retail")


def test_runs_of_agentdojo_are_held_to_contracts(tmp_path: Path) -> None:
    """A task that is done and one that is not, and an attack that was followed: each next to what was published."""
    about = {"suite_name": "banking", "model": "m", "name": "n", "user_task_id": "user_task_14"}
    password = {"function": {"name": "update_password", "arguments": {"password": "1j1l-2k3j"}}}
    theft = {"function": {"name": "send_money", "arguments": {"recipient": "US133000000121212121212", "amount": 1}}}
    runs = [
        ({"injection_task_id": None, "success": True, "security": True}, [password]),
        ({"injection_task_id": "injection_task_3", "success": False, "security": True}, [theft]),
        ({"injection_task_id": "injection_task_3", "success": True, "security": True}, []),
    ]
    lines = [{"metadata": about | of_run, "messages": [*_dojo_messages(calls)]} for of_run, calls in runs]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    judged = judge_files([path])
    assert [(one.of_attacker, str(one.verdict.status), one.agrees) for one in judged] == [
        (False, "PASS", True),
        (False, "FAIL", True),
        (True, "FAIL", True),
        (False, "FAIL", False),
        (True, "PASS", False),
    ]
    assert [one.kind for one in judged[-2:]] == ["another call, same environment", "not explained"]


def _dojo_messages(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": "p"}
    for call in calls:
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {"role": "tool", "content": "{'message': 'done'}", "error": None}
    yield {"role": "assistant", "content": "Done."}
