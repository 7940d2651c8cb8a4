"""Options of an HTTP target: what is sent, and where in the answer is what."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from carob.targets.config import Seconds, Text

Count = Annotated[int, Meta(ge=0, le=10)]
Size = Annotated[int, Meta(ge=1024, le=1 << 30)]
Status = Annotated[int, Meta(ge=400, le=599)]
Format = Literal["sse", "ndjson", "json", "frames", "chunks"]
Absent = Literal["unknown", "none"]
Method = Literal["POST", "PUT", "PATCH", "GET"]
OwnPath = Annotated[str, Meta(pattern="^/(?!/)")]
When = str | dict[str, object] | list[str | dict[str, object]]
"""Which events are meant: a filter (`?@.kind == 'word'`), the name of an event, fields and their values, or several."""


class ServiceOptions(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How any service is reached, and started if Carob is to do that."""

    start: str = ""
    """The command that starts the service; `{port}` in it and in the address of the target is a free port."""
    start_env: dict[str, str] = field(default_factory=dict)
    start_timeout: Seconds = 60.0
    """Seconds until it must answer at `ready`."""
    ready: Text = "/"
    """Where it answers once it is up, with anything but a status of 500 or above: a path, or an address."""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every request; `${NAME}` is an environment variable, and a secret by that."""
    retries: Count = 2
    """How often a request is sent again that was not taken: connection refused, 429 and 503 with Retry-After."""
    idle_timeout: Seconds = 60.0
    """Seconds of silence after which the server is given up."""
    max_bytes: Size = 4 << 20
    """So much of an answer, or of one event of a stream, is read."""
    ca: str = ""
    """A file of certificates to trust instead of the system's."""
    proxy: str = ""
    """The proxy to go through; none is taken from the environment."""
    has_page: bool = False
    """Whether people see a page of the service, which this target does not: what only it may show is unknown then."""


class ResultPaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where results are that are not part of their calls; each names its call by `id`."""

    at: Text
    id: Text
    result: Text = ""
    error: Text = ""


class ToolCallPaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the tool calls of an answer stand, and what each says; paths but `at` begin at the call."""

    at: Text = ""
    name: Text = ""
    arguments: Text = ""
    result: Text = ""
    error: Text = ""
    id: Text = ""
    results: ResultPaths | None = None
    history: bool | None = None
    """Whether an answer lists the calls of earlier turns as well; not set: it does if it repeats their prompts."""
    absent: Absent = "unknown"
    """What it means if `at` finds nothing and never has: nothing is known, or no tool was called."""


class ConversationPaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the first answer names the conversation; without it, Carob chooses the id."""

    id: Text


class TextPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Events that have a part of the answer."""

    when: When | None = None
    at: str = ""
    raw: bool = False
    """Whether the data of the event is the text itself, and not JSON."""
    whole: bool = False
    """Whether it is the answer so far, not a further part of it: the last one counts."""


class CallPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Events that say something of a tool call; paths but `at` begin at what `at` finds, which is the event itself."""

    when: When | None = None
    at: Text = "$"
    name: str = ""
    id: str | tuple[str, ...] = ""
    """The first names the call; others do as well until another call has them, such as an index."""
    arguments: str = ""
    result: str = ""
    error: str = ""


class EndPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The event that ends a stream."""

    when: When


class StreamPaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the events of a stream say."""

    format: Format
    each: str | tuple[str, ...] = ()
    """Where an event has several parts, each of which is read as an event."""
    whole: bool = False
    """Whether the parts of an event are all of the answer so far: those of the last one count."""
    text: str | TextPart = ""
    """Where an event has a part of the answer."""
    tool: str | CallPart = ""
    """Where an event has a tool: its name, or an object that is read by `tool_calls`, or by its usual keys."""
    arguments: CallPart | None = None
    """Events with a piece of a call's arguments."""
    result: CallPart | None = None
    """Events that end a call, with its result or error."""
    error: CallPart | None = None
    """Events that say that a call failed."""
    ignore: tuple[When, ...] = ()
    """Events that are known not to report a call, although they may name a tool."""
    absent: Absent = "unknown"
    """What it means if no event has anything at `tool`, and none before had: as in `tool_calls`."""
    done: str | EndPart = ""
    """What ends the stream: the data or name of an event, or a path that finds something true in it."""


class FailurePaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the service says that a turn broke."""

    when: When | None = None
    at: str = ""
    status: tuple[Status, ...] | None = None
    """HTTP statuses that say so; without it, all from 400 on."""


class UsagePaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the answer counts tokens, and what it cost in US dollars."""

    when: When | None = None
    input: str = ""
    output: str = ""
    cost: str = ""


class Preparation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A request that brings something about before a conversation: to the same server, whatever it answers."""

    url: OwnPath
    method: Method = "POST"
    body: dict[str, object] | str | None = None


class HttpOptions(ServiceOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `http:`."""

    method: Method = "POST"
    body: dict[str, object] | str | None = None
    form: dict[str, object] | None = None
    """Fields of a form, sent instead of `body`: as multipart where `headers` say so, else URL-encoded."""
    preconditions: dict[str, tuple[Preparation, ...]] = field(default_factory=dict)
    """How what a case lists as `preconditions` is brought about; without this table they are for people to read."""
    answer: str = ""
    tool_calls: ToolCallPaths | None = None
    conversation: ConversationPaths | None = None
    stream: StreamPaths | None = None
    failure: FailurePaths = FailurePaths()
    usage: UsagePaths = UsagePaths()
