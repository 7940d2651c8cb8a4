"""Trajectory files in the format of tau-bench: a list of `{task_id, trial, reward, info: {task}, traj: [messages]}`."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.published.conversations import Call, Conversation, Task, Turn

STOP = "###STOP###"
"""What the simulated user says once it is done."""
HAND_OVER = "transfer_to_human_agents"
"""The tool that ends a conversation."""

Message = Mapping[str, Any]


class Trajectories(NamedTuple):
    """The conversations of a file, and how many of its runs broke before there was one."""

    conversations: list[Conversation]
    broken: int


def published_file(clone: Path, model: str, domain: str) -> Path:
    """Where a clone of tau-bench keeps the trajectories that its authors published."""
    return clone / "historical_trajectories" / f"{model}-{domain}.json"


def policy_file(clone: Path, domain: str) -> Path:
    """The text that the agent was given as its policy."""
    return clone / "tau_bench" / "envs" / domain / "wiki.md"


def read_trajectories(path: Path, domain: str) -> Trajectories:
    runs = json.loads(path.read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    conversations = []
    for run in runs:
        name = f"{domain}-{run['task_id']}-{run['trial']}"
        seen[name] += 1
        turns = tuple(_turns(run["traj"]))
        if turns:
            unique = name if seen[name] == 1 else f"{name}-{seen[name]}"
            task = _task(run["info"].get("task", {}))
            conversations.append(Conversation(unique, task, turns, float(run["reward"]), _ended(run["traj"])))
    return Trajectories(conversations, len(runs) - len(conversations))


def _task(task: Mapping[str, Any]) -> Task:
    actions = tuple(Call(action["name"], action["kwargs"]) for action in task.get("actions", ()))
    return Task(actions, tuple(task.get("outputs", ())))


def _ended(messages: Sequence[Message]) -> bool:
    """Whether the user was done or was handed over. Else the step limit cut it off, and the reward is 0."""
    last = messages[-1]
    return STOP in (last.get("content") or "") if last["role"] == "user" else last.get("name") == HAND_OVER


def _turns(messages: Sequence[Message]) -> Iterator[Turn]:
    """A turn begins with the user's words and ends with the answer, or where the messages end."""
    prompt: str | None = None
    calls: list[Call] = []
    asides: list[str] = []
    for message in messages:
        words = message.get("content") or ""
        if message["role"] == "user":
            prompt, calls, asides = words, [], []
        elif prompt is None:
            continue
        elif message["role"] == "tool":
            calls[-1] = calls[-1]._replace(result=words)
        elif message["role"] == "assistant" and message.get("tool_calls"):
            calls.append(_call(message["tool_calls"][0]["function"]))  # tau-bench runs no other of the same message
            asides += [words] if words else []
        elif message["role"] == "assistant":
            yield Turn(prompt, tuple(calls), tuple(asides), words)
            prompt = None
    if prompt is not None and calls:
        yield Turn(prompt, tuple(calls), tuple(asides))


def _call(function: Mapping[str, Any]) -> Call:
    """Arguments are JSON; some programs that run tau-bench wrote what they added as Python."""
    arguments = function["arguments"]
    try:
        return Call(function["name"], json.loads(arguments))
    except ValueError:
        return Call(function["name"], ast.literal_eval(arguments))
