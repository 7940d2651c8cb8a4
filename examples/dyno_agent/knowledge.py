"""What the agent knows about the lab's rules, worded from the constants by which the code decides."""

from dataclasses import dataclass
from datetime import datetime

from dyno_agent.models import Dyno
from dyno_agent.policy import (
    ACTIVE_STATUSES,
    DRIVES,
    MAX_BACKUP_DAYS,
    MAX_BOOKING_DAYS,
    QUERY_ROW_LIMIT,
    QUERY_SECONDS,
    STATUSES,
    TEST_TYPES,
    WEIGHT_CLASSES,
    heaviest_lbs,
)
from dyno_agent.results import counted

_WEIGHTS = Dyno.supported_weight_classes.key
_DRIVES = Dyno.supported_drives.key
_TESTS = Dyno.supported_test_types.key


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that people ask about."""

    name: str
    text: str


def topics() -> dict[str, Topic]:
    """All topics by name."""
    classes = ", ".join(f"{name} up to {limit:,} lbs" for name, limit in WEIGHT_CLASSES.items())
    texts = {
        "compatibility": (
            f"A dyno can take a vehicle when the vehicle's weight class is in the dyno's {_WEIGHTS}, its drive is in "
            f"{_DRIVES} and the test is in {_TESTS}. The dyno must also be enabled, inside its availability window, "
            "out of maintenance and without an overlapping booking on those days."
        ),
        "weight_classes": (
            f"Weight classes: {classes}. The limit is {heaviest_lbs():,} lbs: a vehicle over it fits on no dyno. "
            f"Each dyno lists its own in {_WEIGHTS}."
        ),
        "drives": f"Drives are {', '.join(DRIVES)}. A dyno takes a vehicle only if its drive is in {_DRIVES}.",
        "test_types": f"Test types are {', '.join(TEST_TYPES)}. Each dyno lists what it can run in {_TESTS}.",
        "overlaps": (
            f"Bookings must not overlap: a dyno holds one vehicle at a time and a vehicle is on one dyno at a time. "
            f"Both end days count, so a booking that begins on the day another ends does overlap. Only "
            f"{' and '.join(ACTIVE_STATUSES)} bookings count, and the database itself refuses a double booking."
        ),
        "backup": (
            f"If no dyno is free in the requested window, the booking gets a backup shift: the same number of days, "
            f"begun as few days later as possible, at most {counted(MAX_BACKUP_DAYS, 'day')}. A request may set a "
            "lower limit, or 0 for exact dates only. A booking is never moved to earlier days."
        ),
        "sql": (
            f"query_database runs a single read-only SELECT and nothing else: no INSERT, UPDATE, DELETE or DROP. The "
            f"database enforces this, gives {QUERY_ROW_LIMIT} rows at most and stops a query after "
            f"{QUERY_SECONDS:g} seconds."
        ),
        "maintenance": (
            "A dyno in maintenance takes no booking that touches a day of it. A booking that was there before is "
            "reported by detect_conflicts."
        ),
        "availability": (
            "A dyno may have an availability window (available_from to available_until): a booking must lie inside "
            "it. An open end means no bound. A disabled dyno takes no booking at all."
        ),
        "booking": (
            f"To book I need a vehicle (id or VIN), a test type and a start date; an end date is optional and the test "
            f"may take {MAX_BOOKING_DAYS} days at most. I take the first dyno that fits, and I ask back about an "
            "ambiguous date such as 03/04/2026."
        ),
        "statuses": f"An allocation is {', '.join(STATUSES[:-1])} or {STATUSES[-1]}.",
    }
    return {name: Topic(name, text) for name, text in texts.items()}


def system_prompt(now: datetime) -> str:
    """What any chat model is told before the conversation."""
    rules = "\n".join(f"- {topic.text}" for topic in topics().values())
    return (
        f"You are the assistant of a vehicle test lab and book vehicles onto dynamometers (dynos).\n"
        f"Current time: {now.isoformat(timespec='minutes')} ({now:%A}).\n\n"
        "Use the tools for anything about bookings, vehicles and dynos, and repeat a tool's message in your answer. "
        "Ask when the vehicle, test type or date is missing or ambiguous. Never change data except by booking.\n"
        f"Rules of the lab:\n{rules}\n"
    )
