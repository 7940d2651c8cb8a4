"""The guard as a middleware of LangChain's agents: `create_agent(..., middleware=[guard.middleware()])`.

It sees which message of the model requested a call, and hears what the agent says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage

from carob.features.guard.approvals import ask_framework, hold_answer
from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.decision import Decision


class GuardMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks before each call of a tool of one agent. A refusal is the answer of the tool."""

    def __init__(self, find: Callable[[], GuardedConversation]) -> None:
        super().__init__()
        self._find = find

    def after_model(self, state: Any, runtime: Any) -> None:
        """Hear the answer of the agent. Words beside calls are no answer; a rule knows of them by `beside_words`."""
        messages = state.get("messages") or [None]
        last = messages[-1]
        if isinstance(last, AIMessage) and not last.tool_calls and (text := _words_of(last)):
            self._find().says(text)

    async def aafter_model(self, state: Any, runtime: Any) -> None:
        self.after_model(state, runtime)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        conversation, decision = self._decide(request)
        if not decision:
            return _refusal(request, decision)
        with hold_answer(conversation, decision) as answer:
            try:
                result = handler(_with_judged(request, decision))
            except Exception as error:  # what is cancelled may have been done, so nothing is reported of it
                if not answer.is_taken:
                    conversation.report_error(decision, error)
                raise
        return result if answer.is_taken else _report(conversation, decision, result)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        conversation, decision = self._decide(request)
        if not decision:
            return _refusal(request, decision)
        with hold_answer(conversation, decision) as answer:
            try:
                result = await handler(_with_judged(request, decision))
            except Exception as error:
                if not answer.is_taken:
                    conversation.report_error(decision, error)
                raise
        return result if answer.is_taken else _report(conversation, decision, result)

    def _decide(self, request: ToolCallRequest) -> tuple[GuardedConversation, Decision]:
        conversation, call = self._find(), request.tool_call
        about = _find_message(request)
        return conversation, ask_framework(conversation, call["name"], call["args"], call["id"] or "", **about)


def _find_message(request: ToolCallRequest) -> dict[str, Any]:
    """What is known of the message that requested a call; empty: it is not there."""
    state = request.state
    messages = state.get("messages", ()) if isinstance(state, Mapping) else getattr(state, "messages", ())
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, AIMessage) and any(call["id"] == request.tool_call["id"] for call in message.tool_calls):
            return {
                "message": message.id or f"message {place}",
                "parallel": len(message.tool_calls) > 1,
                "beside_words": bool(_words_of(message)),
            }
    return {}


def _words_of(message: AIMessage) -> str:
    return str(message.text).strip()


def _with_judged(request: ToolCallRequest, decision: Decision) -> ToolCallRequest:
    """The request with the arguments that were judged, which nothing else can change."""
    return request.override(tool_call={**request.tool_call, "args": decision.arguments})


def _refusal(request: ToolCallRequest, decision: Decision) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(decision.message, name=call["name"], tool_call_id=call["id"] or "", status="error")


def _report(conversation: GuardedConversation, decision: Decision, answer: Any) -> Any:
    """What came of the call: a message, or a command that may have messages among its updates."""
    message = answer
    if not isinstance(answer, ToolMessage):
        update = getattr(answer, "update", None)
        added = update.get("messages", ()) if isinstance(update, Mapping) else ()
        message = next((one for one in added if isinstance(one, ToolMessage)), None)
    failed = message is not None and message.status == "error"
    conversation.report(decision, None if message is None else message.content, success=False if failed else None)
    return answer
