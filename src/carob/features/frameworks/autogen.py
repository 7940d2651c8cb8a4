"""`autogen:module:agent`: an agent or a team of AutoGen's AgentChat."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, result, words
from carob.model.trace import Tokens


class AutogenAgent(FrameworkAgent):
    package, modules = "autogen-agentchat", ("autogen_agentchat",)
    classes = ("AssistantAgent", "BaseChatAgent", "BaseGroupChat")
    keeps_conversation = True
    _first: ClassVar[WeakKeyDictionary[Any, Any]] = WeakKeyDictionary()
    """The state that each agent was made with."""
    _is_new = True

    async def ask(self, prompt: Any) -> AgentReply:
        if self._is_new:
            if self.agent not in self._first:
                self._first[self.agent] = deepcopy(dict(await self.agent.save_state()))
            await self.agent.load_state(deepcopy(self._first[self.agent]))
            self._is_new = False
        done = await self.agent.run(task=prompt)
        used = [said.models_usage for said in done.messages if said.models_usage]
        tokens = Tokens(sum(each.prompt_tokens for each in used), sum(each.completion_tokens for each in used))
        said = [message("user" if each.source == "user" else "assistant", _parts(each)) for each in done.messages]
        return AgentReply(done.messages[-1].to_text(), said, tokens if used else None)


def _parts(said: Any) -> Iterator[object]:
    for part in said.content if isinstance(said.content, list) else [said.content]:
        if hasattr(part, "arguments"):
            yield call(part.id, part.name, part.arguments)
        elif hasattr(part, "call_id"):
            yield result(part.call_id, part.content, failed=bool(part.is_error))
        elif isinstance(part, str):
            yield words(part)
