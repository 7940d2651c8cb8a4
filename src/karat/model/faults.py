"""What a case says of the agent's surroundings: stubs answer instead of a tool, faults break calls."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from msgspec import Struct

Hit = Literal["tool", "service", "model"]
"""What a fault hits: a tool by name, an HTTP service that the configuration names, or calls of a model."""
Stage = Literal["instead", "result", "lost", "wait"]
"""What happens to the call: an error comes instead of it, its result is changed, its answer is lost, or it takes long.

Only `instead` keeps the call from running.
"""
ValueKind = Literal["flag", "text", "count", "seconds", "status", "moment", "any"]
"""What is written after the name of a kind; each but `text`, `seconds`, `status` and `moment` may be just `true`."""

BEFORE: Final = "before"
AFTER: Final = "after"
TEMPORARY = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same request may succeed."""
_STATUS = re.compile(r"\s*(?:HTTP(?:/[\d.]+)?\s+)?([45]\d\d)\b")


class FaultKind(Struct, frozen=True, kw_only=True):
    """One way in which a call can go wrong."""

    name: str
    hits: tuple[Hit, ...]
    about: str
    stage: Stage
    value: ValueKind = "flag"
    at: bool = False
    """Whether it can be aimed at one place of the result."""
    permanent: bool = False
    """Whether the same call fails again, however often it is tried."""


_TOOL: tuple[Hit, ...] = ("tool", "service")
FAULT_KINDS = (
    FaultKind(name="error", hits=_TOOL, stage="instead", value="text", about="the call fails with this text"),
    FaultKind(name="empty", hits=_TOOL, stage="result", at=True, about="the result is empty"),
    FaultKind(
        name="truncated",
        hits=_TOOL,
        stage="result",
        value="count",
        at=True,
        about="the result is cut: after this many characters, or in half",
    ),
    FaultKind(name="garbage", hits=_TOOL, stage="result", at=True, about="the result is unreadable characters"),
    FaultKind(
        name="wrong_type", hits=_TOOL, stage="result", at=True, about="values are of another type than they should be"
    ),
    FaultKind(
        name="wrong_entity",
        hits=_TOOL,
        stage="result",
        value="any",
        at=True,
        about="the result is about something other than requested",
    ),
    FaultKind(
        name="stale",
        hits=_TOOL,
        stage="result",
        value="count",
        at=True,
        about="the result is old: that of the first such call, or with dates this many days back (400)",
    ),
    FaultKind(name="slow", hits=_TOOL, stage="wait", value="seconds", about="the call takes this many seconds longer"),
    FaultKind(name="gone", hits=_TOOL, stage="instead", permanent=True, about="the tool no longer exists"),
    FaultKind(
        name="timeout",
        hits=_TOOL,
        stage="lost",
        value="moment",
        about="no answer comes: the call is lost `before` it ran, or its answer `after` it ran",
    ),
    FaultKind(
        name="inject", hits=_TOOL, stage="result", value="text", at=True, about="this text is added to the result"
    ),
    FaultKind(
        name="status",
        hits=("service", "model"),
        stage="instead",
        value="status",
        about="it answers with this HTTP status",
    ),
    FaultKind(
        name="cut_stream",
        hits=("model",),
        stage="result",
        value="count",
        about="the answer breaks off: after this many events, or in the middle",
    ),
    FaultKind(
        name="hang", hits=("service", "model"), stage="instead", about="no answer comes, and the connection stays open"
    ),
    FaultKind(
        name="slow", hits=("model",), stage="wait", value="seconds", about="the answer starts this many seconds later"
    ),
    FaultKind(
        name="context_length",
        hits=("model",),
        stage="instead",
        permanent=True,
        about="the request is refused as too long for the model",
    ),
    FaultKind(
        name="refusal",
        hits=("model",),
        stage="instead",
        value="any",
        permanent=True,
        about="the model refuses, in these words or its usual ones",
    ),
    FaultKind(
        name="bad_tool_arguments",
        hits=("model",),
        stage="result",
        value="any",
        about="the model requests a tool with arguments that are not JSON, or with these",
    ),
    FaultKind(
        name="unknown_tool",
        hits=("model",),
        stage="result",
        value="any",
        about="the model requests a tool that does not exist, or this one",
    ),
    FaultKind(name="empty", hits=("model",), stage="result", about="the model answers with nothing"),
)


