"""A rule-based chat model: it reads requests by a grammar and picks tools and words by rules. No key, no network."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from dyno_agent.language.planning import Call, plan
from dyno_agent.language.request import Request, continued, read_request
from dyno_agent.language.wording import words_for
from dyno_agent.policy import DEFAULT_NOW

_AS_JSON = re.compile(r"\bas json\b", re.IGNORECASE)
_TODAY = re.compile(r"Current time: (\d{4}-\d{2}-\d{2})")


class RuleBasedChatModel(BaseChatModel):
    """Stands where a language model would: messages in, tool calls or words out."""

    @property
    def _llm_type(self) -> str:
        return "rule-based"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools; the rules choose among them."""
        names = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        return self.bind(tool_names=names, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = _next_message(messages, kwargs.get("tool_names", ()))
        answer.usage_metadata = _words_used(messages, answer)
        answer.response_metadata = {"finish_reason": "tool_calls" if answer.tool_calls else "stop"}
        if run_manager is not None and answer.text:
            run_manager.on_llm_new_token(answer.text)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def _next_message(messages: Sequence[BaseMessage], tool_names: Sequence[str]) -> AIMessage:
    results = _results_of_this_turn(messages)
    if results and _AS_JSON.search(_last_request(messages)):
        return AIMessage(f"```json\n{results[-1].text}\n```")
    if results:
        return AIMessage(words_for(results))
    step = plan(_understood(messages))
    if isinstance(step, str):
        return AIMessage(step)
    unknown = sorted({call.tool for call in step} - set(tool_names))
    if unknown:
        return AIMessage(f"Sorry, I have no tool for that here ({', '.join(unknown)}).")
    return AIMessage("", tool_calls=_tool_calls(step, messages))


def _words_used(messages: Sequence[BaseMessage], answer: AIMessage) -> UsageMetadata:
    """What stands for tokens in a model that has none: words."""
    read, written = sum(len(message.text.split()) for message in messages), len(answer.text.split())
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _last_request(messages: Sequence[BaseMessage]) -> str:
    return next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")


def _results_of_this_turn(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage):
            results.insert(0, message)
    return results


def _understood(messages: Sequence[BaseMessage]) -> Request:
    """The latest request; an answer to a question is read together with what the question was about."""
    today = _today(messages)
    request = read_request("", today)
    asked = False
    for message in messages:
        if isinstance(message, HumanMessage):
            said = read_request(message.text, today)
            request = continued(request, said) if asked else said
        elif isinstance(message, AIMessage):
            asked = not message.tool_calls and "?" in message.text
    return request


def _today(messages: Sequence[BaseMessage]) -> date:
    """The day that the system prompt states."""
    for message in messages:
        if isinstance(message, SystemMessage) and (stated := _TODAY.search(message.text)):
            return date.fromisoformat(stated[1])
    return DEFAULT_NOW.date()


def _tool_calls(step: Sequence[Call], messages: Sequence[BaseMessage]) -> list[Any]:
    made = sum(len(message.tool_calls) for message in messages if isinstance(message, AIMessage))
    return [
        {"name": call.tool, "args": call.arguments, "id": f"call_{number}", "type": "tool_call"}
        for number, call in enumerate(step, made + 1)
    ]
