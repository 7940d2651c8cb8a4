"""`http://…`: any service that takes a prompt and gives an answer, as karat.toml maps it.

What is not mapped is not observed: without `tool_calls`, tools are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple, cast
from urllib.parse import urljoin

from karat.errors import ConfigError
from karat.model.cost import COST
from karat.model.trace import Tokens
from karat.suites.diagnostics import Json
from karat.targets.base import DENIED, TargetError
from karat.targets.config import place_of
from karat.targets.http.conversation import AnswerReader, HttpConversation, TurnBuffer
from karat.targets.http.guess import answer_path
from karat.targets.http.jsonpath import JsonPath, count, words
from karat.targets.http.options import (
    HttpOptions,
    Preparation,
    ServiceOptions,
    ToolCallPaths,
)
from karat.targets.http.service import Body, WireRequest
from karat.targets.http.streams import Received, WireEvent
from karat.targets.http.target import ServiceTarget, values
from karat.targets.http.templates import Template
from karat.targets.http.tool_call_log import CallSoFar
from karat.text.wording import kind, shorten, visible

NO_TOOLS = "`tool_calls` of the target is not mapped"
NO_PLACE = (
    "the answer has no place for `tool_calls` at {}; if the service leaves it out when it calls no tool, say "
    'tool_calls = {{ absent = "none" }}'
)
NEVER_MATCHED = (
    "`{option}` {path} has found nothing in any answer so far, so it may be wrong: correct it, or if it is right and "
    'no tool was called, say {table} = {{ absent = "none" }}'
)
NO_RESULTS = "neither `result` nor `error` of `tool_calls` is mapped"
USUAL = ToolCallPaths(
    name="$['name','tool','toolName','tool_name']",
    arguments="$['arguments','args','input','parameters']",
    result="$['result','output']",
    error="$.error",
    id="$['id','call_id','tool_call_id','toolCallId']",
)
"""How tools spell themselves in streams, unless configured otherwise."""


class HttpTarget(ServiceTarget[HttpOptions]):
    """A service whose answers are mapped."""

    form: ClassVar[type[ServiceOptions]] = HttpOptions

    def prepare(self) -> None:
        options = self._options
        if options.body is None and options.method != "GET":
            raise ConfigError(
                "`body` is not set, so no request can be sent.",
                where=place_of(self._config, "use"),
                fix='Set body = { message = "{prompt}" }, or as the service wants it.',
                slug="bad-options",
            )
        self._body = self.template("body", options.body)
        self._paths = Paths(self)
        self._preparations = Preparations(options.preconditions, self.template)
        if options.preconditions and options.conversation is not None:
            raise self.flawed("preconditions", "the service names the conversation, which has not begun by then")

    def greet(self, talk: HttpConversation) -> None:
        if self._options.conversation is not None:
            talk.id = None  # the service names it in its first answer

    async def apply_preconditions(self, talk: HttpConversation) -> None:
        await self._preparations.apply_preconditions(talk, self.address(talk), values(talk, ""))

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        options = self._options
        return WireRequest(
            self.address(talk, prompt),
            cast(Body, self._body.filled(values(talk, prompt))),
            options.method,
            self.headers(talk, prompt),
            stream=options.stream.format if options.stream else None,
            broken=options.failure.status,
        )

    def reader(self, talk: HttpConversation, heard: TurnBuffer) -> AnswerReader:
        return MappedReader(self._options, self._paths, talk, heard)

    def path(self, option: str, text: str) -> JsonPath | None:
        if not text:
            return None
        try:
            return JsonPath(text)
        except ValueError as error:
            raise self.flawed(option, str(error), "For instance: $.data.reply") from error

    @property
    def given(self) -> HttpOptions:
        return self._options


class Paths:
    """Every path of the configuration, ready."""

    def __init__(self, target: HttpTarget) -> None:
        given, path = target.given, target.path
        self.answer = path("answer", given.answer)
        self.failure = path("failure", given.failure.at)
        self.conversation = path("conversation", given.conversation.id if given.conversation else "")
        self.tokens = {name: path("usage", getattr(given.usage, name)) for name in ("input", "output", "cost")}
        stream, calls = given.stream, given.tool_calls
        chunks = stream is not None and stream.format == "chunks"
        if stream is not None and chunks and (stream.text or stream.tool or stream.done):
            raise target.flawed("stream", "chunks are plain text, without `text`, `tool` or `done`")
        if stream is not None and not chunks and not stream.text and not given.answer:
            raise target.flawed("stream", "`text` is not set", 'Set text = "$.delta.text".')
        self.text = path("stream", stream.text if stream else "")
        self.tool = path("stream", stream.tool if stream else "")
        done = stream.done if stream else ""
        self.done = path("stream", done) if done.startswith("$") else None
        if calls is not None and not calls.at and self.tool is None:
            raise target.flawed("tool_calls", "`at` is not set", 'Set at = "$.steps[*]".')
        if calls is not None and not calls.name:
            raise target.flawed("tool_calls", "`name` is not set", 'Set name = "$.tool".')
        self.at = path("tool_calls", calls.at if calls else "")
        self.vouched = (calls is not None and calls.absent == "none") or (
            stream is not None and stream.absent == "none"
        )
        self.matched = False
        """Whether it ever found a tool call, in the answers that this process has read."""
        self.call = {name: path("tool_calls", getattr(calls or USUAL, name)) for name in CALL}


CALL = ("name", "arguments", "result", "error", "id")


class MappedReader:
    """One answer, read by the paths of the configuration."""

    def __init__(self, options: HttpOptions, paths: Paths, talk: HttpConversation, heard: TurnBuffer) -> None:
        self._options = options
        self._paths = paths
        self._talk = talk
        self._heard = heard
        self._done = False
        self._answered = False
        self._nameless = ""
        self._listed = False
        """Whether the answer has the list of its calls, and it is empty."""
        heard.no_tools = "" if paths.at or paths.tool else NO_TOOLS
        if not heard.no_tools and not (paths.call["result"] or paths.call["error"]):
            heard.no_results = NO_RESULTS

    def whole(self, value: Json) -> None:
        self._take_all(value)
        at = self._paths.at
        if at is not None and not self._paths.vouched and not at.has_place(value):
            self._heard.no_tools = NO_PLACE.format(at.text)
        elif at is not None and at.has_empty_place(value):
            self._listed = True
        if self._answered:
            return
        if self._paths.answer is None and isinstance(value, str):
            self._heard.answer = value
            self._answered = True
            return
        raise TargetError("bad-answer", self._no_answer(value))

    def take(self, event: WireEvent) -> bool:
        stream = self._options.stream
        assert stream is not None
        if stream.format == "chunks":
            self._heard.say(event.data)
            return False
        if stream.done and stream.done in (event.data.strip(), event.name):
            self._done = True
            return True
        if not event.data.strip():
            return False
        try:
            value = event.json()
        except ValueError as error:
            if event.torn:
                return False
            shown = visible(shorten(event.data, 200))
            raise TargetError("bad-answer", f"an event is not valid JSON: {error}: {shown}") from error
        self._take_all(value)
        if self._paths.text is not None:
            for part in self._paths.text.all(value):
                self._heard.say(part if isinstance(part, str) else "" if part is None else words([part]))
        for tool in self._paths.tool.all(value) if self._paths.tool else ():
            self._call(tool)
        self._done = self._paths.done is not None and any(map(bool, self._paths.done.all(value)))
        return self._done

    def ended(self) -> None:
        stream = self._options.stream
        if self._nameless:
            self._heard.no_tools = self._nameless
        elif not self._heard.no_tools and not (self._listed or self._paths.matched or self._paths.vouched):
            self._heard.no_tools = self._unmatched()
        if stream is None:
            return
        if stream.done and not self._done:
            raise TargetError("bad-answer", f"the stream ended without {stream.done!r}: it is torn")
        if not self._heard.final_message and not self._heard.book.calls:
            raise TargetError("bad-answer", f"no event has text at {stream.text or self._options.answer or 'all'}")

    def _take_all(self, value: Json) -> None:
        """What an answer and an event of a stream may both have."""
        paths, heard = self._paths, self._heard
        broken = paths.failure.first(value) if paths.failure else None
        if broken:
            detail = broken.get("message", broken) if isinstance(broken, dict) else broken
            raise TargetError("agent", f"the service says that it broke: {visible(shorten(words([detail]), 300))}")
        if paths.conversation is not None and self._talk.id is None:
            named = paths.conversation.first(value)
            self._talk.id = None if named is None else words([named])
            if self._talk.id:
                self._talk.context.marks.known_as.add(self._talk.id)
        for item in paths.at.all(value) if paths.at else ():
            self._call(item)
        found = paths.answer.all(value) if paths.answer else []
        if any(part is not None for part in found):
            heard.answer = words([part for part in found if part is not None])
            self._answered = True
        elif found and heard.book.calls:
            heard.answer, self._answered = heard.answer or "", True
        counts = {name: path.first(value) for name, path in paths.tokens.items() if path is not None}
        if any(isinstance(counts.get(name), int) for name in ("input", "output")):
            heard.tokens = Tokens(count(counts.get("input")), count(counts.get("output")))
        if isinstance(counts.get("cost"), int | float):
            heard.metadata[COST] = counts["cost"]

    def _unmatched(self) -> str:
        paths, option = self._paths, "tool_calls.at" if self._paths.at is not None else "stream.tool"
        path = paths.at or paths.tool
        assert path is not None
        return NEVER_MATCHED.format(option=option, path=path.text, table=option.partition(".")[0])

    def _call(self, item: Json) -> None:
        self._paths.matched = self._paths.matched or item is not None
        if isinstance(item, str):
            self._heard.book.begin(item)
            return
        if item is None:
            return
        fields = {name: path.first(item) if path else None for name, path in self._paths.call.items()}
        if not isinstance(fields["name"], str) or not fields["name"]:
            self._nameless = f"a tool call has no name in it: {visible(shorten(words([item]), 200))}"
            return
        call = self._begun(fields["name"], fields)
        if self._is_over(item, fields):
            error = None if fields["error"] in (None, "", False) else words([fields["error"]])
            self._heard.book.end(call, fields["result"], error)

    def _is_over(self, item: Json, fields: dict[str, Json]) -> bool:
        """Whether an item reports the end of its call: in a stream, a result of null may still come."""
        if fields["result"] is not None or fields["error"] not in (None, "", False):
            return True
        result = self._paths.call["result"]
        return self._options.stream is None and result is not None and bool(result.all(item))

    def _begun(self, name: str, fields: dict[str, Json]) -> CallSoFar:
        """The call that an item reports: one that began before, where its id or its result says so."""
        book, id = self._heard.book, None if fields["id"] is None else words([fields["id"]])
        if id is None and self._options.stream is not None and fields["result"] is not None:
            waiting = book.waiting(name)
            if waiting is not None:
                waiting.arguments = waiting.arguments if fields["arguments"] is None else fields["arguments"]
                return waiting
        return book.begin(name, id, fields["arguments"])

    def _no_answer(self, value: Json) -> str:
        has = f"{kind(value)} with {', '.join(map(repr, list(value)[:20]))}" if isinstance(value, dict) else kind(value)
        if self._paths.answer is not None:
            return f"`answer` {self._paths.answer.text} finds nothing in what the service gave: {visible(has)}"
        guess = answer_path(value)
        hint = f', for instance answer = "{guess}"' if guess else ""
        return f"`answer` is not set; the response is {visible(has)}: set `answer`{hint}"


MakeTemplate = Callable[[str, object], Template]


class _Step(NamedTuple):
    method: str
    url: Template
    body: Template


class Preparations:
    """The requests for each sentence that a case may list. Without any, sentences are for people to read."""

    def __init__(self, given: Mapping[str, tuple[Preparation, ...]], template: MakeTemplate) -> None:
        self._steps = {
            sentence: [
                _Step(step.method, template("preconditions", step.url), template("preconditions", step.body))
                for step in steps
            ]
            for sentence, steps in given.items()
        }

    async def apply_preconditions(self, talk: HttpConversation, address: str, values: Mapping[str, object]) -> None:
        """Send what the case's sentences ask for, in their order; spans of it are not part of the first turn."""
        sentences = talk.case.preconditions if self._steps else ()
        missing = next((sentence for sentence in sentences if sentence not in self._steps), None)
        if missing is not None:
            what = f"precondition {visible(missing)!r} is not defined: add it to `preconditions`"
            raise TargetError("setup", what)
        if sentences:
            talk.begin()
        for sentence in sentences:
            for number, step in enumerate(self._steps[sentence], 1):
                await _send(step, talk, address, values, f"request {number} of the precondition {visible(sentence)!r}")


async def _send(step: _Step, talk: HttpConversation, address: str, values: Mapping[str, object], what: str) -> None:
    url = urljoin(address, step.url.address(values))
    request = WireRequest(url, cast(Body, step.body.filled(values)), step.method, talk.trace_headers)
    try:
        await talk.service.raw(request, talk.cookies, Received())
    except TargetError as error:
        error.kind = error.kind if error.kind == DENIED else "setup"
        error.message = f"{what}: {error.message}"
        raise
