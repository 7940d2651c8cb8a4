"""What makes a dyno fit for a booking: one small clause per rule, so that each can be read, shown and removed alone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from dyno_agent.policy import heaviest_lbs, weight_class_of


@dataclass(frozen=True, slots=True)
class Window:
    """Days from the first to the last, both included."""

    first: date
    last: date

    def overlaps(self, other: "Window") -> bool:
        return self.first <= other.last and other.first <= self.last

    def later(self, days: int) -> "Window":
        return Window(self.first + timedelta(days=days), self.last + timedelta(days=days))

    def __str__(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, slots=True)
class DynoFacts:
    """Everything about a dyno that a rule may ask for."""

    id: int
    name: str
    weight_classes: tuple[str, ...]
    drives: tuple[str, ...]
    test_types: tuple[str, ...]
    enabled: bool
    available_from: date | None
    available_until: date | None
    bookings: tuple[Window, ...]
    maintenance: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """What is asked of a dyno; None means that the request leaves it open."""

    window: Window
    weight_lbs: int | None = None
    drive: str | None = None
    test_type: str | None = None


Kind = Literal["fit", "calendar"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One clause: whether it holds, and the words for when it does not."""

    name: str
    kind: Kind
    """`fit` is the same on every day; `calendar` may be met by other days."""
    holds: Callable[[DynoFacts, Need], bool]
    objection: Callable[[DynoFacts, Need], str]


def _weight_fits(dyno: DynoFacts, need: Need) -> bool:
    return need.weight_lbs is None or weight_class_of(need.weight_lbs) in dyno.weight_classes


def _weight_objection(_dyno: DynoFacts, need: Need) -> str:
    weight = need.weight_lbs or 0
    if weight_class_of(weight) is None:
        return f"{weight:,} lbs is over the weight limit of {heaviest_lbs():,} lbs"
    return f"weight class {weight_class_of(weight)} ({weight:,} lbs) is not supported"


def _drive_fits(dyno: DynoFacts, need: Need) -> bool:
    return need.drive is None or need.drive in dyno.drives


def _test_type_fits(dyno: DynoFacts, need: Need) -> bool:
    return need.test_type is None or need.test_type in dyno.test_types


def _inside_availability(dyno: DynoFacts, need: Need) -> bool:
    begins_in_time = dyno.available_from is None or dyno.available_from <= need.window.first
    ends_in_time = dyno.available_until is None or need.window.last <= dyno.available_until
    return begins_in_time and ends_in_time


def _availability_objection(dyno: DynoFacts, _need: Need) -> str:
    return f"availability window is {dyno.available_from or 'open'} to {dyno.available_until or 'open'}"


def _free_of(windows: Iterable[Window], need: Need) -> bool:
    return not any(window.overlaps(need.window) for window in windows)


def _clashing(windows: Iterable[Window], need: Need) -> str:
    return ", ".join(str(window) for window in sorted(windows, key=lambda w: w.first) if window.overlaps(need.window))


RULES: tuple[Rule, ...] = (
    Rule("weight", "fit", _weight_fits, _weight_objection),
    Rule("drive", "fit", _drive_fits, lambda _dyno, need: f"drive {need.drive} is not supported"),
    Rule("test type", "fit", _test_type_fits, lambda _dyno, need: f"test type {need.test_type} is not supported"),
    Rule("enabled", "fit", lambda dyno, _need: dyno.enabled, lambda _dyno, _need: "the dyno is disabled"),
    Rule("availability window", "calendar", _inside_availability, _availability_objection),
    Rule(
        "maintenance",
        "calendar",
        lambda dyno, need: _free_of(dyno.maintenance, need),
        lambda dyno, need: f"maintenance {_clashing(dyno.maintenance, need)}",
    ),
    Rule(
        "overlap",
        "calendar",
        lambda dyno, need: _free_of(dyno.bookings, need),
        lambda dyno, need: f"overlap with {_clashing(dyno.bookings, need)}",
    ),
)


def broken_rules(dyno: DynoFacts, need: Need, kind: Kind | None = None) -> list[Rule]:
    """The rules that speak against this dyno, in their order."""
    return [rule for rule in RULES if kind in (None, rule.kind) and not rule.holds(dyno, need)]


def objections_to(dynos: Iterable[DynoFacts], need: Need, kind: Kind) -> str:
    """Why these dynos were not taken, dynos with the same reason together."""
    names: dict[str, list[str]] = {}
    for dyno in dynos:
        for rule in broken_rules(dyno, need, kind):
            names.setdefault(rule.objection(dyno, need), []).append(dyno.name)
    return "; ".join(f"{objection} ({', '.join(found)})" for objection, found in names.items())


def vehicle_is_free(bookings: Iterable[Window], window: Window) -> bool:
    """A vehicle cannot stand on two dynos: the one rule about the vehicle instead of the dyno."""
    return not any(booking.overlaps(window) for booking in bookings)
