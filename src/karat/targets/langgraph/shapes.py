"""What a graph is given for a prompt, and where its answer stands in what it gives.

Without a word in the configuration these are the `messages` of its state; an entrypoint may also take or give messages
or plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from karat.errors import ConfigError
from karat.targets.base import TargetError
from karat.targets.langgraph.loading import pregel
from karat.traces.clean import jsonable, text

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

PROMPT = "{prompt}"
START = "__start__"
MISSING = "pip install 'karat[langgraph]'"

Given = dict[str, object] | str | None
Asking = Callable[[str, object], object]
"""A hook: the prompt and what the setup hook returned → the input of the graph."""


class Shapes:
    """How one kind of graph is asked and answers."""

    def __init__(self, given: Given, output: str, asking: Asking | None = None) -> None:
        self._given = given
        self._asking = asking
        self._output = _compiled(output) if output else None
        self._path = output

    @property
    def own(self) -> bool:
        """Whether the input is not the messages of the state."""
        return self._given is not None

    def check(self, graph: object, spec: str) -> None:
        """Raise ConfigError if the graph has no messages where they are needed."""
        found = pregel(graph)
        if not hasattr(found, "builder") or "messages" in found.channels:
            return
        lacking = [name for name, there in (("input", self._given), ("output", self._output)) if there is None]
        if lacking:
            known = ", ".join(sorted(name for name in found.builder.channels if not name.startswith("_")))
            raise ConfigError(
                f"the state of {spec!r} has no `messages` (it has: {known}).",
                fix=f"Set {' and '.join(f'`{name}`' for name in lacking)} in its options, for instance "
                'input = { question = "{prompt}" } and output = "$.answer".',
                slug="no-messages",
            )

    def asked(
        self, graph: object, prompt: str, message: BaseMessage, history: Sequence[BaseMessage], given: object
    ) -> object:
        """The input for a prompt; `history` is what a graph without a memory has to be told again."""
        if self._asking is not None:
            return self._asking(prompt, given)
        if self._given is not None:
            return _filled(self._given, prompt)
        takes = _takes(graph)
        if takes == "text":
            return prompt
        if takes == "message":
            return message
        return [*history, message] if takes == "messages" else {"messages": [*history, message]}

    def answered(self, state: object) -> list[BaseMessage]:
        """The messages that a graph gave, with its answer as the last of them."""
        from langchain_core.messages import AIMessage, BaseMessage

        if self._output is not None:
            kept = _messages(state["messages"]) if isinstance(state, dict) and state.get("messages") else []
            return [*kept, AIMessage(self._found(state))]
        if isinstance(state, str):
            return [AIMessage(text(state))]
        if isinstance(state, BaseMessage):
            return [state]
        if isinstance(state, list):
            return _messages(state)
        if isinstance(state, dict) and "messages" in state:
            return _messages(state["messages"])
        keys = f" (it has: {', '.join(map(str, state))})" if isinstance(state, dict) else ""
        raise TargetError(
            "bad-answer",
            f"the graph gave a {type(state).__name__} without `messages`{keys}. "
            'Say in its options where the answer stands: output = "$.answer".',
        )

    def _found(self, state: object) -> str:
        assert self._output is not None
        values = self._output(jsonable(state))
        if not values:
            known = ", ".join(state) if isinstance(state, dict) else type(state).__name__
            raise TargetError("bad-answer", f"`output` {self._path} finds nothing in what the graph gave ({known})")
        return "\n".join(v if isinstance(v, str) else msgspec.json.encode(v).decode() for v in values)


def _compiled(path: str) -> Callable[[Any], list[Any]]:
    try:
        from jsonpath_rfc9535 import JSONPathError, compile
    except ModuleNotFoundError as error:
        raise ConfigError("`output` needs jsonpath-rfc9535.", fix=MISSING) from error
    try:
        query = compile(path)
    except JSONPathError as error:
        raise ConfigError(f"`output` {path!r} is no JSONPath: {error}.", fix="For instance: $.answer") from error
    return lambda state: list(query.find(state).values())


def _filled(given: object, prompt: str) -> object:
    """The input with `{prompt}` replaced; the rest is given as it is written."""
    if isinstance(given, str):
        return given.replace(PROMPT, prompt)
    if isinstance(given, dict):
        return {key: _filled(value, prompt) for key, value in given.items()}
    return [_filled(value, prompt) for value in given] if isinstance(given, list) else given


def _takes(graph: object) -> str:
    """What an entrypoint says that it takes: text, a message, messages, or else a state."""
    channels = getattr(pregel(graph), "channels", {})
    kind = getattr(channels.get(START), "typ", None) if not hasattr(pregel(graph), "builder") else None
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    if name == "str":
        return "text"
    if name.startswith(("list", "Sequence", "List")):
        return "messages"
    return "message" if name.endswith("Message") else "state"


def _messages(given: Any) -> list[BaseMessage]:
    from langchain_core.messages import convert_to_messages

    try:
        return convert_to_messages(given)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise TargetError("bad-answer", f"the graph's `messages` cannot be read: {error}") from error
