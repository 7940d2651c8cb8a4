"""What a browser target can be told: where the app is, how to reach its chat, and how an answer is known."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from karat.errors import ConfigError

Positive = Annotated[int, Meta(gt=0)]


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """An element: by CSS selector, by role and accessible name, or by the text it shows."""

    selector: str = ""
    role: str = ""
    name: str = ""
    text: str = ""


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One step on the way to the chat. `fill` writes `value`; `${NAME}` in a value comes from the environment."""

    open: str = ""
    click: Place | None = None
    fill: Place | None = None
    value: str = ""
    press: str = ""
    wait_for: Place | None = None


class Complete(Struct, frozen=True, forbid_unknown_fields=True):
    """How an answer is known to be complete; all that is given must hold."""

    busy: str = ""
    """A selector: its `aria-busy` was set and is cleared."""
    gone: str = ""
    """A text that shows while the assistant works."""
    quiet_ms: Positive | None = None
    """The answer has not changed for so long."""


class Telemetry(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the app's log is, which line ends a turn, and which field tells conversations apart."""

    log: str = ""
    end_source: str = ""
    end_event: str = ""
    correlation_field: str = ""
    wait_ms: Positive = 5000


class Options(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of a browser target."""

    app_url: str = ""
    space_url: str = ""
    session: str = ""
    session_query: str = ""
    wait_ms: Positive = 60_000
    start: str = ""
    start_env: dict[str, str] = field(default_factory=dict)
    start_timeout: Positive = 60
    health: str = "/"
    steps: tuple[Step, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    chat_box: Place = Place(role="textbox")
    send: Place | Literal["Enter"] = "Enter"
    complete: Complete = Complete(quiet_ms=1500)
    answer: Place | None = None
    telemetry: Telemetry = Telemetry()
    telemetry_log: str = ""
    executable: str = ""
    screenshots: bool = True
    viewport: tuple[Positive, Positive] = (1280, 900)


_VARIABLE = re.compile(r"\$\{(\w+)\}")


def from_environment(text: str) -> str:
    """`${NAME}` replaced by the variable; one that is not set is an error, not an empty password."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise ConfigError(f"the environment variable {match[1]} is not set.", fix="Set it before the run.")
        return found

    return _VARIABLE.sub(value, text)


def filled(values: dict[str, str]) -> dict[str, Any]:
    return {name: from_environment(value) for name, value in values.items()}
