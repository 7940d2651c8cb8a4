"""What a graph is given for a prompt, and where its answer is in what it gives.

Without a word in the configuration these are the `messages` of its state; an entrypoint may also take or give messages
or plain text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from carob.errors import ConfigError
from carob.features.langgraph.loading import pregel
from carob.features.langgraph.messages import as_messages
from carob.targets.base import TargetError
from carob.targets.http.jsonpath import JsonPath, suggest_path
from carob.text.clean import jsonable, text
from carob.text.wording import with_article

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

PROMPT, SAID = "{prompt}", "{messages}"
_PLACE = re.compile(rf"{re.escape(PROMPT)}|{re.escape(SAID)}")
START = "__start__"
MESSAGES = "messages"
SAY_WHERE = 'Say in its options where the answer is: output = "$.answer".'

Way = Literal["input", "output"]

Given = dict[str, object] | str | None
Asking = Callable[[str, object], object]
"""A hook: the prompt and what the setup hook returned → the input of the graph."""


class Shapes:
    """How one kind of graph is asked and answers."""

    def __init__(self, template: Given, output: str, asking: Asking | None = None) -> None:
        self._given = template
        self._asking = asking
        self._output = _compile(output).all if output else None
        self._path = output

    @property
    def has_own_input(self) -> bool:
        """Whether the configuration says what the graph is given."""
        return self._given is not None

    @property
    def drops_history(self) -> bool:
        """Whether what the graph is given has no place for what was said before. A hook sees to it itself."""
        template = self._given
        return isinstance(template, dict) and MESSAGES not in template and SAID not in repr(template)

    def check(self, graph: object, spec: str) -> None:
        """Raise ConfigError if the graph has no messages where they are needed."""
        ways: tuple[tuple[Way, object], ...] = (("input", self._given), ("output", self._output))
        fields = {name: fields_of(graph, name) for name, there in ways if there is None}
        lacking = {name: names for name, names in fields.items() if names and MESSAGES not in names}
        if lacking:
            where = "state" if len(lacking) > 1 else next(iter(lacking))
            names = ", ".join(sorted(frozenset().union(*lacking.values())))
            raise ConfigError(
                f"the {where} of {spec!r} has no `messages` (it has: {names}).",
                fix=f"Set {' and '.join(f'`{name}`' for name in lacking)} in its options, for instance "
                'input = { question = "{prompt}" } and output = "$.answer".',
                slug="no-messages",
            )

    def build_input(
        self, graph: object, prompt: str, message: BaseMessage, history: Sequence[BaseMessage], setup_result: object
    ) -> object:
        """The input for a prompt; `history` is what a graph without a memory has to be given again."""
        if self._asking is not None:
            return self._asking(prompt, setup_result)
        if self._given is not None:
            given_input = _fill(self._given, prompt, [*history, message])
            if isinstance(given_input, dict) and MESSAGES in given_input and SAID not in repr(self._given):
                given_input[MESSAGES] = [*history, *_with_message_id(given_input[MESSAGES], message)]
            return _convert_input(input_type(graph), given_input)
        takes = _takes(graph)
        if takes == "text":
            return prompt
        if takes == "message":
            return message
        return [*history, message] if takes == "messages" else {"messages": [*history, message]}

    def read_messages(self, state: object) -> list[BaseMessage]:
        """The messages that a graph gave, with its answer as the last of them."""
        from langchain_core.messages import AIMessage, BaseMessage

        if self._output is not None:
            messages = _messages(state["messages"]) if isinstance(state, dict) and state.get("messages") else []
            return [*messages, AIMessage(self._find_output(state))]
        if isinstance(state, str):
            return [AIMessage(text(state))]
        if isinstance(state, BaseMessage):
            return [state]
        if isinstance(state, list):
            return _messages(state)
        if isinstance(state, dict) and "messages" in state:
            return _messages(state["messages"])
        keys = f" (it has: {', '.join(map(str, state))})" if isinstance(state, dict) else ""
        message = f"the graph returned {with_article(type(state).__name__)} without `messages`{keys}. {SAY_WHERE}"
        raise TargetError("bad-answer", message)

    def _find_output(self, state: object) -> str:
        assert self._output is not None
        values = self._output(jsonable(state))
        if not values:
            fields = ", ".join(state) if isinstance(state, dict) else type(state).__name__
            nothing = (
                f"`output` {self._path} finds nothing in what the graph returned (it has: {fields}): correct `output`"
            )
            raise TargetError("bad-answer", nothing)
        return "\n".join(v if isinstance(v, str) else msgspec.json.encode(v).decode() for v in values)


def _compile(path: str) -> JsonPath:
    try:
        return JsonPath(path)
    except ValueError as error:
        raise ConfigError(f"`output` {error}.", fix=suggest_path(path)) from error


def _fill(template: object, prompt: str, messages: Sequence[BaseMessage]) -> object:
    """The input with `{prompt}` and `{messages}` replaced; the rest is given as it is written."""
    if template == SAID:
        return list(messages)
    if isinstance(template, str):
        transcript = "\n".join(f"{m.role}: {m.content}" for m in as_messages(messages)) if SAID in template else ""
        return _PLACE.sub(lambda match: prompt if match[0] == PROMPT else transcript, template)
    if isinstance(template, dict):
        return {key: _fill(value, prompt, messages) for key, value in template.items()}
    return [_fill(value, prompt, messages) for value in template] if isinstance(template, list) else template


def _with_message_id(value: object, message: BaseMessage) -> list[BaseMessage]:
    """The messages of the input; the last one, if it is the user's, has the id by which the turn is found again."""
    messages = _messages(value if isinstance(value, list) else [value])
    if messages and messages[-1].type == "human":
        messages[-1].id = message.id
    return messages


