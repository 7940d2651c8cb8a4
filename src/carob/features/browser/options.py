"""Options of a browser target: where the app is, how to reach its chat, and how an answer is known."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from msgspec import Meta, Struct, field

from carob.errors import ConfigError

Positive = Annotated[int, Meta(gt=0)]

SESSION = "{session}"
LOG = "{log}"
LITERAL = 8
"""How long a value must be to be taken for a secret without being called one."""


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """An element: by CSS selector, by role and accessible name, or by the text it shows."""

    selector: str = ""
    role: str = ""
    name: str = ""
    text: str = ""

    def __str__(self) -> str:
        parts = (self.selector, self.role, self.name and f'"{self.name}"', self.text and f'"{self.text}"')
        return " ".join(part for part in parts if part)


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One step on the page. What is given is done in the order of these fields; `fill` writes `value`."""

    when: Place | None = None
    """Only where this shows, or comes up within a second."""
    frame: str = ""
    """A CSS selector of the frame in which it is done; without it, in the page."""
    open: str = ""
    hover: Place | None = None
    click: Place | None = None
    fill: Place | None = None
    value: str = ""
    press: str = ""
    wait_for: Place | None = None


class Complete(Struct, frozen=True, forbid_unknown_fields=True):
    """How an answer is known to be complete; all that is given must hold at the same time."""

    busy: str = ""
    """A CSS selector: the `aria-busy` of what it finds was set and is cleared."""
    gone: str = ""
    """A text that is by itself on the page while the assistant works."""
    spinner: str = ""
    """A CSS selector: what it finds is visible while the assistant works."""
    event: bool = False
    """The line that ends the turn is in the telemetry."""
    quiet_ms: Positive | None = None
    """The answer has not changed for so long."""

    @property
    def signs(self) -> dict[str, str]:
        """The signs of work that the page shows."""
        return {"busy": self.busy, "gone": self.gone, "spinner": self.spinner}


