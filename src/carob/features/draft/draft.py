"""What a draft is made with, and what it is: a suite as text, what looks wrong in the traces, and figures."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec import Struct, field

from carob.features.audit.model import Rate


class DraftOptions(Struct, frozen=True, kw_only=True):
    """How a draft is made."""

    name: str = ""
    """Name of the suite."""
    max_cases: int = 30
    """The most cases: kinds of traces that come up less often are named, not drafted."""
    keep_personal_data: bool = False
    """Whether mail addresses, phone and card numbers and keys are kept as they are."""
    effects: dict[str, tuple[str, ...]] = {}
    """The tools that are declared to change something, with the words that claim it; others are guessed by name."""
    stubs: dict[str, object] = {}
    """What answered instead of tools while the agent was asked: the suite has them too."""


class Finding(NamedTuple):
    """What looks wrong, or is a question for a person: not made a contract."""

    kind: str
    """`error`, `failed`, `loop`, `claim`, `number`, `rare`, `odd`, `differs` or `unproved`."""
    text: str
    times: int = 1


class DraftSummary(Struct, frozen=True, kw_only=True):
    """The draft in figures."""

    traces: int = 0
    cases: int = 0
    covered: int = 0
    """Traces of the kinds that became cases."""
    apart: int = 0
    """Traces that were rare or failed."""
    masked: Counter[str] = field(default_factory=Counter)
    """How many values of each kind were masked."""
    held_out: int = 0
    held_out_passed: int = 0
    rate: Rate = Rate(0, 0, 0.0, 1.0)
    """Wrong traces that the draft notices, by all operators."""
    rate_of_facts: Rate = Rate(0, 0, 0.0, 1.0)
    """The same, by the operators that do not change wording."""
    unseen: tuple[str, ...] = ()
    """What no contract of this suite can see."""


class SuiteDraft(NamedTuple):
    """A drafted suite."""

    yaml: str
    findings: tuple[Finding, ...]
    summary: DraftSummary
    recording: bytes = b""
    """The runs that its cases are from, masked as they are: a recording that `replay:` reads."""
