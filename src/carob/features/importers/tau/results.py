"""Trajectories of tau-bench and tau2: conversations of an agent with a simulated user, several trials of a task."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Required, TypedDict

from carob.evidence.exports.record import RecordedCase
from carob.evidence.exports.results import ResultReader
from carob.model.trace import BY_ITSELF
from carob.providers.messages import read_call_entry
from carob.suites.shapes.foreign import require_type
from carob.text.python_values import read_repr

STOP = "###STOP###"
"""What the simulated user of tau-bench says once it is done."""
HAND_OVER = "transfer_to_human_agents"
"""The tool that ends a conversation of tau-bench."""
ENDS = ("user_stop", "agent_stop")
"""How a simulation of tau2 ends that no limit cut off."""
RESPOND = "respond"
"""The action of an agent without tool calls that says its `content` to the user."""
OBSERVED = "API output: "
"""What the result of an action begins with, in a message of the user."""
_NO_INPUT = "(the agent begins)"


class _Function(TypedDict):
    name: str
    arguments: str | dict[str, Any]


class _FunctionCall(TypedDict, total=False):
    id: str
    function: Required[_Function]


class _PlainCall(_Function, total=False):
    id: str
    function: _Function


class _Message(TypedDict, total=False):
    role: Required[str]
    content: str
    name: str
    id: str
    tool_call_id: str
    tool_calls: list[_FunctionCall | _PlainCall]
    tool_messages: list[dict[str, Any]]


class _Trial(TypedDict):
    task_id: int | str
    traj: list[_Message]


class _History(TypedDict, total=False):
    message_history: list[Any]


class _Task(TypedDict, total=False):
    id: Required[int | str]
    initial_state: _History


class _Simulation(TypedDict, total=False):
    task_id: Required[int | str]
    messages: Required[list[_Message]]
    termination_reason: str


def _read_trial(run: Any) -> Iterator[RecordedCase]:
    require_type(run, _Trial)
    messages = run["traj"]
    if not any(message.get("tool_calls") for message in messages):
        messages = [*_read_actions(messages)]
    yield RecordedCase(f"task-{run['task_id']}", _form(messages, _limit(messages)), simulated=True)


def _split_simulations(row: Mapping[str, Any]) -> Iterator[Any]:
    """The simulations, without the messages that their tasks made up."""
    require_type(row["tasks"], list[_Task])
    history = {str(task["id"]): _history(task) for task in row["tasks"]}
    for run in row["simulations"]:
        begins = history.get(str(run.get("task_id")), 0) if isinstance(run, Mapping) else 0
        yield {**run, "messages": run["messages"][begins:]} if begins and isinstance(run.get("messages"), list) else run


def _read_simulation(run: Any) -> Iterator[RecordedCase]:
    require_type(run, _Simulation)
    reason = str(run.get("termination_reason"))
    form = _form(run["messages"], "" if reason in ENDS else reason)
    yield RecordedCase(str(run["task_id"]), form, simulated=True)


TAU_BENCH = ResultReader(_read_trial)
"""Rows of `{task_id, trial, reward, info, traj}`."""
TAU2 = ResultReader(_read_simulation, _split_simulations)
"""An object with `tasks` and `simulations`."""


def _history(task: Mapping[str, Any]) -> int:
    """How many messages a conversation begins with that the task made up."""
    return len((task.get("initial_state") or {}).get("message_history") or ())


def _limit(messages: Sequence[Mapping[str, Any]]) -> str:
    """What cut a conversation off: the step limit, unless the user was done or was handed over."""
    last = messages[-1] if messages else {}
    if last.get("role") == "user":
        return "" if STOP in (last.get("content") or "") else "max_steps"
    return "" if last.get("name") == HAND_OVER else "max_steps"


def _read_actions(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Messages of an agent that writes its calls as text, `Action:` and JSON, with these as calls."""
    called: str | None = None
    for number, message in enumerate(messages):
        words = message.get("content") or ""
        if called is not None and message["role"] == "user" and words.startswith(OBSERVED):
            content = words.removeprefix(OBSERVED)
            yield {"role": "tool", "id": str(number - 1), "name": called, "content": content}
            called = None
            continue
        called, action = None, _read_action(words) if message["role"] == "assistant" else None
        if action is None:
            yield {**message}
        elif action["name"] == RESPOND:
            yield {**message, "content": str(action["arguments"].get("content", ""))}
        else:
            called = action["name"]
            yield {**message, "content": None, "tool_calls": [{"id": str(number), **action}]}


def _read_action(words: str) -> dict[str, Any] | None:
    try:
        action = json.loads(words.rpartition("Action:")[2])
    except (ValueError, RecursionError):
        return None
    is_action = isinstance(action, dict) and isinstance(action.get("name"), str)
    return action if is_action and isinstance(action.get("arguments"), dict) else None


def _form(messages: Sequence[Mapping[str, Any]], limit: str) -> dict[str, Any]:
    turns = [*_turns(messages)]
    if not turns:
        return {"error": "the run broke before there was an answer"}
    turns[-1]["ended_by"] = limit or BY_ITSELF
    return {"turns": turns}


def _turns(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A turn begins with the user's words and ends with the answer, or where the messages end."""
    turn = _new_turn(_NO_INPUT)
    calls: dict[str, dict[str, Any]] = {}
    for message in messages:
        role, words = message["role"], message.get("content") or ""
        if role == "user" and words:
            if turn["tool_calls"] or turn["messages"]:
                yield turn
            turn = _new_turn(words)
        if role in ("user", "assistant"):
            for call in message.get("tool_calls") or ():
                turn["tool_calls"].append(calls.setdefault(str(call.get("id")), _call(call, role)))
        if role == "assistant" and words:
            turn["messages"].append({"role": "assistant", "content": words})
            turn["final_message"] = words if not message.get("tool_calls") else turn["final_message"]
        if role == "tool":
            for result in message.get("tool_messages") or [message]:
                _end(calls.pop(str(result.get("tool_call_id", result.get("id"))), None), result)
    if turn["tool_calls"] or turn["messages"]:
        yield turn


def _new_turn(words: str) -> dict[str, Any]:
    return {"input": words, "final_message": "", "tool_calls": [], "messages": [], "ended_by": BY_ITSELF}


def _call(call: Mapping[str, Any], role: str) -> dict[str, Any]:
    asked = read_call_entry(call)
    if asked is None:
        raise ValueError("a call has no name")
    arguments = _read_python(asked.arguments) if isinstance(asked.arguments, str) else asked.arguments
    return {"name": f"{'user.' if role == 'user' else ''}{asked.name}", "arguments": arguments, "unfinished": True}


def _read_python(arguments: str) -> Any:
    """Arguments as Python, as some programs that run tau-bench write them; else the text that they are."""
    try:
        return read_repr(arguments)
    except ValueError:
        return {"": arguments}


def _end(call: dict[str, Any] | None, result: Mapping[str, Any]) -> None:
    if call is not None:
        del call["unfinished"]
        call["result"] = result.get("content")
        if result.get("error"):
            call["success"] = False
