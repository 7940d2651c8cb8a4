"""`openai:URL`: an endpoint with OpenAI's chat completions or responses.

*observe*: the calls that the model asks for are recorded, and the turn ends. *loop*: named Python functions really run,
and the model hears what they gave, up to `max_steps`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Annotated, ClassVar, Literal, cast, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field

from carob.errors import ConfigError
from carob.plugins.code import load
from carob.providers.base import read_ending
from carob.providers.catalog import CHAT, RESPONSES
from carob.providers.openai_chat import OpenAiApi
from carob.providers.sse import ServerEvent
from carob.proxy.faults.world import CaseWorld
from carob.suites.diagnostics import Json
from carob.targets.base import TargetError
from carob.targets.capabilities import NOTHING, TOOLS
from carob.targets.config import TargetConfig
from carob.targets.http.conversation import HttpConversation, TurnBuffer
from carob.targets.http.options import ServiceOptions
from carob.targets.http.service import WireRequest
from carob.targets.http.streams import DONE, EventKinds, event_json, protocol_error
from carob.targets.http.target import ServiceTarget
from carob.targets.http.tool_call_log import CallSoFar, arguments_of, arguments_text
from carob.targets.user_code import DaemonThreads, Environment
from carob.text.clean import jsonable
from carob.text.wording import error_text, shorten, visible

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class ToolTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tool as carob.toml writes it out."""

    function: str = ""
    description: str = ""
    parameters: dict[str, object] | None = None
    """A JSON Schema of the arguments; without it, the function's signature says them."""


class OfferedTool:
    """One tool. Without a function it can be asked for, and no more."""

    def __init__(self, name: str, table: ToolTable, config: TargetConfig) -> None:
        self.name = name
        self._function: Callable[..., object] | None = None
        if table.function:
            self._function = load(table.function.removeprefix("python:"), config.root, config.import_path)
        doc = inspect.getdoc(self._function) if self._function is not None else ""
        description = table.description or (doc or "").partition("\n")[0]
        parameters = table.parameters or _schema(self._function)
        self.definition = {"name": name, "description": description, "parameters": parameters}
        self.schema = parameters if table.parameters or self._function is not None else None
        """The schema of its arguments; None where neither carob.toml nor a function says it."""

    @property
    def runs(self) -> bool:
        return self._function is not None

    async def call(self, arguments: object, threads: DaemonThreads) -> tuple[object, str | None]:
        """What the function gave, or what went wrong."""
        if self._function is None or not isinstance(arguments, Mapping):
            return None, "the arguments are not an object"
        bound = partial(self._function, **{str(key): value for key, value in arguments.items()})
        try:
            outcome = bound() if inspect.iscoroutinefunction(self._function) else await threads.call(bound)
            result = await outcome if inspect.isawaitable(outcome) else outcome
        except Exception as error:  # noqa: BLE001 - a tool of the user's may raise anything, and the model hears of it
            return None, f"{type(error).__name__}: {error_text(error)}"
        return jsonable(result), None


def result_text(result: object, error: str | None) -> str:
    """What the model hears of a result."""
    if error is not None:
        return f"error: {error}"
    return result if isinstance(result, str) else msgspec.json.encode(result).decode()


def _schema(function: Callable[..., object] | None) -> dict[str, object]:
    if function is None:
        return {"type": "object", "properties": {}}
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters
    properties = {name: _type(hints.get(name)) for name in parameters}
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    return {"type": "object", "properties": properties, "required": required}


def _type(hint: object) -> dict[str, object]:
    plain = get_origin(hint) or hint
    name = TYPES.get(plain) if isinstance(plain, type) else None
    return {"type": name} if name else {}


class ReplyReader:
    """One reply of the model, as events or whole."""

    def __init__(self, api: OpenAiApi, buffer: TurnBuffer, step: int) -> None:
        self.text = ""
        self.calls: list[CallSoFar] = []
        self._api = api
        self._buffer = buffer
        self._step = step
        self._events: list[dict[str, Json]] = []
        self._body: Json = None
        self._kinds = EventKinds(f"of a {api.title}")

    def take(self, event: ServerEvent) -> bool:
        if event.data.strip() == DONE:
            return True
        payload = event_json(event, self._api.title)
        if not isinstance(payload, dict):
            raise protocol_error(f"an event is not of a {self._api.title}")
        kind = str(payload.get("type") or event.name or next(iter(payload), ""))
        self._kinds.note(kind, fits=self._api.is_event(payload))
        self._events.append(payload)
        self._say(self._api.text_delta(payload))
        return self._api.ends_stream(payload)

    def read_whole(self, value: Json) -> None:
        self._body = value
        if not isinstance(value, dict):
            raise protocol_error(f"the answer is not a {self._api.title}")

    def end(self) -> None:
        """How the reply ended, and what it took. Raises TargetError if it is none, or was cut off."""
        body, reply = self._joined, self._api.reply(self._joined)
        if reply.error:
            error = visible(shorten(reply.error, 300))
            raise TargetError("agent", f"the endpoint returned an error: {error}")
        if self._api.body_key not in body:
            raise protocol_error(f"the answer is not a {self._api.title}: it has {', '.join(map(repr, body))[:200]}")
        if reply.torn:
            raise self._kinds.end_error(f"the {self._api.title} has no {self._api.end_mark}")
        if not self.text:
            self._say(reply.text)
        self._buffer.ended_by = read_ending(reply.finish)
        if reply.tokens is not None:
            self._buffer.spend(reply.tokens)
        if body.get("incomplete_details"):
            self._buffer.metadata["incomplete_details"] = body["incomplete_details"]
        elif self._api is CHAT and reply.finish != "stop":
            self._buffer.metadata["finish_reason"] = reply.finish

    def log_calls(self) -> None:
        """Keep the calls of the reply, or of as much of it as has come."""
        for number, (id, call) in enumerate(self._api.tool_calls(self._joined)):
            call_id = str(id or f"{self._step}.{number}")
            logged = self._buffer.call_log.begin(str(call.get("name") or ""), call_id, ran=False)
            logged.pieces = [str(call.get("arguments") or "")]
            self.calls.append(logged)

    @cached_property
    def _joined(self) -> dict[str, Json]:
        return self._body if isinstance(self._body, dict) else self._api.join(self._events)

    def _say(self, part: str) -> None:
        self._buffer.say(part, str(self._step))
        self.text += part


