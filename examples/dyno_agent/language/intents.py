"""What a request wants: an ordered list of rules, the first that matches decides."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from dyno_agent.language import cues
from dyno_agent.language.entities import Entities
from dyno_agent.language.sql import find_select, find_write


class Intent(Enum):
    """Everything the agent can be asked for."""

    RUN_SELECT = auto()
    CHANGE_DATA = auto()
    EXPLAIN = auto()
    ALLOCATE = auto()
    TELL_TIME = auto()
    DETECT_CONFLICTS = auto()
    CHECK_MAINTENANCE = auto()
    COUNT_COMPLETED = auto()
    FIND_AVAILABLE = auto()
    DESCRIBE_VEHICLE = auto()
    CHECK_VEHICLE = auto()
    TESTS_BY_STATUS = auto()
    COUNT_VEHICLES = auto()
    LIST_VEHICLES = auto()
    DYNO_CALENDAR = auto()
    LIST_DYNOS = auto()
    GREET = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Reading:
    """A request as the rules see it."""

    text: str
    """In lower case and without words of politeness, which would make an order look like a question."""
    original: str
    entities: Entities
    has_dates: bool
    topic: str | None

    def says(self, cue: re.Pattern[str]) -> bool:
        return cue.search(self.text) is not None

    @property
    def names_a_vehicle(self) -> bool:
        return bool(self.entities.vehicle_ids or self.entities.vin)


def without_politeness(text: str) -> str:
    """The request from its first word that matters."""
    return cues.POLITENESS.sub("", text).strip().lower()


def intent_of(reading: Reading) -> Intent:
    """The first intent whose rule matches."""
    return next((intent for intent, matches in _RULES if matches(reading)), Intent.UNKNOWN)


def _holds_select(reading: Reading) -> bool:
    return find_select(reading.original) is not None


def _asks_about_rules(reading: Reading) -> bool:
    """A question about the rules names no vehicle, no dyno and no day: those are questions about the data."""
    about_data = reading.names_a_vehicle or reading.entities.dyno or reading.has_dates
    return reading.topic is not None and not about_data and reading.says(cues.ABOUT_RULES)


def _wants_change(reading: Reading) -> bool:
    if find_write(reading.original) or reading.says(cues.PLAN_MAINTENANCE):
        return True
    return reading.says(cues.CHANGE_ORDER) and reading.says(cues.CHANGEABLE) and not reading.says(cues.BOOKING_ORDER)


def _wants_booking(reading: Reading) -> bool:
    if reading.says(cues.BOOKING_ORDER):
        return True
    if reading.says(cues.QUESTION) or reading.says(cues.FREE):
        return False
    complete = reading.names_a_vehicle and reading.entities.test_type is not None and reading.has_dates
    return complete or reading.says(cues.BOOKING_WISH)


def _counts_completed(reading: Reading) -> bool:
    finished = reading.entities.status == "completed" or reading.says(cues.FINISHED)
    return finished and reading.says(cues.COUNT)


def _finds_available(reading: Reading) -> bool:
    if reading.says(cues.FREE) and (reading.says(cues.DYNO) or reading.has_dates):
        return True
    named = reading.names_a_vehicle or reading.entities.weight_lbs or reading.entities.drive or reading.says(cues.DYNO)
    possible = reading.says(cues.POSSIBILITY) or not re.search(rf"\b(?:{cues.STATE})\b", reading.text)
    suiting = bool(named) and reading.entities.test_type is not None and reading.says(cues.SUITING)
    return reading.has_dates and suiting and possible


def _describes_vehicle(reading: Reading) -> bool:
    if re.search(rf"\b(?:{cues.STATE})\b", reading.text):
        return False
    asks_vin = bool(reading.entities.vehicle_ids) and "vin" in reading.text
    return asks_vin or (reading.names_a_vehicle and reading.says(cues.VEHICLE_FACT))


def _checks_vehicle(reading: Reading) -> bool:
    about_vehicle = reading.names_a_vehicle or reading.says(cues.VEHICLE_WORD)
    return about_vehicle and reading.says(cues.VEHICLE_BOOKING)


def _asks_status(reading: Reading) -> bool:
    return reading.entities.status is not None and reading.says(cues.TESTS) and not reading.names_a_vehicle


_RULES: tuple[tuple[Intent, Callable[[Reading], bool]], ...] = (
    (Intent.RUN_SELECT, _holds_select),
    (Intent.EXPLAIN, _asks_about_rules),
    (Intent.CHANGE_DATA, _wants_change),
    (Intent.TELL_TIME, lambda reading: reading.says(cues.TIME)),
    (Intent.ALLOCATE, _wants_booking),
    (Intent.DETECT_CONFLICTS, lambda reading: reading.says(cues.CONFLICT)),
    (Intent.CHECK_MAINTENANCE, lambda reading: reading.says(cues.MAINTENANCE)),
    (Intent.COUNT_COMPLETED, _counts_completed),
    (Intent.FIND_AVAILABLE, _finds_available),
    (Intent.DESCRIBE_VEHICLE, _describes_vehicle),
    (Intent.CHECK_VEHICLE, _checks_vehicle),
    (Intent.TESTS_BY_STATUS, _asks_status),
    (Intent.DYNO_CALENDAR, lambda reading: reading.entities.dyno is not None and reading.says(cues.USED_BY)),
    (Intent.LIST_DYNOS, lambda reading: reading.says(cues.DYNO)),
    (Intent.COUNT_VEHICLES, lambda reading: reading.says(cues.VEHICLES) and reading.says(cues.COUNT)),
    (Intent.LIST_VEHICLES, lambda reading: reading.says(cues.VEHICLES)),
    (Intent.EXPLAIN, lambda reading: reading.topic is not None),
    (Intent.GREET, lambda reading: not reading.text.strip(" .!?,") or reading.says(cues.HELP)),
)
