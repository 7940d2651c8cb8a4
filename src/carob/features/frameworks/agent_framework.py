"""`agent-framework:module:agent`: an agent of Microsoft's Agent Framework."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, result, words


class MicrosoftAgent(FrameworkAgent):
    package, modules = "agent-framework-core", ("agent_framework",)
    classes = ("Agent", "BaseAgent", "RawAgent", "WorkflowAgent", "ChatAgent")
    _session: Any = None

    async def ask(self, prompt: Any) -> AgentReply:
        if self._session is None:
            self._session = self.agent.create_session()
        done = await self.agent.run(prompt, session=self._session)
        said = [message(str(each.role), _parts(each)) for each in done.messages]
        return AgentReply(done.value or done.text, said, shows_models=not hasattr(self.agent, "workflow"))


def _parts(said: Any) -> Iterator[object]:
    for part in said.contents:
        if part.type == "function_call":
            yield call(part.call_id, part.name, part.arguments)
        elif part.type == "function_result":
            yield result(part.call_id, part.result, failed=part.exception is not None)
        elif part.type == "text":
            yield words(part.text)
