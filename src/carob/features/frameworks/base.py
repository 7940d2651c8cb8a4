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
    in_code: bool = False
    """Whether its models ask for tools in code, not by structured calls."""
    shows_models: bool = True
    """Whether the messages are all that its models said: else a call that they asked for may be missing."""


class FrameworkAgent(ABC):
    """One agent of a framework in one conversation. Its tools are seen where the framework calls them."""

    package: ClassVar[str]
    """The package on PyPI."""
    modules: ClassVar[tuple[str, ...]]
    """What all of it is below; the first is there wherever it is installed."""
    classes: ClassVar[tuple[str, ...]]
    """The classes of agents, by their names; the first is the one that most projects have."""
    keeps_conversation: ClassVar[bool] = False
    """Whether the object itself keeps what was said, so that it can have one conversation at a time."""

    def __init__(self, agent: Any, given: Any, conversation_id: str) -> None:
        """`given`: what the setup hook returned, for the framework's own context."""
        self.agent = agent
        self.given = given
        self.conversation_id = conversation_id

    @classmethod
    def prepare(cls, found: Any) -> Any:
        """What a spec names, as an agent or as a function that makes one."""
        return found

    @classmethod
    def takes(cls, value: object) -> bool:
        """Whether a value is of one of the classes, which need not be loaded."""
        kinds = (kind for kind in type(value).__mro__ if kind.__name__ in cls.classes)
        return any(f"{kind.__module__}.".startswith(f"{module}.") for kind in kinds for module in cls.modules)

    @abstractmethod
    def ask(self, prompt: Any) -> Any:
        """The reply to a prompt; an `async def`, or a function that blocks."""


def call(id: object, name: str, arguments: object) -> dict[str, object]:
    """A call that a model asks for, as a part of a message."""
    return {"type": "tool_call", "id": str(id or ""), "name": name, "arguments": arguments}


def result(id: object, content: object, *, failed: bool = False) -> dict[str, object]:
    """What a model is given for a call, as a part of a message."""
    return {"type": "tool_result", "tool_call_id": str(id or ""), "content": content, "is_error": failed}


def words(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def message(role: str, parts: Iterator[object] | Sequence[object]) -> dict[str, object]:
    return {"role": role, "content": list(parts)}
