"""Options of an HTTP target: what is sent, and where in the answer is what."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from karat.targets.config import Seconds, Text

Count = Annotated[int, Meta(ge=0, le=10)]
Size = Annotated[int, Meta(ge=1024, le=1 << 30)]
Status = Annotated[int, Meta(ge=400, le=599)]
Format = Literal["sse", "ndjson", "chunks"]
Absent = Literal["unknown", "none"]
Method = Literal["POST", "PUT", "PATCH", "GET"]
OwnPath = Annotated[str, Meta(pattern="^/(?!/)")]


class ServiceOptions(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How any service is reached."""

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


class ToolCallPaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the tool calls of an answer stand, and what each says; paths but `at` begin at the call."""

    at: Text = ""
    name: Text = ""
    arguments: Text = ""
    result: Text = ""
    error: Text = ""
    id: Text = ""
    absent: Absent = "unknown"
    """What it means if `at` finds nothing and never has: nothing is known, or no tool was called."""


class ConversationPaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the first answer names the conversation; without it, Karat chooses the id."""

    id: Text


class StreamPaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the events of a stream say."""

    format: Format
    text: str = ""
    """Where an event has a part of the answer."""
    tool: str = ""
    """Where an event has a tool: its name, or an object that is read by `tool_calls`, or by its usual keys."""
    absent: Absent = "unknown"
    """What it means if no event has anything at `tool`, and none before had: as in `tool_calls`."""
    done: str = ""
    """What ends the stream: the data or name of an event, or a path that finds something true in it."""


class FailurePaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the service says that a turn broke."""

    at: str = ""
    status: tuple[Status, ...] | None = None
    """HTTP statuses that say so; without it, all from 400 on."""


class UsagePaths(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the answer counts tokens, and what it cost in US dollars."""

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
    preconditions: dict[str, tuple[Preparation, ...]] = field(default_factory=dict)
    """How what a case lists as `preconditions` is brought about; without this table they are for people to read."""
    answer: str = ""
    tool_calls: ToolCallPaths | None = None
    conversation: ConversationPaths | None = None
    stream: StreamPaths | None = None
    failure: FailurePaths = FailurePaths()
    usage: UsagePaths = UsagePaths()
