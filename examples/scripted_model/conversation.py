"""A request as every wire format means it, and an answer before it is written in one of them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an answer."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the script answers. `finish` is one of stop, calls, length, filter."""

    id: str
    model: str
    text: str
    calls: tuple[Call, ...]
    finish: str
    input_tokens: int
    output_tokens: int


@dataclass(slots=True)
class Conversation:
    """What a request says so far; a wire format fills it in the order of the messages."""

    model: str = ""
    stream: bool = False
    include_usage: bool = True
    system: str = ""
    users: list[str] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)
    """Name of the tool and text, for each result since the last words of the user."""
    answered: int = 0
    """How many results there are in all, whoever spoke in between."""
    words: int = 0
    names: dict[str, str] = field(default_factory=dict)

    def add_text(self, role: str, text: str) -> None:
        """Adds what a system, a user or the model itself said."""
        self.words += len(text.split())
        if role in ("system", "developer"):
            self.system += text + "\n"
        elif role == "user":
            self.users.append(text)
            self.results.clear()

    def add_call(self, call_id: str, name: str) -> None:
        """Adds an earlier call of the model, so that its result can be named."""
        self.names[call_id] = name

    def add_result(self, call_id: str, text: str) -> None:
        """Adds what a tool gave back."""
        self.words += len(text.split())
        self.answered += 1
        self.results.append((self.names.get(call_id, call_id), text))
