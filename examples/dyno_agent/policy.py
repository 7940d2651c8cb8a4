"""The lab's rules as constants: the code decides by them and the knowledge text quotes them."""

from datetime import date, datetime
from typing import Final, Literal

DEFAULT_NOW: Final = datetime(2026, 3, 2, 9, 0)
"""The lab's clock unless `DYNO_NOW` sets another, so that an answer does not depend on the day it was asked."""

WEIGHT_CLASSES: Final[dict[str, int]] = {"light": 6_000, "medium": 10_000, "heavy": 14_000}
"""Name of a weight class and the heaviest vehicle in it, in lbs, lightest class first."""

DRIVES: Final = ("FWD", "RWD", "AWD", "4WD")
TEST_TYPES: Final = ("brake", "emissions", "performance", "durability", "coastdown", "noise")

Status = Literal["scheduled", "running", "completed", "cancelled"]
STATUSES: Final[tuple[Status, ...]] = ("scheduled", "running", "completed", "cancelled")
ACTIVE_STATUSES: Final[tuple[Status, ...]] = ("scheduled", "running")
"""A booking in one of these occupies its dyno and its vehicle."""

MAX_BACKUP_DAYS: Final = 7
"""How many days later than requested a booking may begin."""

MAX_BOOKING_DAYS: Final = 30
QUERY_ROW_LIMIT: Final = 50
QUERY_SECONDS: Final = 3.0
RECURSION_LIMIT: Final = 12
"""Steps of one conversation turn: each model call and each round of tools is one."""


def is_plausible(day: date) -> bool:
    """Whether the lab could mean this day; further ones are slips, and the calendar ends not far behind them."""
    return 2000 <= day.year <= 2100


def weight_class_of(weight_lbs: int) -> str | None:
    """Name the class of a weight; None when it is over the heaviest one."""
    return next((name for name, limit in WEIGHT_CLASSES.items() if weight_lbs <= limit), None)


def heaviest_lbs() -> int:
    """The most that any dyno of the lab can take."""
    return max(WEIGHT_CLASSES.values())
