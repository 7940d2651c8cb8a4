"""What all model APIs have in common: requests and replies in the words of no API, and the methods that an API has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from re import Pattern
from typing import Any, ClassVar, cast

import msgspec
from msgspec import Struct, structs

from carob.model.trace import BY_ITSELF, Tokens, ToolCall, Trace
from carob.providers.messages import SYSTEM, ChatMessage, read_message
from carob.providers.sse import parse_event
from carob.system.memory_estimate import HEAVIEST, json_weight
from carob.text.tool_results import call_success, parse_result
from carob.text.words import PUBLISHED

Table = Mapping[str, Any]
Pieces = Iterator[tuple[str, object]]
"""The events of a stream: a name, which may be empty, and the data."""
ERRORS = {
    401: "Incorrect API key provided.", 403: "You do not have access to this model.", 404: "The model does not exist.",
    429: "Rate limit reached. Please try again later.", 503: "The service is overloaded. Please try again later.",
    529: "Overloaded",
}  # fmt: skip
EVENT_STREAM = "text/event-stream"
SERVER_ERROR = "The server had an error while processing your request. Sorry about that!"
FINISH = "finish_reason"
"""The metadata key of the reason that an agent gives for the end of a turn."""
SCHEMA_KEYS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"),
    *("args_schema", "json_schema"),
)
"""Where a definition has the JSON Schema of its arguments."""
WRAPPERS = ("function", "tool", "json_schema", "tool_spec", "toolSpec", "data")
TOOL_LISTS = ("tools", "functionDeclarations", "function_declarations")
DEEPEST_DEFINITION = 4
_CHOICES = (
    ("tool_choice", "function", "name"),
    ("tool_choice", "name"),
    ("function_call", "name"),
    ("toolConfig", "functionCallingConfig", "allowedFunctionNames"),
    ("tool_config", "function_calling_config", "allowed_function_names"),
    ("toolConfig", "toolChoice", "tool", "name"),
)
"""Where a request names the tool that is to be called."""


class ModelRequest(Struct, frozen=True):
    """What a model is given."""

    model: str = ""
    messages: tuple[ChatMessage, ...] = ()
    system: str = ""
    tools: object = None
    """The definitions of tools."""
    forced_tools: frozenset[str] = frozenset()
    """The tool that the model has to call: so an answer of a given form is asked for."""


class ModelReply(Struct, frozen=True):
    """What a model says."""

    messages: tuple[ChatMessage, ...] = ()
    finish: str = ""
    tokens: Tokens | None = None
    model: str = ""
    error: str = ""
    provider_calls: tuple[ToolCall, ...] = ()
    """The calls that the provider ran on its side."""
    torn: bool = False
    """Whether it did not come to its end."""

    @property
    def text(self) -> str:
        return "\n".join(message.text for message in self.messages if message.text)


class ModelApi(ABC):
    """One API: its addresses, and how its bodies are read and written. Bodies to be read may be of any shape."""

    name: ClassVar[str]
    address: ClassVar[Pattern[str]]
    request_keys: ClassVar[frozenset[str]]
    """One of these keys is in every request."""
    arguments_key: ClassVar[str] = "arguments"
    arguments_as_text: ClassVar[bool] = True
    """Whether arguments of calls are JSON within a text; else they are objects."""
    streams_arguments: ClassVar[bool] = True
    """Whether a stream has the arguments as text, so that they can be anything."""
    stream_type: ClassVar[str] = EVENT_STREAM
    """The content type of a stream."""

    @abstractmethod
    def request(self, body: Table) -> ModelRequest:
        """What a request says."""

    @abstractmethod
    def reply(self, body: Table) -> ModelReply:
        """What a reply says."""

    @abstractmethod
    def join(self, events: Sequence[Table]) -> dict[str, Any]:
        """The events of a stream as the reply that they make up."""

    @abstractmethod
    def split(self, body: Table) -> Pieces:
        """A reply as the events of a stream."""

    @abstractmethod
    def tool_calls(self, body: Table) -> list[tuple[object, dict[str, Any]]]:
        """The calls of a reply: the id, and the object that has name and arguments, to be changed in place."""

    @abstractmethod
    def error_body(self, status: int, message: str = "", retry_after: float | None = None) -> dict[str, Any]:
        """An error as the API words it."""

    @abstractmethod
    def too_long_body(self) -> dict[str, Any]:
        """The error for a request that is longer than the model can take."""

    @abstractmethod
    def refusal_body(self, request: Table, model: str, words: str) -> dict[str, Any]:
        """A reply that refuses. Where the request asks for JSON, OpenAI's APIs have a key of its own for that."""

    @abstractmethod
    def empty_body(self, body: Table) -> dict[str, Any]:
        """The reply without anything in it."""

    def fits(self, body: Table) -> bool:
        """Whether a body may be a request of this API: other services have such addresses too."""
        return not self.request_keys.isdisjoint(body)

    def model_of(self, body: Table, path: str) -> str:
        return str(body.get("model") or "")

    def wants_stream(self, body: Table, path: str) -> bool:
        return body.get("stream") is True

    def read_request(self, data: bytes) -> ModelRequest | None:
        """None: it cannot be read."""
        body = read_json(data)
        if not isinstance(body, Mapping) or not self.fits(body):
            return None
        return structs.replace(self.request(body), forced_tools=forced_tools(body))

    def read_reply(self, data: bytes, events: Sequence[str]) -> ModelReply | None:
        """None: it cannot be read."""
        pieces = read_events(events) if events else self.read_stream(data)
        body = self.join(pieces) if events or pieces else read_json(data)
        return self.reply(body) if isinstance(body, Mapping) else None

    def read_stream(self, data: bytes) -> list[Table]:
        """The events of a body that is a stream of another form than server-sent events; none for any other body."""
        return []

    def write_stream(self, body: Table) -> list[str]:
        """A reply as server-sent events."""
        texts = ((kind, data if isinstance(data, str) else json_text(data)) for kind, data in self.split(body))
        return [(f"event: {kind}\n" if kind else "") + f"data: {text}\n\n" for kind, text in texts]

    def write_body(self, body: Table) -> bytes:
        """A reply as the body of a stream."""
        return "".join(self.write_stream(body)).encode()

    def break_arguments(self, call: dict[str, Any], value: object, *, streamed: bool) -> None:
        """Give a call the arguments `value`, or ones that are not JSON.

        Where the API can only have an object, it is one that fits no tool.
        """
        key = self.arguments_key
        takes_text = self.arguments_as_text or (streamed and self.streams_arguments)
        if isinstance(value, Mapping):
            call[key] = json_text(value) if self.arguments_as_text else dict(value)
        elif isinstance(value, str):
            call[key] = value if takes_text else {"value": value}
        else:
            # What is only cut off, some clients complete.
            broken = json_text(call.get(key)).replace('"', "'").rstrip("}") or "{"
            call[key] = broken if takes_text else {"": broken}


