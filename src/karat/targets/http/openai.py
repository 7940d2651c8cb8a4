"""`openai:URL`: an endpoint with OpenAI's chat completions or responses.

*observe*: the calls that the model asks for are recorded, and the turn ends. *loop*: named Python functions really run,
and the model hears what they gave, up to `max_steps`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, cast

from msgspec import Meta, field

from karat.errors import ConfigError
from karat.targets.base import TargetError
from karat.targets.config import TargetConfig
from karat.targets.http.call_book import CallSoFar, arguments_of
from karat.targets.http.openai_chat import ChatReader, chat_body, chat_call, chat_result
from karat.targets.http.openai_responses import ResponsesReader, responses_body, responses_call, responses_result
from karat.targets.http.openai_tools import OfferedTool, ToolTable, told
from karat.targets.http.options import ServiceOptions
from karat.targets.http.service import WireRequest
from karat.targets.http.talk import Heard, WireReader, WireTalk
from karat.targets.http.target import WireTarget
from karat.targets.threads import DaemonThreads

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


class OpenAiTarget(WireTarget[OpenAiOptions]):
    """A model behind an endpoint, and its tools."""

    form: ClassVar[type[ServiceOptions]] = OpenAiOptions

    def __init__(self, config: TargetConfig) -> None:
        super().__init__(config)
        self._threads = DaemonThreads("karat-tools")

    def prepare(self) -> None:
        options, config = self._options, self._config
        if not options.model:
            raise self.flawed("use", "nobody said which model is asked", 'Set model = "…".')
        self._tools: dict[str, OfferedTool] = {}
        for name, given in options.tools.items():
            table = ToolTable(function=given) if isinstance(given, str) else given
            try:
                self._tools[name] = OfferedTool(name, table, config)
            except ConfigError as error:
                raise self.flawed("tools", f"{name}: {error.message}".rstrip("."), error.fix) from error
            if options.mode == "loop" and not self._tools[name].runs:
                raise self.flawed("tools", f"{name} has no function to run", 'Set function = "tools.py:name".')

    async def close(self) -> None:
        await super().close()
        self._threads.close()

    async def converse(self, talk: WireTalk, prompt: str, heard: Heard) -> None:
        memory = cast("list[object]", talk.notes.setdefault("memory", []))
        memory.append({"role": "user", "content": prompt})
        for step in range(self._options.max_steps):
            reader = self._step_reader(heard, step)
            await talk.hear(self.asked(talk, prompt), reader)
            memory += self._said(reader)
            ran = [await self._ran(call, heard, memory) for call in reader.calls]
            if not any(ran):
                heard.checked("the turn")
                return
        raise TargetError("agent", f"the model still asks for tools after {self._options.max_steps} steps: max_steps")

    def asked(self, talk: WireTalk, prompt: str) -> WireRequest:
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

    def reader(self, talk: WireTalk, heard: Heard) -> WireReader:
        return self._step_reader(heard, 0)

    def _step_reader(self, heard: Heard, step: int) -> ChatReader | ResponsesReader:
        return (ChatReader if self._options.api == "chat" else ResponsesReader)(heard, str(step))

    def _said(self, reader: ChatReader | ResponsesReader) -> list[object]:
        make = chat_call if self._options.api == "chat" else responses_call
        return make(reader.said, reader.calls)

    async def _ran(self, call: CallSoFar, heard: Heard, memory: list[object]) -> bool:
        """Whether a call was carried out, so that the model is to hear of it."""
        make = chat_result if self._options.api == "chat" else responses_result
        tool = self._tools.get(call.name)
        if self._options.mode == "observe":
            memory.append(make(call, NOT_RUN))
            return False
        if tool is None:
            call.error, call.success = "there is no such tool", False
            memory.append(make(call, told(None, call.error)))
            return True
        result, error = await tool.call(arguments_of(call), self._threads)
        heard.book.end(call, result, error, fine=True)
        memory.append(make(call, told(result, error)))
        return True
