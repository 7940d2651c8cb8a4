"""`smolagents:module:agent`: a CodeAgent or a ToolCallingAgent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, words

INTERPRETER = "python_interpreter"
"""What smolagents calls the code of a CodeAgent, as if it were a tool."""


class SmolAgent(FrameworkAgent):
    package, modules = "smolagents", ("smolagents",)
    classes = ("CodeAgent", "ToolCallingAgent", "MultiStepAgent")
    keeps_conversation = True
    _is_new = True

    def ask(self, prompt: Any) -> AgentReply:
        steps = [] if self._is_new else [*self.agent.memory.steps]
        output = self.agent.run(prompt, reset=self._is_new)
        self._is_new = False
        new = self.agent.memory.steps[len(steps) :]
        said = [message("assistant", _parts(step)) for step in new]
        return AgentReply(output, said, in_code=hasattr(self.agent, "python_executor"))


def _parts(step: Any) -> Iterator[object]:
    said = getattr(step, "model_output", None)
    if isinstance(said, str):
        yield words(said)
    for asked in getattr(step, "tool_calls", None) or ():
        if asked.name != INTERPRETER:
            yield call(asked.id, asked.name, asked.arguments)
