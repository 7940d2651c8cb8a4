"""An agent of a framework in one conversation, and what it says of a turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from carob.model.trace import Tokens


class AgentReply(NamedTuple):
    """What an agent gave in one turn."""

    output: object
    """Its answer: words, or a value of the type that it was asked for."""
    messages: Sequence[Mapping[str, Any]] = ()
    """What its models said and were given in this turn, in any dialect of `providers.messages`."""
    tokens: Tokens | None = None


class FrameworkAgent(ABC):
    """One agent of a framework in one conversation. Its tools are seen where the framework calls them."""

    package: ClassVar[str]
    """The package on PyPI."""
    module: ClassVar[str]
    """The module that all of it is below."""
    classes: ClassVar[tuple[str, ...]]
    """The classes of agents, by their names; the first is the one that most projects have."""
    keeps_conversation: ClassVar[bool] = False
    """Whether the object itself keeps what was said, so that it can have one conversation at a time."""

    def __init__(self, agent: Any, given: Any, conversation_id: str) -> None:
        """`given`: what the setup hook returned, for the framework's own context."""
        self.agent = agent
        self.given = given
        self.conversation_id = conversation_id

    @abstractmethod
    def ask(self, prompt: Any) -> Any:
        """The reply to a prompt; an `async def`, or a function that blocks."""


def is_of(value: object, module: str, names: Sequence[str]) -> bool:
    """Whether a value is of one of these classes, which need not be loaded."""
    return any(kind.__name__ in names and is_below(kind.__module__, module) for kind in type(value).__mro__)


def is_below(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def call(id: object, name: str, arguments: object) -> dict[str, object]:
    """A call that a model asks for, as a part of a message."""
    return {"type": "tool_call", "id": str(id or ""), "name": name, "arguments": arguments}


def result(id: object, content: object, *, failed: bool = False) -> dict[str, object]:
    """What a model is given for a call, as a part of a message."""
    return {"type": "tool_result", "tool_call_id": str(id or ""), "content": content, "is_error": failed}


def message(role: str, parts: Iterator[object] | Sequence[object]) -> dict[str, object]:
    return {"role": role, "content": list(parts)}