def fields_of(graph: object, way: Way) -> frozenset[str]:
    """The fields of what a graph takes or gives; none where it does not tell."""
    builder = getattr(pregel(graph), "builder", None)
    if builder is not None:
        return frozenset(builder.schemas.get(getattr(builder, f"{way}_schema"), builder.channels))
    kind = input_type(graph) if way == "input" and _takes(graph) == "state" else None
    field_tables = (getattr(kind, name, {}) for name in ("model_fields", "__dataclass_fields__", "__required_keys__"))
    return frozenset().union(*field_tables)


def needed_context(graph: object) -> list[str]:
    """The fields that its context must have: those of its schema without a default."""
    schema = getattr(getattr(pregel(graph), "builder", None), "context_schema", None)
    if dataclasses.is_dataclass(schema):
        missing = dataclasses.MISSING
        return [each.name for each in dataclasses.fields(schema) if each.default is each.default_factory is missing]
    declared: dict[str, Any] = getattr(schema, "model_fields", {})
    return [name for name, each in declared.items() if each.is_required()] or sorted(
        getattr(schema, "__required_keys__", ())
    )


def input_type(graph: object) -> Any:
    """The type of what an entrypoint takes, or its name where it is nowhere to be found; None for other graphs."""
    inner = pregel(graph)
    if hasattr(inner, "builder"):
        return None
    kind = getattr(getattr(inner, "channels", {}).get(START), "typ", None)
    return _find_type(inner, kind) if isinstance(kind, str) else kind


def _find_type(graph: Any, name: str) -> object:
    """The type of this name where the function of an entrypoint was written."""
    bound: object = next((node.bound for node in graph.nodes.values()), None)
    function = getattr(bound, "func", None) or getattr(bound, "afunc", None)
    return getattr(function, "__globals__", {}).get(name, name)


def _convert_input(kind: Any, value: object) -> object:
    """The input as the type that an entrypoint takes: LangGraph hands on what it is given."""
    build = getattr(kind, "model_validate", None)
    if build is None and hasattr(kind, "__dataclass_fields__"):
        build = _from_table(kind)
    if build is None or not isinstance(value, dict):
        return value
    try:
        return build(value)
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())
        message = f"`input` cannot be made into {kind.__name__}, which the entrypoint takes: {why}"
        raise TargetError("config", message) from error


def _from_table(kind: Callable[..., object]) -> Callable[[dict[str, object]], object]:
    return lambda table: kind(**table)


def _takes(graph: object) -> str:
    """What an entrypoint says that it takes: text, a message, messages, or else a state."""
    kind = input_type(graph)
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    if name == "str":
        return "text"
    if name.startswith(("list", "Sequence", "List")):
        return "messages"
    return "message" if name.endswith("Message") else "state"


def _messages(value: Any) -> list[BaseMessage]:
    from langchain_core.messages import convert_to_messages

    try:
        return convert_to_messages(value)
    except (ValueError, TypeError, NotImplementedError) as error:
        why, *_ = str(error).splitlines()
        raise TargetError("bad-answer", f"the graph's `messages` cannot be read: {why}. {SAY_WHERE}") from error
