"""Tool choice for small language models: the answer is held to a JSON schema that spells out every tool."""

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

NO_TOOL = "none"
_MAX_STRING = {"sql": 200}
_MAX_OTHER_STRING = 40
_MAX_TOKENS = 160
PARAGRAPH = "\n\n"


class SchemaToolChatModel(BaseChatModel):
    """Asks a plain chat model for one JSON object per turn that names a tool, then for words about its result."""

    inner: BaseChatModel

    @property
    def _llm_type(self) -> str:
        return "schema-tools"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools."""
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self.bind(functions=functions, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        exchange = _exchange(messages, kwargs.get("functions", ()))
        step = next(exchange)
        while isinstance(step, _Ask):
            step = exchange.send(self.inner.invoke(step.prompt, **step.options))
        return ChatResult(generations=[ChatGeneration(message=step)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        exchange = _exchange(messages, kwargs.get("functions", ()))
        step = next(exchange)
        while isinstance(step, _Ask):
            step = exchange.send(await self.inner.ainvoke(step.prompt, **step.options))
        return ChatResult(generations=[ChatGeneration(message=step)])


@dataclass(frozen=True, slots=True)
class _Ask:
    """One request to the plain model."""

    prompt: list[BaseMessage]
    options: dict[str, Any]


def _exchange(
    messages: Sequence[BaseMessage], functions: Sequence[dict[str, Any]]
) -> Generator[_Ask | AIMessage, AIMessage, None]:
    """The requests that lead to one answer, and at last the answer; who sends them may be sync or async."""
    stated = "\n".join(message.text for message in messages if isinstance(message, SystemMessage))
    turns = [_plain(message) for message in messages if not isinstance(message, SystemMessage)]
    if isinstance(messages[-1], ToolMessage):
        yield (yield _Ask([SystemMessage(_who_and_when(stated)), *turns], {"max_tokens": _MAX_TOKENS}))
        return
    if functions:
        options = {"max_tokens": _MAX_TOKENS, "extra_body": _held_to(choice_schema(functions))}
        choice = yield _Ask([_menu(stated, functions), *turns], options)
        call = _chosen(choice, messages)
        if call is not None:
            yield call
            return
    yield (yield _Ask([SystemMessage(stated), *turns], {"max_tokens": _MAX_TOKENS}))


def _who_and_when(stated: str) -> str:
    """The first paragraph of the system prompt: in more than that a small model loses itself."""
    return stated.partition(PARAGRAPH)[0]


def _menu(stated: str, functions: Sequence[dict[str, Any]]) -> SystemMessage:
    tools = "\n".join(f"- {function['name']}: {function['description'].partition('. ')[0]}" for function in functions)
    return SystemMessage(
        f"{_who_and_when(stated)}\nChoose a tool by one JSON object with its name and arguments. Tools:\n{tools}\n"
        f"- {NO_TOOL}: a question about the rules, no tool is needed"
    )


def _held_to(schema: dict[str, Any]) -> dict[str, Any]:
    """In the body as it is: the client's own handling of schemas is for models that promise to follow them."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "tool_choice", "schema": schema}}}


def choice_schema(functions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One object that names a tool and its arguments; `none` stands for an answer in words."""
    choices = [_choice(function["name"], _arguments(function["parameters"])) for function in functions]
    return {"anyOf": [*choices, _choice(NO_TOOL, _arguments({}))]}


def _choice(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"const": name}, "arguments": arguments},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _arguments(parameters: dict[str, Any]) -> dict[str, Any]:
    """A tool's parameters without what a grammar has no use for, and with an end to every string."""
    properties = {name: _argument(name, schema) for name, schema in parameters.get("properties", {}).items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _argument(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    kinds = [option["type"] for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    if kinds[0] != "string":
        return {"type": kinds[0]}
    if name.endswith("_date"):
        return {"type": "string", "pattern": "^20[0-9]{2}-[0-9]{2}-[0-9]{2}$"}
    return {"type": "string", "maxLength": _MAX_STRING.get(name, _MAX_OTHER_STRING)}


def _plain(message: BaseMessage) -> BaseMessage:
    """Small models' chat templates know no tools: calls and results become ordinary turns."""
    if isinstance(message, ToolMessage):
        return HumanMessage(f"You looked it up and found: {_message_of(message)}\nTell me this in one sentence.")
    if isinstance(message, AIMessage) and message.tool_calls:
        return AIMessage("Let me look that up.")
    return message


def _message_of(message: ToolMessage) -> str:
    try:
        return str(json.loads(message.text)["message"])
    except (ValueError, TypeError, KeyError):
        return message.text


def _chosen(answer: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage | None:
    """The tool call that the model chose; None for words, also when the token limit cut the object off."""
    try:
        choice = json.loads(answer.text)
        name, arguments = choice["tool"], choice["arguments"]
    except (ValueError, TypeError, KeyError):
        return None
    if name == NO_TOOL:
        return None
    made = sum(len(message.tool_calls) for message in messages if isinstance(message, AIMessage))
    call = {"name": name, "args": arguments, "id": f"call_{made + 1}", "type": "tool_call"}
    return AIMessage("", tool_calls=[call], usage_metadata=answer.usage_metadata)
