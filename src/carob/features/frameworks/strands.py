"""`strands:module:agent`: an Agent of Strands, or several as a Graph or Swarm."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from carob.features.frameworks.base import AgentReply, FrameworkAgent


class StrandsAgent(FrameworkAgent):
    package, modules = "strands-agents", ("strands",)
    classes = ("Agent", "MultiAgentBase")
    keeps_conversation = True
    _first: ClassVar[WeakKeyDictionary[Any, Any]] = WeakKeyDictionary()
    """The messages that each agent was made with."""

    def __init__(self, agent: Any, given: Any, conversation_id: str) -> None:
        super().__init__(agent, given, conversation_id)
        for each in _agents(agent):
            each.messages[:] = deepcopy(self._first.setdefault(each, deepcopy(each.messages)))

    async def ask(self, prompt: Any) -> AgentReply:
        before = [(each, len(each.messages)) for each in _agents(self.agent)]
        done = await self.agent.invoke_async(prompt)
        said = [message for each, count in before for message in each.messages[count:]]
        if hasattr(done, "results"):
            return AgentReply("\n".join(str(each.result).strip() for each in done.results.values()), said)
        return AgentReply(getattr(done, "structured_output", None) or str(done).strip(), said)


def _agents(agent: Any) -> Iterator[Any]:
    """The agent, or those of a Graph or Swarm."""
    if hasattr(agent, "messages"):
        yield agent
    for node in getattr(agent, "nodes", {}).values():
        yield from _agents(node.executor)
