"""`openai:URL`: an endpoint with OpenAI's chat completions or responses.

*observe*: the calls that the model asks for are recorded, and the turn ends. *loop*: named Python functions really run,
and the model hears what they gave, up to `max_steps`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, ClassVar, Literal, cast, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field

from karat.checks.tools.validity import judges_end
from karat.errors import ConfigError
from karat.model.trace import Tokens
from karat.plugins.code import load
from karat.providers.base import read_ending
from karat.proxy.faults.world import CaseWorld
from karat.suites.diagnostics import Json
from karat.targets.base import TargetError
from karat.targets.capabilities import NOTHING, TOOLS
from karat.targets.config import TargetConfig
from karat.targets.http.conversation import AnswerReader, HttpConversation, TurnBuffer
from karat.targets.http.event_values import DONE, EventKinds, event_json, protocol_error
from karat.targets.http.jsonpath import count, objects
from karat.targets.http.options import ServiceOptions
from karat.targets.http.service import WireRequest
from karat.targets.http.streams import WireEvent
from karat.targets.http.target import ServiceTarget
from karat.targets.http.tool_call_log import CallSoFar, arguments_of, arguments_text
from karat.targets.threads import DaemonThreads
from karat.targets.user_code import Environment
from karat.text.clean import jsonable
from karat.text.wording import error_text, shorten, visible

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class ToolTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tool as karat.toml writes it out."""

    function: str = ""
    description: str = ""
    parameters: dict[str, object] | None = None
    """A JSON Schema of the arguments; without it, the function's signature says them."""


class OfferedTool:
    """One tool. Without a function it can be asked for, and no more."""

    def __init__(self, name: str, given: ToolTable, config: TargetConfig) -> None:
        self.name = name
        self._function: Callable[..., object] | None = None
        if given.function:
            self._function = load(given.function.removeprefix("python:"), config.root, config.import_path)
        doc = inspect.getdoc(self._function) if self._function is not None else ""
        self.description = given.description or (doc or "").partition("\n")[0]
        self.parameters = given.parameters or _schema(self._function)
        self.schema = self.parameters if given.parameters or self._function is not None else None
        """The schema of its arguments; None where neither karat.toml nor a function says it."""

    @property
    def runs(self) -> bool:
        return self._function is not None

    async def call(self, arguments: object, threads: DaemonThreads) -> tuple[object, str | None]:
        """What the function gave, or what went wrong."""
        if self._function is None or not isinstance(arguments, Mapping):
            return None, "the arguments are not an object"
        bound = partial(self._function, **{str(key): value for key, value in arguments.items()})
        try:
            given = bound() if inspect.iscoroutinefunction(self._function) else await threads.call(bound)
            result = await given if inspect.isawaitable(given) else given
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


class ChatReader:
    """One completion, as chunks or whole."""

    def __init__(self, heard: TurnBuffer, step: str) -> None:
        self.calls: list[CallSoFar] = []
        self.said = ""
        self._heard = heard
        self._step = step
        self._places: dict[int, CallSoFar] = {}
        self._finish = ""

    def take(self, event: WireEvent) -> bool:
        if event.data.strip() == DONE:
            return True
        value = event_json(event, "chat completion")
        self._read(value, "delta")
        return False

    def read_whole(self, value: Json) -> None:
        self._read(value, "message")

    def end(self) -> None:
        if not self._finish:
            raise TargetError("bad-answer", "the completion has no `finish_reason`: it was cut off")
        self._heard.ended_by = read_ending(self._finish)
        if self._finish != "stop":
            self._heard.metadata["finish_reason"] = self._finish

    def _read(self, value: Json, key: str) -> None:
        if not isinstance(value, dict):
            raise protocol_error("the answer is not a chat completion")
        raise_error(value.get("error"))
        if "choices" not in value:
            raise protocol_error(f"the answer is not a chat completion: it has {', '.join(map(repr, value))[:200]}")
        usage = value.get("usage")
        if isinstance(usage, dict):
            self._heard.spend(Tokens(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))))
        for choice in objects(value.get("choices")):
            message = choice.get(key)
            if isinstance(message, dict):
                self._message(message)
            self._finish = str(choice.get("finish_reason") or self._finish)

    def _message(self, message: dict[str, Json]) -> None:
        content = message.get("content")
        if isinstance(content, str):
            self._heard.say(content, self._step)
            self.said += content
        for place, part in enumerate(objects(message.get("tool_calls"))):
            function, index = part.get("function"), count(part.get("index"))
            if isinstance(function, dict):
                self._call(place if index is None else index, part.get("id"), function)

    def _call(self, place: int, id: Json, function: dict[str, Json]) -> None:
        call = self._places.get(place)
        if call is None:
            name = str(function.get("name") or "")
            call = self._heard.book.begin(name, str(id or f"{self._step}.{place}"), ran=False)
            call.pieces = []
            self._places[place] = call
            self.calls.append(call)
        if call.pieces is not None:
            call.pieces.append(str(function.get("arguments") or ""))


