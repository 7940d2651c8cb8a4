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


class FaultKind(Struct, frozen=True):
    """One way in which a call can go wrong."""

    name: str
    hits: tuple[Hit, ...]
    stage: Stage
    about: str
    value: ValueKind = "flag"
    at: bool = False
    """Whether it can be aimed at one place of the result."""
    permanent: bool = False
    """Whether the same call fails again, however often it is tried."""


_TOOL: tuple[Hit, ...] = ("tool", "service")
_SENT: tuple[Hit, ...] = ("service", "model")
_MODEL: tuple[Hit, ...] = ("model",)
FAULT_KINDS = (
    FaultKind("error", _TOOL, "instead", "the call fails with this text", value="text"),
    FaultKind("empty", _TOOL, "result", "the result is empty", at=True),
    FaultKind(
        "truncated",
        _TOOL,
        "result",
        "the result is cut: after this many characters, or in half",
        value="count",
        at=True,
    ),
    FaultKind("garbage", _TOOL, "result", "the result is unreadable characters", at=True),
    FaultKind("wrong_type", _TOOL, "result", "values are of another type than they should be", at=True),
    FaultKind(
        "wrong_entity", _TOOL, "result", "the result is about something other than requested", value="any", at=True
    ),
    FaultKind(
        "stale",
        _TOOL,
        "result",
        "the result is old: that of the first such call, or with dates this many days back (400)",
        value="count",
        at=True,
    ),
    FaultKind("slow", _TOOL, "wait", "the call takes this many seconds longer", value="seconds"),
    FaultKind("gone", _TOOL, "instead", "the tool no longer exists", permanent=True),
    FaultKind(
        "timeout",
        _TOOL,
        "lost",
        "no answer comes: the call is lost `before` it ran, or its answer `after` it ran",
        value="moment",
    ),
    FaultKind("inject", _TOOL, "result", "this text is added to the result", value="text", at=True),
    FaultKind("status", _SENT, "instead", "it answers with this HTTP status", value="status"),
    FaultKind(
        "cut_stream", _MODEL, "result", "the answer breaks off: after this many events, or in the middle", value="count"
    ),
    FaultKind("hang", _SENT, "instead", "no answer comes, and the connection stays open"),
    FaultKind("slow", _MODEL, "wait", "the answer starts this many seconds later", value="seconds"),
    FaultKind("context_length", _MODEL, "instead", "the request is refused as too long for the model", permanent=True),
    FaultKind(
        "refusal", _MODEL, "instead", "the model refuses, in these words or its usual ones", value="any", permanent=True
    ),
    FaultKind(
        "bad_tool_arguments",
        _MODEL,
        "result",
        "the model requests a tool with arguments that are not JSON, or with these",
        value="any",
    ),
    FaultKind(
        "unknown_tool", _MODEL, "result", "the model requests a tool that does not exist, or this one", value="any"
    ),
    FaultKind("empty", _MODEL, "result", "the model answers with nothing"),
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
"""That of a case in which a stubbed tool was called where Carob does not reach it."""


def without_landing(faults: tuple[Fault, ...], altered: tuple[AlteredCall, ...]) -> tuple[Fault, ...]:
    """The faults that never took effect."""
    landed = {(call.fault, call.hits, call.kind) for call in altered}
    return tuple(fault for index, fault in enumerate(faults) if (index, fault.hits, fault.kind) not in landed)
