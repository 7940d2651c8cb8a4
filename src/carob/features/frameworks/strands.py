"""`strands:module:agent`: an Agent of Strands, or several as a Graph or Swarm."""

from __future__ import annotations

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
        if hasattr(agent, "messages"):
            agent.messages[:] = deepcopy(self._first.setdefault(agent, deepcopy(agent.messages)))

    async def ask(self, prompt: Any) -> AgentReply:
        before = len(getattr(self.agent, "messages", ()))
        done = await self.agent.invoke_async(prompt)
        if hasattr(done, "results"):
            return AgentReply("\n".join(str(each.result).strip() for each in done.results.values()))
        return AgentReply(done.structured_output or str(done).strip(), self.agent.messages[before + 1 :])