def raise_error(error: Json) -> None:
    """An error in place of an answer."""
    if error:
        message = error.get("message", error) if isinstance(error, dict) else error
        raise TargetError("agent", f"the endpoint returned an error: {visible(shorten(str(message), 300))}")


def chat_body(model: str, system: str, memory: list[object], tools: list[OfferedTool]) -> dict[str, object]:
    messages = [*([{"role": "system", "content": system}] if system else []), *memory]
    offered = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]
    return {"model": model, "messages": messages, **({"tools": offered} if offered else {})}


def chat_call(said: str, calls: list[CallSoFar]) -> list[object]:
    """What the model said, as it is sent again."""
    asked = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}
        for call in calls
    ]
    return [{"role": "assistant", "content": said, **({"tool_calls": asked} if asked else {})}]


def chat_result(call: CallSoFar, text: str) -> object:
    return {"role": "tool", "tool_call_id": call.id, "content": text}


ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponsesReader:
    """One response, as events or whole."""

    def __init__(self, heard: TurnBuffer, step: str) -> None:
        self.calls: list[CallSoFar] = []
        self.said = ""
        self._heard = heard
        self._step = step
        self._ended = False
        self._kinds = EventKinds("of a response")

    def take(self, event: WireEvent) -> bool:
        if event.data.strip() == DONE:
            return True
        payload = event_json(event, "response")
        if not isinstance(payload, dict):
            raise protocol_error("an event is not a response")
        kind = str(payload.get("type") or event.name or next(iter(payload), ""))
        self._kinds.note(kind, fits=kind.startswith("response."))
        if kind == "error":
            raise_error(payload.get("error") or payload)
        elif kind == "response.output_text.delta":
            self._say(str(payload.get("delta") or ""))
        elif kind in ENDS:
            self._end(payload.get("response"), spoken=bool(self.said))
        return self._ended

    def read_whole(self, value: Json) -> None:
        self._end(value, spoken=False)

    def end(self) -> None:
        if not self._ended:
            raise self._kinds.end_error("the response has no end")

    def _end(self, response: Json, *, spoken: bool) -> None:
        if not isinstance(response, dict):
            raise protocol_error("the answer is not a response")
        raise_error(response.get("error"))
        if "output" not in response:
            raise protocol_error(f"the answer is not a response: it has {', '.join(map(repr, response))[:200]}")
        if response.get("status") in ("failed", "cancelled"):
            raise TargetError("agent", f"the response ended as {response['status']!r}")
        self._heard.ended_by = read_ending(str(response.get("status") or ""))
        if response.get("status") == "incomplete":
            self._heard.metadata["incomplete_details"] = why = response.get("incomplete_details")
            self._heard.ended_by = str(why.get("reason") or "incomplete") if isinstance(why, dict) else "incomplete"
        for item in objects(response["output"]):
            if item.get("type") == "function_call":
                self._call(item)
            for part in () if spoken else objects(item.get("content")):
                if part.get("type") == "output_text":
                    self._say(str(part.get("text") or ""))
        usage = response.get("usage")
        if isinstance(usage, dict):
            self._heard.spend(Tokens(count(usage.get("input_tokens")), count(usage.get("output_tokens"))))
        self._ended = True

    def _say(self, part: str) -> None:
        self._heard.say(part, self._step)
        self.said += part

    def _call(self, item: dict[str, Json]) -> None:
        call = self._heard.book.begin(str(item.get("name")), str(item.get("call_id")), ran=False)
        call.pieces = [str(item.get("arguments") or "")]
        self.calls.append(call)


