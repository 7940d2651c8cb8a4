"""The workspace's records as they are kept, without any behaviour of the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from canvas_app.catalog import ComponentKind, Source


@dataclass(frozen=True, slots=True)
class Space:
    id: int
    slug: str
    name: str
    project: str


@dataclass(frozen=True, slots=True)
class Component:
    id: int
    space_id: int
    kind: ComponentKind
    filters: Mapping[str, str]
    title: str | None

    @property
    def name(self) -> str:
        """What the card is called on the page; it stays the same until someone renames the card."""
        if self.title:
            return self.title
        narrowed = ", ".join(self.filters.values())
        return f"{self.kind.name}: {narrowed}" if narrowed else self.kind.name


@dataclass(frozen=True, slots=True)
class Rule:
    id: int
    kind: str
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a picker: what a person reads, and the arguments that choosing it adds to the tool call."""

    label: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pending:
    """A tool call that waits for one more field. No options means free text."""

    tool: str
    arguments: Mapping[str, str]
    field: str
    question: str
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class BriefState:
    """What a person decided about a space's brief, kept apart from the numbers, which are read anew each time."""

    shown: bool = False
    objective: str | None = None
    framing: int = 0
    lowered: tuple[str, ...] = ()
    snoozed_until: datetime | None = None
    levers: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One recorded fact of an integration."""

    source: Source
    kind: str
    at: datetime
    data: Mapping[str, object] = field(default_factory=dict)

    def text(self, key: str) -> str:
        return str(self.data.get(key, ""))

    def count(self, key: str = "count") -> int:
        value = self.data.get(key, 0)
        return value if isinstance(value, int) else 0
