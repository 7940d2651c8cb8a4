"""`haystack:module:agent`: an Agent of Haystack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, result, words
from carob.plugins.features import load


class HaystackAgent(FrameworkAgent):
    package, modules = "haystack-ai", ("haystack",)
    classes = ("Agent",)
    _history: tuple[Any, ...] = ()

    def ask(self, prompt: Any) -> AgentReply:
        said = [*self._history, load("haystack.dataclasses:ChatMessage").from_user(prompt)]
        done = self.agent.run(messages=said)["messages"]
        self._history = tuple(each for each in done if each.role.value != "system")
        new = self._history[len(said) :]
        return AgentReply(done[-1].text, [message(each.role.value, _parts(each)) for each in new])


def _parts(said: Any) -> Iterator[object]:
    yield words(said.text or "")
    for asked in said.tool_calls:
        yield call(asked.id, asked.tool_name, asked.arguments)
    for given in said.tool_call_results:
        yield result(given.origin.id, given.result, failed=given.error)
