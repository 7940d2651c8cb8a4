"""What a person can do about a brief."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from canvas_app.records import BriefState
from canvas_app.wording import tomorrow_morning


@dataclass(frozen=True, slots=True)
class Override:
    id: str
    label: str
    hint: str


OVERRIDES: tuple[Override, ...] = (
    Override("reframe_mission", "Reframe mission", "Put the same mission another way"),
    Override("lower_priority", "Lower priority", "Let something else come first"),
    Override("different_objective", "Use different objective", "Choose what the day should serve"),
    Override("snooze", "Snooze", "Hide the brief until tomorrow morning"),
)

WAKE = Override("wake", "Wake the brief", "Show the brief again")

OVERRIDE_IDS = tuple(override.id for override in (*OVERRIDES, WAKE))


def awake(state: BriefState, now: datetime) -> BriefState:
    """The state without a snooze that is over."""
    over = state.snoozed_until is not None and state.snoozed_until <= now
    return replace(state, snoozed_until=None) if over else state


def override_controls(state: BriefState) -> tuple[Override, ...]:
    """The buttons that the brief shows."""
    return (WAKE,) if state.snoozed_until else OVERRIDES


def confirmation(override: str, objective: str, served: bool, until: str | None) -> str:
    """What is said about an override; an objective that nothing serves today is not claimed to be served."""
    if override == "different_objective" and not served:
        return f"Nothing today serves the objective to {objective}, so another mission leads."
    said: Mapping[str, str] = {
        "reframe_mission": "I put the mission another way.",
        "lower_priority": "I lowered that mission and moved the next one up.",
        "different_objective": f"The brief now serves another objective: {objective}.",
        "snooze": f"The brief is snoozed until {until}.",
        "wake": "The brief is back.",
    }
    return said[override]


def decide(
    state: BriefState, override: str, mission_id: str | None, objective: str | None, now: datetime
) -> BriefState:
    """The decisions after an override; `mission_id` is the mission that the override is about."""
    if override == "reframe_mission":
        return replace(state, framing=state.framing + 1)
    if override == "lower_priority" and mission_id is not None:
        lowered = (*(kept for kept in state.lowered if kept != mission_id), mission_id)
        return replace(state, framing=0, lowered=lowered)
    if override == "different_objective":
        return replace(state, framing=0, lowered=(), objective=objective)
    if override == "snooze":
        return replace(state, snoozed_until=tomorrow_morning(now))
    return replace(state, snoozed_until=None)
