"""What a message can be read as, and what the reader knows of its surroundings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from canvas_app.catalog import Source
from canvas_app.records import Component, Pending
from canvas_app.signals.metrics import Metric
from canvas_app.synthesis.answer import Request


@dataclass(frozen=True, slots=True)
class Call:
    """Use a tool."""

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with fixed words and no tool."""

    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """Answer with numbers that are looked up."""

    metrics: tuple[Metric, ...]
    window: str
    filters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tell:
    """Answer about the workspace itself: `canvas`, `spaces`, `rules`, `integrations`, `mission`."""

    topic: str


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Answer across sources."""

    request: Request
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop the open question."""


Step = Call | Say | Report | Tell | Synthesis | Forget


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the words can refer to in this space."""

    here: str = ""
    spaces: tuple[str, ...] = ()
    cards: tuple[Component, ...] = ()
    last_card: Component | None = None
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pending: Pending | None = None
    brief_shown: bool = False