def kinds_of(hits: Hit) -> dict[str, FaultKind]:
    """The kinds of faults that can hit a tool, a service or a model, by name."""
    return {kind.name: kind for kind in FAULT_KINDS if hits in kind.hits}


class Stub(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What answers instead of a tool, which is never run. `tool` may hold `*`."""

    tool: str
    result: Any = None
    error: str = ""
    """With one, every call fails with it, and there is no result."""


class Fault(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One way in which calls of one tool, service or model go wrong in a case."""

    hits: Hit
    kind: str
    name: str = ""
    """Of the tool, which may hold `*`, of the service, or of the model; without one, it hits every model."""
    value: Any = True
    at: str = ""
    """Where in the result, as JSONPath; without it, where the kind does the most harm."""
    times: int | None = None
    """How many calls it hits; None: every one."""
    from_call: int = 1
    """The first call that it hits, counted per tool, service or model."""
    retry_after: float | None = None
    """Seconds that the answer asks the client to wait; only with `status`."""
    seed: int = 0
    """Two faults that differ in it alone choose different characters and entities."""

    @property
    def what(self) -> FaultKind:
        return kinds_of(self.hits)[self.kind]

    @property
    def stage(self) -> Stage:
        return "instead" if self.value == BEFORE and self.kind == "timeout" else self.what.stage

    @property
    def is_permanent(self) -> bool:
        """Whether trying again cannot help, as the agent can see: it says so by its kind, or by an HTTP status."""
        if self.kind == "status":
            return int(self.value) < 500 and int(self.value) not in TEMPORARY
        if self.kind == "error" and (status := _STATUS.match(str(self.value))):
            return int(status[1]) < 500 and int(status[1]) not in TEMPORARY
        return self.what.permanent

    @property
    def spelled(self) -> dict[str, Any]:
        """As a suite spells it."""
        fields = {self.kind: self.value, "at": self.at, "times": self.times, "retry_after": self.retry_after}
        fields |= {"from_call": None if self.from_call == 1 else self.from_call, "seed": self.seed or None}
        written_fields = {key: value for key, value in fields.items() if key == self.kind or value not in (None, "")}
        if self.hits != "model":
            return {self.hits: self.name, **written_fields}
        return {"model": {**({"name": self.name} if self.name else {}), **written_fields}}

    def __str__(self) -> str:
        name = self.name or "the model"
        value = "" if self.value is True else f" {self.value}" if self.kind == "timeout" else f" ({self.value})"
        return f"{self.kind}{value} of {name}"


class AlteredCall(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A call that did not go its usual way: the fault that landed on it, or the stub that answered it."""

    hits: Hit
    name: str
    call: int
    """Which call of this tool, service or model it was, from 1."""
    kind: str
    """Of the fault, or `stub`."""
    fault: int | None = None
    """The place of the fault among those of the case; None for a stub."""
    ran: bool = False
    """Whether the tool itself ran."""
    seed: int = 0
    before: str = ""
    """The digest of what the tool gave, where it ran or was stubbed."""
    after: str = ""
    """The digest of what the agent got."""


STUBBED: Final = "stub"
NOT_REACHED: Final = "fault-not-reached"
"""The kind of error of a case with a fault that never took effect."""
STUB_PASSED_BY: Final = "stub-passed-by"
"""That of a case in which a stubbed tool was called where Karat does not reach it."""


def without_landing(faults: tuple[Fault, ...], altered: tuple[AlteredCall, ...]) -> tuple[Fault, ...]:
    """The faults that never took effect."""
    landed = {(call.fault, call.hits, call.kind) for call in altered}
    return tuple(fault for index, fault in enumerate(faults) if (index, fault.hits, fault.kind) not in landed)