def responses_body(model: str, system: str, memory: list[object], tools: list[OfferedTool]) -> dict[str, object]:
    offered = [
        {"type": "function", "name": t.name, "description": t.description, "parameters": t.parameters} for t in tools
    ]
    body: dict[str, object] = {"model": model, "input": memory}
    return body | ({"instructions": system} if system else {}) | ({"tools": offered} if offered else {})


def responses_call(said: str, calls: list[CallSoFar]) -> list[object]:
    """What the model said, as it is sent again."""
    spoken: list[object] = []
    if said:
        content = [{"type": "output_text", "text": said, "annotations": []}]
        spoken.append({"type": "message", "role": "assistant", "status": "completed", "content": content})
    asked = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_text(call)}
        for call in calls
    ]
    return [*spoken, *asked]


def responses_result(call: CallSoFar, text: str) -> object:
    return {"type": "function_call_output", "call_id": call.id, "output": text}


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
        self._threads = DaemonThreads("karat-tools")
        self._environment = Environment(config.env)
        self.reaches = TOOLS if self._options.mode == "loop" else NOTHING

    async def open(self) -> None:
        self._environment.set()  # for the tools, which run in this process
        await super().open()

    def prepare(self) -> None:
        options, config = self._options, self._config
        if not options.model:
            raise self.option_error("use", "`model` is not set", 'Set model = "…".')
        self._tools: dict[str, OfferedTool] = {}
        for name, given in options.tools.items():
            table = ToolTable(function=given) if isinstance(given, str) else given
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

    async def converse(self, talk: HttpConversation, prompt: str, heard: TurnBuffer) -> None:
        talk.context.lists_tools = True
        talk.context.tool_schemas = {name: tool.schema for name, tool in self._tools.items()}
        memory = cast("list[object]", talk.notes.setdefault("memory", []))
        memory.append({"role": "user", "content": prompt})
        for step in range(self._options.max_steps):
            reader = self._step_reader(heard, step)
            await talk.hear(self.build_request(talk, prompt), reader)
            memory += self._own_messages(reader)
            ran = [await self._run_call(call, heard, memory, talk.context.world) for call in reader.calls]
            if not any(ran):
                heard.check("the turn")
                return
        heard.ended_by = "step limit"
        if not judges_end(talk.case):
            what = f"the model still requests tools after {self._options.max_steps} steps: max_steps"
            raise TargetError("agent", what)

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        options, chat = self._options, self._options.api == "chat"
        make = chat_body if chat else responses_body
        body = make(options.model, options.system, list(talk.notes["memory"]), list(self._tools.values()))  # type: ignore[call-overload]
        body |= {"stream": True} if options.stream else {}
        body |= {"stream_options": {"include_usage": True}} if options.stream and chat else {}
        url = f"{self.address(talk).rstrip('/')}/{'chat/completions' if chat else 'responses'}"
        form: Literal["sse"] | None = "sse" if options.stream else None
        headers = self.headers(talk, prompt)
        sent = body | options.parameters
        return WireRequest(url, sent, headers=headers, stream=form, protocol=True)

    def reader(self, talk: HttpConversation, heard: TurnBuffer) -> AnswerReader:
        return self._step_reader(heard, 0)

    def _step_reader(self, heard: TurnBuffer, step: int) -> ChatReader | ResponsesReader:
        return (ChatReader if self._options.api == "chat" else ResponsesReader)(heard, str(step))

    def _own_messages(self, reader: ChatReader | ResponsesReader) -> list[object]:
        make = chat_call if self._options.api == "chat" else responses_call
        return make(reader.said, reader.calls)

    async def _run_call(
        self, call: CallSoFar, heard: TurnBuffer, memory: list[object], world: CaseWorld | None
    ) -> bool:
        """Whether a call was carried out, so that the model is to hear of it."""
        make = chat_result if self._options.api == "chat" else responses_result
        tool = self._tools.get(call.name)
        if self._options.mode == "observe":
            memory.append(make(call, NOT_RUN))
            return False
        if tool is None:
            call.error, call.success = "there is no such tool", False
            memory.append(make(call, result_text(None, call.error)))
            return True
        arguments = arguments_of(call)
        run = partial(tool.call, arguments, self._threads)
        result, error = await (run() if world is None else world.run_tool(tool.name, arguments, run))
        heard.book.end(call, result, error)
        memory.append(make(call, result_text(result, error)))
        return True
