"""`llama-index:module:agent`: an agent of LlamaIndex, an AgentWorkflow, or a workflow that begins with one field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, result, words
from carob.plugins.features import load
from carob.targets.base import TargetError


class LlamaIndexAgent(FrameworkAgent):
    package, modules = "llama-index-core", ("llama_index", "workflows")
    classes = ("FunctionAgent", "BaseWorkflowAgent", "AgentWorkflow", "Workflow")
    _context: Any = None
    _memory: Any = None

    async def ask(self, prompt: Any) -> AgentReply:
        if self._context is None:
            self._context = load("llama_index.core.workflow:Context")(self.agent)
        inputs = {self._field(): prompt}
        if PROMPT in inputs:
            inputs["memory"] = self._memory = self._memory or self._make_memory()
        handler = self.agent.run(**inputs, ctx=self._context)
        events = [event async for event in handler.stream_events()]
        done = await handler
        messages = [message(_ROLES[type(event).__name__], _parts(event, events)) for event in events if _is_said(event)]
        structured = getattr(done, "structured_response", None)
        output = structured or (str(done) if hasattr(done, "response") else done)
        return AgentReply(output, messages, shows_models=PROMPT in inputs)

    def _make_memory(self) -> Any:
        """The memory that the agent would make itself, and that not every version keeps in the context."""
        llm = getattr(self.agent, "llm", None) or self.agent.agents[self.agent.root_agent].llm
        return load("llama_index.core.memory:ChatMemoryBuffer").from_defaults(llm=llm)

    def _field(self) -> str:
        """What the workflow takes the prompt by."""
        names = {kind.__name__ for kind in type(self.agent).__mro__}
        if names & {"BaseWorkflowAgent", "AgentWorkflow"}:
            return PROMPT
        start = getattr(self.agent, "start_event_class", None) or self.agent._start_event_class
        fields = list(start.model_fields)
        if len(fields) != 1:
            message = (
                f"the workflow begins with {start.__name__}, which has {len(fields)} fields: give it one for the prompt"
            )
            raise TargetError("config", message)
        return str(fields[0])


PROMPT = "user_msg"
_ROLES = {"AgentOutput": "assistant", "ToolCallResult": "tool"}


def _is_said(event: Any) -> bool:
    return type(event).__name__ in _ROLES


def _parts(event: Any, events: list[Any]) -> Iterator[object]:
    """What a model said, or was given. The last thing that is said lists the calls of the whole turn again."""
    if type(event).__name__ == "ToolCallResult":
        yield result(event.tool_id, event.tool_output.content, failed=event.tool_output.is_error)
        return
    yield words(event.response.content or "")
    place = next(number for number, each in enumerate(events) if each is event)
    answered = {each.tool_id for each in events[:place] if type(each).__name__ == "ToolCallResult"}
    for asked in (each for each in event.tool_calls if each.tool_id not in answered):
        yield call(asked.tool_id, asked.tool_name, asked.tool_kwargs)
