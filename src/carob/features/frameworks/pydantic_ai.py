"""`pydantic-ai:module:agent`: an Agent of Pydantic AI. What the setup hook returns are its dependencies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, result, words
from carob.model.trace import Tokens


class PydanticAgent(FrameworkAgent):
    package, modules = "pydantic-ai", ("pydantic_ai",)
    classes = ("Agent", "AbstractAgent")
    _history: Any = None

    async def ask(self, prompt: Any) -> AgentReply:
        run = await self.agent.run(prompt, message_history=self._history, deps=self.given)
        self._history = run.all_messages()
        output = run.output if hasattr(run, "output") else run.data  # before 0.1
        usage = run.usage() if callable(run.usage) else run.usage
        tokens = [getattr(usage, new, getattr(usage, old, None)) for new, old in _COUNTS]
        said = [message(each.kind, _parts(each)) for each in run.new_messages()]
        return AgentReply(output, said, Tokens(*tokens) if any(tokens) else None)


_COUNTS = (("input_tokens", "request_tokens"), ("output_tokens", "response_tokens"))


def _parts(said: Any) -> Iterator[object]:
    for part in said.parts:
        if part.part_kind in ("tool-call", "builtin-tool-call"):
            yield call(part.tool_call_id, part.tool_name, part.args)
        elif part.part_kind in ("tool-return", "retry-prompt", "builtin-tool-return") and part.tool_name:
            yield result(part.tool_call_id, part.content, failed=part.part_kind == "retry-prompt")
        elif part.part_kind == "text":
            yield words(part.content)
