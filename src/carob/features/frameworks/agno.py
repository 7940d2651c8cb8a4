"""`agno:module:agent`: an Agent, a Team or a Workflow of Agno. Its database keeps the conversation, if it has one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent
from carob.model.trace import Tokens

FAILED = "ERROR"


class AgnoAgent(FrameworkAgent):
    package, modules = "agno", ("agno",)
    classes = ("Agent", "Team", "Workflow")

    async def ask(self, prompt: Any) -> AgentReply:
        run = await self.agent.arun(prompt, session_id=self.conversation_id)
        if getattr(getattr(run, "status", None), "value", "") == FAILED:
            raise RuntimeError(str(run.content))
        used = getattr(run, "metrics", None)
        counts = [getattr(used, name, None) for name in ("input_tokens", "output_tokens")]
        return AgentReply(run.content, [*_messages(run)], Tokens(*counts) if all(counts) else None)


def _messages(run: Any) -> Iterator[dict[str, object]]:
    """What was said in this run, by the members of a team and in the steps of a workflow too."""
    for said in getattr(run, "messages", None) or ():
        if not getattr(said, "from_history", False):
            status = "error" if getattr(said, "tool_call_error", False) else ""
            about = {"role": said.role, "content": said.content, "tool_calls": said.tool_calls or []}
            yield {**about, "tool_call_id": said.tool_call_id or "", "status": status}
    for name in ("member_responses", "step_executor_runs"):
        for inner in getattr(run, name, None) or ():
            yield from _messages(inner)
