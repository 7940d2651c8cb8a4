"""`openai-agents:module:agent`: an Agent of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

from carob.features.frameworks.base import FrameworkAgent
from carob.plugins.features import load


class OpenAiAgent(FrameworkAgent):
    """Its runs are read as those that a `python:` function returns; a handoff lasts, as in the SDK's own chat."""

    package, modules = "openai-agents", ("agents",)
    classes = ("Agent",)
    _history: tuple[Any, ...] = ()

    async def ask(self, prompt: Any) -> Any:
        said = [*self._history, {"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        run = await load("agents:Runner").run(self.agent, said, context=self.given)
        self._history, self.agent = (*run.to_input_list(),), run.last_agent
        return run