def read_json(text: bytes | str) -> object:
    """A value of JSON; None for what is not one, or would take too much memory."""
    data = text.encode() if isinstance(text, str) else text
    if json_weight(data) > HEAVIEST:
        return None
    try:
        return cast(object, msgspec.json.decode(data))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def read_events(blocks: Iterable[str]) -> list[Table]:
    """The data of server-sent events that is an object. What ends a stream, and what was cut off, is none."""
    events = (parse_event(block) for block in blocks)
    return objects([read_json(event.data) for event in events if event is not None])


def json_text(value: object) -> str:
    """A value as JSON; a text as it is."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def objects(value: object) -> list[Table]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def table(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def number_of(value: object) -> int:
    return value if isinstance(value, int) else 0


def content_text(content: object) -> str:
    """The text of content that is a string or parts."""
    return read_message({"role": "system", "content": content}).text


def system_text(messages: Iterable[ChatMessage]) -> str:
    return "\n".join(message.text for message in messages if message.role in SYSTEM)


def count_tokens(usage: object, input_keys: tuple[str, ...], output_keys: tuple[str, ...]) -> Tokens | None:
    """The tokens of a reply, as far as it counts them."""
    counts = [_sum(table(usage), keys) for keys in (input_keys, output_keys)]
    return None if counts == [None, None] else Tokens(*counts)


def _sum(usage: Table, keys: tuple[str, ...]) -> int | None:
    numbers = [number for key in keys if isinstance(number := usage.get(key), int)]
    return sum(numbers) if numbers else None


def error_text(body: Table) -> str:
    error = body.get("error")
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("type") or "error")
    return str(error) if error else ""


def provider_call(name: str, arguments: object, result: object, *, failed: bool, id: object = None) -> ToolCall:
    """A call that the provider ran on its side."""
    content, success = parse_result(result), call_success(result, raised=failed)
    call_id = text_of(id) or None
    return ToolCall(name, parse_result(arguments), id=call_id, result=content, success=success, kind="provider")


def read_ending(finish_reason: str) -> str:
    """`itself` for a model that came to its end; any other reason as it is: it was cut off. Empty for none."""
    plain = finish_reason.lower().replace("_", "").replace("-", "").replace(" ", "")
    return BY_ITSELF if plain in PUBLISHED.entries("own_ends") else finish_reason


def ending_of(trace: Trace) -> str:
    """How a turn ended: `itself`, or what cut it off; empty where that is not known. A limit outweighs an end."""
    if trace.ended_by not in ("", BY_ITSELF):
        return trace.ended_by
    reason = str(trace.metadata.get(FINISH) or "")
    return reason if reason in PUBLISHED.entries("cut_off") else trace.ended_by


def tool_schemas(definitions: object) -> dict[str, object]:
    """The JSON Schema of each tool by its name, whoever writes the definitions; None for a tool without one."""
    return dict(_read_definitions(definitions, 0))


def forced_tools(request: object) -> frozenset[str]:
    """The name of the tool that a request makes the model call, whatever the API; empty if it leaves a choice."""
    names: set[str] = set()
    for path in _CHOICES:
        value = request
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        names |= {value} if isinstance(value, str) else set()
    return frozenset(names)


def _read_definitions(definitions: object, depth: int) -> Iterator[tuple[str, object]]:
    definitions = parse_result(definitions)
    if depth > DEEPEST_DEFINITION:
        return
    if isinstance(definitions, list | tuple):
        for definition in definitions:
            yield from _read_definitions(definition, depth + 1)
    elif isinstance(definitions, Mapping):
        name = definitions.get("name")
        if isinstance(name, str) and name:
            yield name, _schema(definitions)
            return
        for key in (*WRAPPERS, *TOOL_LISTS):
            yield from _read_definitions(definitions.get(key), depth + 1)


def _schema(definition: Mapping[str, object]) -> object:
    schema = next((parse_result(definition[key]) for key in SCHEMA_KEYS if definition.get(key) is not None), None)
    if isinstance(schema, Mapping) and isinstance(schema.get("json"), Mapping):
        schema = schema["json"]  # as Bedrock has it
    return schema if isinstance(schema, Mapping) else None