NOT_RUN = "not run"


class OpenAiOptions(ServiceOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `openai:`."""

    model: str = ""
    api: Literal["chat", "responses"] = "chat"
    system: str = ""
    tools: dict[str, str | ToolTable] = field(default_factory=dict)
    mode: Literal["observe", "loop"] = "observe"
    max_steps: Annotated[int, Meta(ge=1, le=100)] = 10
    stream: bool = True
    parameters: dict[str, object] = field(default_factory=dict)
    """What else is sent, such as `temperature`."""


class OpenAiTarget(ServiceTarget[OpenAiOptions]):
    """A model at an endpoint, and its tools."""

    form: ClassVar[type[ServiceOptions]] = OpenAiOptions

    def __init__(self, config: TargetConfig) -> None:
        super().__init__(config)
        self._threads = DaemonThreads("carob-tools")
        self._environment = Environment(config.env)
        self._api: OpenAiApi = CHAT if self._options.api == "chat" else RESPONSES
        self.reaches = TOOLS if self._options.mode == "loop" else NOTHING

    async def open(self) -> None:
        self._environment.set()  # for the tools, which run in this process
        await super().open()

    def prepare(self) -> None:
        options, config = self._options, self._config
        if not options.model:
            raise self.option_error("use", "`model` is not set", 'Set model = "…".')
        self._tools: dict[str, OfferedTool] = {}
        for name, definition in options.tools.items():
            table = ToolTable(function=definition) if isinstance(definition, str) else definition
            try:
                self._tools[name] = OfferedTool(name, table, config)
            except ConfigError as error:
                raise self.option_error("tools", f"{name}: {error.message}".rstrip("."), error.fix) from error
            if options.mode == "loop" and not self._tools[name].runs:
                raise self.option_error("tools", f"{name} has no function to run", 'Set function = "tools.py:name".')

    async def close(self) -> None:
        await super().close()
        self._threads.close()
        self._environment.restore()

    async def converse(self, talk: HttpConversation, prompt: str, buffer: TurnBuffer) -> None:
        talk.context.lists_tools = True
        talk.context.tool_schemas = {name: tool.schema for name, tool in self._tools.items()}
        history = cast("list[object]", talk.notes.setdefault("history", []))
        history.append({"role": "user", "content": prompt})
        for step in range(self._options.max_steps):
            reader = ReplyReader(self._api, buffer, step)
            try:
                await talk.exchange(self.build_request(talk, prompt), reader)
            finally:
                reader.log_calls()  # also those of a reply that broke off
            calls = [(call.id, call.name, arguments_text(call)) for call in reader.calls]
            history += self._api.write_reply(reader.text, calls)
            ran = [await self._run_call(call, buffer, history, talk.context.world) for call in reader.calls]
            if not any(ran):
                buffer.check("the turn")
                return
        buffer.ended_by = "step limit"

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        options = self._options
        tools = [tool.definition for tool in self._tools.values()]
        history = list(cast("list[object]", talk.notes["history"]))
        body = self._api.write_request(options.model, options.system, history, tools)
        body |= {"stream": True} if options.stream else {}
        body |= {"stream_options": {"include_usage": True}} if options.stream and self._api is CHAT else {}
        url = f"{self.address(talk).rstrip('/')}/{'chat/completions' if self._api is CHAT else 'responses'}"
        form: Literal["sse"] | None = "sse" if options.stream else None
        headers = self.headers(talk, prompt)
        return WireRequest(url, body | options.parameters, headers=headers, stream=form, protocol=True)

    async def _run_call(
        self, call: CallSoFar, buffer: TurnBuffer, history: list[object], world: CaseWorld | None
    ) -> bool:
        """Whether a call was carried out, so that the model is to hear of it."""
        tool = self._tools.get(call.name)
        if self._options.mode == "observe":
            history.append(self._api.write_result(call.id, NOT_RUN))
            return False
        if tool is None:
            call.error, call.success = "there is no such tool", False
            history.append(self._api.write_result(call.id, result_text(None, call.error)))
            return True
        arguments = arguments_of(call)
        run = partial(tool.call, arguments, self._threads)
        result, error = await (run() if world is None else world.run_tool(tool.name, arguments, run))
        buffer.call_log.end(call, result, error)
        history.append(self._api.write_result(call.id, result_text(result, error)))
        return True
