"""Trajectories of tau-bench and tau2: conversations of an agent with a simulated user, several trials of a task."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Required, TypedDict

from karat.model.trace import BY_ITSELF
from karat.targets.recordings.result_files import RecordedCase, ResultFile
from karat.text.python_values import read_repr

STOP = "###STOP###"
"""What the simulated user of tau-bench says once it is done."""
HAND_OVER = "transfer_to_human_agents"
"""The tool that ends a conversation of tau-bench."""
ENDS = ("user_stop", "agent_stop")
"""How a simulation of tau2 ends that no limit cut off."""
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


class _Simulations(TypedDict):
    tasks: list[_Task]
    simulations: list[_Simulation]


class TauBenchTrajectories(ResultFile):
    """A list of `{task_id, trial, reward, info, traj}`."""

    shape: ClassVar = list[_Trial]

    def recognizes(self, first: object) -> bool:
        return isinstance(first, list) and bool(first) and isinstance(first[0], dict) and "traj" in first[0]

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        repeats: Counter[str] = Counter()
        for run in values[0]:
            name = f"task-{run['task_id']}"
            yield RecordedCase(name, _form(run["traj"], _limit(run["traj"])), repeats[name], simulated=True)
            repeats[name] += 1


class Tau2Results(ResultFile):
    """An object with `simulations`."""

    shape: ClassVar = list[_Simulations] | _Simulations

    def recognizes(self, first: object) -> bool:
        return isinstance(first, dict) and "simulations" in first and "tasks" in first

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        repeats: Counter[str] = Counter()
        history = {str(task["id"]): _history(task) for task in values[0]["tasks"]}
        for run in values[0]["simulations"]:
            name, reason = str(run["task_id"]), str(run.get("termination_reason"))
            messages = run["messages"][history.get(name, 0) :]
            form = _form(messages, "" if reason in ENDS else reason)
            yield RecordedCase(name, form, repeats[name], simulated=True)
            repeats[name] += 1


def _history(task: Mapping[str, Any]) -> int:
    """How many messages a conversation begins with that the task made up."""
    return len((task.get("initial_state") or {}).get("message_history") or ())


def _limit(messages: Sequence[Mapping[str, Any]]) -> str:
    """What cut a conversation off: the step limit, unless the user was done or was handed over."""
    last = messages[-1] if messages else {}
    if last.get("role") == "user":
        return "" if STOP in (last.get("content") or "") else "max_steps"
    return "" if last.get("name") == HAND_OVER else "max_steps"


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
    about = call["function"] if isinstance(call.get("function"), dict) else call
    arguments = about["arguments"]
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = _read_python(arguments)
    return {"name": f"{'user.' if role == 'user' else ''}{about['name']}", "arguments": arguments, "unfinished": True}


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