class Line(Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the telemetry log: by its fields, and by a text that is in it."""

    source: str = ""
    event: str = ""
    level: str = ""
    text: str = ""


class LogOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the app's log is, which lines say that a turn ended or broke, and which field names the conversation."""

    log: str = ""
    end_source: str = ""
    end_event: str = ""
    correlation_field: str = ""
    failure: tuple[Line, ...] = ()
    """Lines by which the app says that a turn broke: one of them makes the case an ERROR."""
    wait_ms: Positive = 5000
    complete: bool = False
    """Whether the user vouches that nothing is logged after its turn has ended, so that all lines of a turn are its."""
    tools_only: bool = False
    """Whether the user vouches that a turn in which no tool is called writes nothing, so that silence shows that."""

    def __bool__(self) -> bool:
        return self != LogOptions()


class BrowserOptions(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of a browser target.

    `${NAME}` in headers, cookies, addresses and the values of steps is the environment variable; `{session}` there is
    the name of the conversation.
    """

    app_url: str = ""
    space_url: str = ""
    session: str = ""
    """One conversation for all cases; without it, each case has its own."""
    session_query: str = ""
    """The query parameter that names the conversation to the app."""
    wait_ms: Positive = 60_000
    start: str = ""
    start_env: dict[str, str] = field(default_factory=dict)
    start_timeout: Positive = 60
    health: str = "/"
    steps: tuple[Step, ...] = ()
    preconditions: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    """How what a case lists as `preconditions` is brought about; without this table they are for people to read."""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every request of the page."""
    cookies: dict[str, str] = field(default_factory=dict)
    local_storage: dict[str, str] = field(default_factory=dict)
    """What the app finds in the local storage of its address."""
    init_script: str = ""
    """JavaScript that runs in every page before the app's own; the name of a file if it ends in `.js`."""
    dismiss: tuple[Place, ...] = ()
    """What is clicked wherever it shows, such as the button of a banner that the app opens by itself."""
    frame: str = ""
    """A CSS selector of the frame that holds the chat, if it is not the page itself."""
    chat_box: Place = Place(role="textbox")
    send: Place | Literal["Enter"] = "Enter"
    complete: Complete = Complete(quiet_ms=1500)
    answer: Place | None = None
    """The assistant's messages; without it, what appears after the prompt."""
    failure: Place | None = None
    """Where the app says that a turn broke: new text there makes the case an ERROR."""
    telemetry: LogOptions = LogOptions()
    telemetry_log: str = ""
    executable: str = ""
    screenshots: bool = True
    viewport: tuple[Positive, Positive] = (1280, 900)

    @property
    def texts(self) -> Iterator[str]:
        """Everything in which `${NAME}` and `{session}` are filled in."""
        yield from (self.app_url, self.space_url, *self._given)
        for steps in (self.steps, *self.preconditions.values()):
            yield from (text for step in steps for text in (step.value, step.open))

    @property
    def _given(self) -> tuple[str, ...]:
        return (*self.headers.values(), *self.cookies.values(), *self.local_storage.values())

    @property
    def starts_app(self) -> bool:
        return bool(self.start) and not self.app_url

    @property
    def has_log(self) -> bool:
        """Whether there is a telemetry log: it is named, or the app gets its place at the start."""
        passes_log = any(LOG in text for text in (self.start, *self.start_env.values()))
        return bool(self.telemetry_log or self.telemetry) or (passes_log and self.starts_app)

    @property
    def literals(self) -> list[str]:
        """What the app is given by the configuration itself, where it is long enough to be a secret."""
        return [value for value in self._given if len(value) >= LITERAL and SESSION not in value and "${" not in value]

    def names_session(self, address: str) -> bool:
        """Whether the app hears which conversation it is in."""
        return bool(self.session_query) or any(SESSION in text for text in (address, *self.texts))


def check_options(options: BrowserOptions, address: str) -> BrowserOptions:
    """The options, if they can be followed together and with the address that the target was given."""
    cause = fix = ""
    if options.complete.event and not options.telemetry.end_event:
        cause, fix = "`complete.event` needs a line to wait for.", "Set `telemetry.end_event`."
    elif options.telemetry.correlation_field and not options.names_session(address):
        cause = "`telemetry.correlation_field` is set, but nothing passes the conversation to the app."
        fix = "Set `session_query`, or write {session} into a header, a cookie or an address."
    elif any(line == Line() for line in options.telemetry.failure):
        cause = "an entry of `telemetry.failure` matches every line."
        fix = "Give it at least one of source, event, level and text."
    if cause:
        raise ConfigError(cause, fix=fix, slug="bad-options")
    return options


_VARIABLE = re.compile(r"\$\{(\w+)\}")
_KEPT = ("!$%&()*+,-./:;=?@[\\]^_`{|}~", "!$%&'()*+,-./:;=?@[\\]^_`{|}~", "!$%&'()*+,-./:;=@[\\]|~")
"""What Chromium leaves as it is in the query of a web address, in that of another, and in a path."""
SHORTEST = 4
"""A shorter value cannot be distinguished from plain text."""


def fill(text: str, session: str) -> str:
    """`{session}` replaced by the conversation, `${NAME}` by the variable; one that is not set is an error."""

    def value(match: re.Match[str]) -> str:
        variable = os.environ.get(match[1])
        if not variable:
            raise ConfigError(f"the environment variable {match[1]} is not set.", fix="Set it before the run.")
        return variable

    return _VARIABLE.sub(value, text.replace(SESSION, session))


def script(source: str, root: Path) -> str:
    """The JavaScript of an option that is either a script or the name of a file."""
    if not source.endswith(".js"):
        return source
    try:
        return (root / source).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        fix = "Name a file of JavaScript."
        raise ConfigError(f"`init_script` cannot be read: {why}.", where=str(root / source), fix=fix) from error


def environment_values(options: BrowserOptions, address: str) -> list[str]:
    """What comes from the environment, which no artifact may show. Raises ConfigError for what is not set."""
    return [fill(f"${{{name}}}", "") for name in _names(options, address)]


def secret_values(options: BrowserOptions, address: str) -> tuple[str, ...]:
    """What comes from the environment and is set, and literal headers and cookies, as pages and browsers spell them."""
    values = [value for name in _names(options, address) if len(value := os.environ.get(name, "")) >= SHORTEST]
    return tuple(sorted({form for value in (*values, *options.literals) for form in _spellings(value)}))


def _names(options: BrowserOptions, address: str) -> list[str]:
    return sorted({name for text in (address, *options.texts) for name in _VARIABLE.findall(text)})


def _spellings(value: str) -> set[str]:
    return {value, html.escape(value), html.escape(value, quote=False), *(quote(value, safe=safe) for safe in _KEPT)}
