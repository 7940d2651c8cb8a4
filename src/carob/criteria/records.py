"""The lines of `labels/`: what people decided, and what models think."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from carob.criteria.identity import criterion_id

Decided = Literal["met", "not met", "cannot tell"]
Direction = Literal["met", "not met"]
OPPOSITE: dict[Decided, Decided] = {"met": "not met", "not met": "met", "cannot tell": "cannot tell"}
Queue = Literal["random", "doubtful", "own"]
Kind = Literal["first", "again", "turned", "padded", "ordered", "foreign"]

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
PERSON = re.compile(r"[A-Za-z0-9._-]{1,40}", re.ASCII)
MACHINES = re.compile(r"judge$|model", re.IGNORECASE)


class Pair(NamedTuple):
    """One criterion and the evidence that it is judged by."""

    criterion: str
    evidence: str


class Agent(NamedTuple):
    """Whose answers are judged: the target's name, and the models seen in it. Without a name it is not known."""

    target: str = ""
    model: str = ""


class PersonLabel(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one person decided. `undoes`: the `at` of an own line, taken back before its opinion was shown."""

    criterion: Sha256
    text: str
    evidence: Sha256
    verdict: Decided
    by: str
    at: str
    blind: bool
    queue: Queue
    case: str
    target: str = ""
    agent_model: str = ""
    quote: str = ""
    note: str = ""
    family: str = ""
    undoes: str = ""

    @property
    def pair(self) -> Pair:
        return Pair(self.criterion, self.evidence)

    @property
    def agent(self) -> Agent:
        return Agent(self.target, self.agent_model)

    @property
    def problem(self) -> str:
        """Why this line is not a label, else the empty string."""
        if why := why_not_a_person(self.by):
            return why
        if criterion_id(self.text) != self.criterion:
            return "`criterion` is not the hash of `text`."
        return _time_problem(self.at)


class Opinion(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a model thinks of one pair. `judge` is its identity, or of a `foreign` opinion the name of the tool."""

    judge: str
    criterion: Sha256
    evidence: Sha256
    verdict: Decided
    quote: str = ""
    why: str = ""
    model_returned: str = ""
    at: str
    kind: Kind

    @property
    def pair(self) -> Pair:
        return Pair(self.criterion, self.evidence)

    @property
    def problem(self) -> str:
        return _time_problem(self.at) if self.judge.strip() else "`judge` is empty."


def why_not_a_person(name: str) -> str:
    """Why a label cannot be by this name: it is that of a person."""
    if not PERSON.fullmatch(name):
        return "`by` must be 1 to 40 letters, digits or `._-`."
    return "`by` names a person, not a model: a label made by a model is refused." if MACHINES.match(name) else ""


def moment(at: str) -> datetime:
    """A time of a line, comparable with any other."""
    time = datetime.fromisoformat(at)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _time_problem(at: str) -> str:
    try:
        moment(at)
    except ValueError:
        return "`at` is not a time such as 2026-01-31T12:00:00Z."
    return ""
