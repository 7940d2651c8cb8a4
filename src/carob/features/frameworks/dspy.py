"""`dspy:module:program`: a module of DSPy, such as ReAct, with one input besides its history."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, result, words
from carob.plugins.features import load
from carob.targets.base import TargetError
from carob.text.wording import join_words

HISTORY = "history"
FINISH = "finish"
"""The tool by which ReAct ends."""
WORKING = frozenset({"reasoning", "trajectory"})


class DspyProgram(FrameworkAgent):
    package, modules = "dspy", ("dspy",)
    classes = ("Module",)

    def __init__(self, agent: Any, given: Any, conversation_id: str) -> None:
        super().__init__(agent, given, conversation_id)
        self._history: list[dict[str, object]] = []

    def ask(self, prompt: Any) -> AgentReply:
        names = [*self._inputs()]
        inputs = {name: prompt for name in names if name != HISTORY}
        if len(inputs) != 1:
            message_ = f"the program has the inputs {join_words(names, 'and')}: a prompt fills one besides `{HISTORY}`"
            raise TargetError("config", message_)
        about = {HISTORY: load("dspy:History")(messages=self._history)} if HISTORY in names else {}
        done = self.agent(**inputs, **about)
        outputs = {name: done[name] for name in done.keys() if name not in WORKING}  # noqa: SIM118 - not a dict
        self._history = [*self._history, {**inputs, **outputs}]
        steps = done["trajectory"] if "trajectory" in done.keys() else {}  # noqa: SIM118
        said = [message(role, parts) for number in range(len(steps)) for role, parts in _step(steps, number)]
        return AgentReply(next(reversed(outputs.values()), None), said, shows_models="trajectory" in done.keys())  # noqa: SIM118

    def _inputs(self) -> Any:
        signature = getattr(self.agent, "signature", None)
        if signature is not None:
            return signature.input_fields
        return inspect.signature(self.agent.forward).parameters


def _step(steps: dict[str, Any], number: int) -> Iterator[tuple[str, list[object]]]:
    name = steps.get(f"tool_name_{number}")
    if name is not None and name != FINISH:
        yield (
            "assistant",
            [words(str(steps.get(f"thought_{number}"))), call(number, name, steps.get(f"tool_args_{number}"))],
        )
        yield "tool", [result(number, steps.get(f"observation_{number}"))]
