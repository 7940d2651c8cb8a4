"""`http://…`: any service that takes a prompt and gives an answer, as carob.toml maps it.

What is not mapped is not observed: without `tool_calls`, tools are unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple, cast
from urllib.parse import urljoin

from carob.errors import ConfigError
from carob.model.cost import COST
from carob.model.trace import Tokens
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.base import DENIED, TargetError
from carob.targets.config import place_of
from carob.targets.http.call_reader import CallReader
from carob.targets.http.conversation import AnswerReader, HttpConversation, TurnBuffer
from carob.targets.http.jsonpath import JsonPath, answer_path, count, suggest_path, words
from carob.targets.http.options import HttpOptions, Preparation, ServiceOptions, ToolCallPaths, When
from carob.targets.http.service import Body, WireRequest
from carob.targets.http.stream_mapping import CALL, Holds, StreamMapping, condition
from carob.targets.http.streams import Received, loads
from carob.targets.http.target import ServiceTarget, values
from carob.targets.http.templates import Template
from carob.text.tool_results import shows_failure
from carob.text.wording import kind, shorten, visible

NO_TOOLS = (
    "`tool_calls` of the target is not mapped: `carob init --inspect` finds them with a --prompt that needs a tool"
)
NO_PLACE = (
    "the answer has nothing at {}, the place of `tool_calls`; if the service omits it when no tool is called, set "
    'tool_calls = {{ absent = "none" }}'
)
NEVER_MATCHED = (
    "`{option}`{path} has found nothing in any answer so far, so it may be wrong: correct it, or if it is right and "
    'no tool was called, set {table} = {{ absent = "none" }}'
)
NO_RESULTS = "neither `result` nor `error` of `tool_calls` is mapped"
KIND_KEYS = ("type", "kind", "event")
EVENT_CAP = 2_000
"""So much of an event that is not mapped is kept."""
TOO_MUCH = "too many events of the stream are not mapped, so one of them may be a call: map or `ignore` them"
USUAL = ToolCallPaths(
    name="$['name','tool','toolName','tool_name']",
    arguments="$['arguments','args','input','parameters']",
    result="$['result','output']",
    error="$.error",
    id="$['id','call_id','tool_call_id','toolCallId']",
)
"""How tools spell themselves in streams, unless configured otherwise."""


MakeTemplate = Callable[[str, object], Template]


class _Step(NamedTuple):
    method: str
    url: Template
    body: Template


class Preparations:
    """The requests for each sentence that a case may list. Without any, sentences are for people to read."""

    def __init__(self, preconditions: Mapping[str, tuple[Preparation, ...]], template: MakeTemplate) -> None:
        self._steps = {
            sentence: [
                _Step(step.method, template("preconditions", step.url), template("preconditions", step.body))
                for step in steps
            ]
            for sentence, steps in preconditions.items()
        }

    async def apply_preconditions(self, talk: HttpConversation, address: str, values: Mapping[str, object]) -> None:
        """Send what the case's sentences ask for, in their order; spans of it are not part of the first turn."""
        sentences = talk.case.preconditions if self._steps else ()
        missing = next((sentence for sentence in sentences if sentence not in self._steps), None)
        if missing is not None:
            problem = f"precondition {visible(missing)!r} is not defined: add it to `preconditions`"
            raise TargetError("setup", problem)
        if sentences:
            talk.begin()
        for sentence in sentences:
            for number, step in enumerate(self._steps[sentence], 1):
                await _send(step, talk, address, values, f"request {number} of the precondition {visible(sentence)!r}")


async def _send(
    step: _Step, talk: HttpConversation, address: str, values: Mapping[str, object], step_name: str
) -> None:
    url = urljoin(address, step.url.address(values))
    request = WireRequest(url, cast(Body, step.body.fill(values)), step.method, talk.context.trace_context.headers)
    try:
        await talk.service.raw(request, talk.cookies, Received())
    except TargetError as error:
        error.kind = error.kind if error.kind == DENIED else "setup"
        error.message = f"{step_name}: {error.message}"
        raise


class HttpTarget(ServiceTarget[HttpOptions]):
    """A service whose answers are mapped."""

    form: ClassVar[type[ServiceOptions]] = HttpOptions

    def prepare(self) -> None:
        options = self._options
        if options.body is not None and options.form is not None:
            raise self.option_error("form", "it cannot be combined with `body`", "Set one of them.")
        if options.body is None and options.form is None and options.method != "GET":
            message = "`body` is not set, so no request can be sent."
            fix = (
                f"Let `carob init --inspect {self._config.use} --write` find what it expects,"
                ' or set body = { message = "{prompt}" } for it in carob.toml.'
            )
            raise ConfigError(message, where=place_of(self._config, "use"), fix=fix, slug="bad-options")
        form = options.form is not None
        self._body = self.template("form" if form else "body", options.form if form else options.body)
        self._paths = Paths(self)
        self._preparations = Preparations(options.preconditions, self.template)
        if options.preconditions and options.conversation is not None:
            raise self.option_error("preconditions", "the service names the conversation only in its first answer")

    def greet(self, talk: HttpConversation) -> None:
        if self._options.conversation is not None:
            talk.id = None  # the service names it in its first answer

    async def apply_preconditions(self, talk: HttpConversation) -> None:
        await self._preparations.apply_preconditions(talk, self.address(talk), values(talk, ""))

    def build_request(self, talk: HttpConversation, prompt: str) -> WireRequest:
        options = self._options
        return WireRequest(
            self.address(talk, prompt),
            cast(Body, self._body.fill(values(talk, prompt))),
            options.method,
            self.headers(talk, prompt),
            stream=options.stream.format if options.stream else None,
            broken=options.failure.status,
            form=options.form is not None,
        )

    def reader(self, talk: HttpConversation, buffer: TurnBuffer) -> AnswerReader:
        return MappedReader(self._options, self._paths, talk, buffer)

    def path(self, option: str, text: str) -> JsonPath | None:
        if not text:
            return None
        try:
            return JsonPath(text)
        except ValueError as error:
            raise self.option_error(option, str(error), suggest_path(text)) from error

    def when(self, option: str, when: When | None) -> Holds:
        try:
            return condition(when)
        except ValueError as error:
            raise self.option_error(option, f"`when`: {error}", 'For instance: when = { kind = "end" }') from error

    @property
    def given(self) -> HttpOptions:
        return self._options


class Paths:
    """Every path of the configuration, ready."""

    def __init__(self, target: HttpTarget) -> None:
        options, path = target.given, target.path
        self.answer = path("answer", options.answer)
        self.failure = path("failure", options.failure.at)
        self.conversation = path("conversation", options.conversation.id if options.conversation else "")
        self.tokens = {name: path("usage", getattr(options.usage, name)) for name in ("input", "output", "cost")}
        stream, calls = options.stream, options.tool_calls
        self.stream = (
            StreamMapping(stream, bool(options.answer), path, target.option_error) if stream is not None else None
        )
        self.fails = target.when("failure", options.failure.when)
        self.counts = target.when("usage", options.usage.when)
        if calls is not None and not calls.at and not (self.stream and self.stream.tool):
            raise target.option_error("tool_calls", "`at` is not set", 'Set at = "$.steps[*]".')
        if calls is not None and not calls.name:
            raise target.option_error("tool_calls", "`name` is not set", 'Set name = "$.tool".')
        self.at = path("tool_calls", calls.at if calls else "")
        self.vouched = (calls is not None and calls.absent == "none") or (
            stream is not None and stream.absent == "none"
        )
        self.matched = False
        """Whether it ever found a tool call, in the answers that this process has read."""
        self.conversations = set[str]()
        """The ids that the service gave to conversations of this process."""
        self.call = {name: path("tool_calls", getattr(calls or USUAL, name)) for name in CALL}
        results = calls.results if calls is not None else None
        self.results_at = path("tool_calls", results.at if results else "")
        self.results = {name: path("tool_calls", getattr(results, name, "")) for name in CALL}

    @property
    def has_tools(self) -> bool:
        return self.at is not None or (self.stream is not None and self.stream.has_tools)

    @property
    def has_results(self) -> bool:
        read = (self.call, self.results) if self.at is not None or (self.stream and self.stream.tool) else ()
        mapped = any(paths["result"] or paths["error"] for paths in read)
        return mapped or (self.stream is not None and self.stream.has_results)


class MappedReader:
    """One answer, read by the paths of the configuration."""

    def __init__(self, options: HttpOptions, paths: Paths, talk: HttpConversation, buffer: TurnBuffer) -> None:
        self._options = options
        self._paths = paths
        self._talk = talk
        self._buffer = buffer
        self._calls = CallReader(buffer, options.stream is not None)
        self._done = False
        self._last: tuple[Json, str] | None = None
        """The last event that has all of the answer so far, with its name."""
        self._broken = ""
        """An event that is not mapped and says that something failed, as long as nothing came after it."""
        self._answered = False
        self._listed = False
        """Whether the answer has the list of its calls, and it is empty."""
        buffer.no_tools = "" if paths.has_tools else NO_TOOLS
        if not buffer.no_tools and not paths.has_results:
            buffer.no_results = NO_RESULTS

    def read_whole(self, value: Json) -> None:
        self._take_all(value)
        at = self._paths.at
        if at is not None and not self._paths.vouched and not at.has_place(value):
            self._buffer.no_tools = NO_PLACE.format(at.text)
        elif at is not None and at.has_empty_place(value):
            self._listed = True
        if self._answered:
            return
        if self._paths.answer is None and isinstance(value, str):
            self._buffer.answer = value
            self._answered = True
            return
        raise TargetError("bad-answer", self._no_answer(value))

    def take(self, event: ServerEvent) -> bool:
        stream = self._paths.stream
        assert stream is not None
        if stream.plain:
            self._buffer.say(event.data)
            return False
        by_name = stream.ends_by_name(event)
        if not by_name and stream.say_raw(event, self._buffer):
            return False
        value = self._value(event, by_name)
        if value is not None:
            took = self._take_all(value, event.name)
            if stream.is_whole(value):
                self._last = (value, event.name)
                if stream.has_words(value, event.name):
                    self._buffer.first_word()
            elif not by_name:
                self._take_items(value, event.name, took)
        self._done = self._done or by_name or stream.ends(value, event.name)
        if value is None and event.name and not self._done and not stream.ignores(None, event.name):
            self._buffer.skip(event.name)
        return self._done

    def _value(self, event: ServerEvent, by_name: bool) -> Json:
        """The value of an event; None where it has none."""
        stream = self._paths.stream
        assert stream is not None
        if not event.data.strip():
            return None
        try:
            return loads(event.data)
        except ValueError as error:
            if event.torn or by_name or stream.ignores(None, event.name):
                return None
            if stream.text.raw:
                self._buffer.skip(f"{event.name}: {shorten(event.data, 1000)}")
                return None
            excerpt = visible(shorten(event.data, 200))
            raise TargetError("bad-answer", f"an event is not valid JSON: {error}: {excerpt}") from error

    def _take_items(self, value: Json, name: str, took: bool) -> None:
        """What an event of a stream says, part by part."""
        stream = self._paths.stream
        assert stream is not None
        items = stream.items(value)
        for item in self._without_past("parts", value, items) if stream.is_whole(value) else items:
            is_known = self._take_all(item, name) if item is not value else took
            speaks = stream.say(item, name, self._buffer)
            for tool in stream.tool.all(item) if stream.tool else ():
                self._read(tool)
                speaks = True
            if stream.take_calls(item, name, self._calls):
                self._paths.matched = speaks = True
            self._done = self._done or stream.ends(item, name)
            if speaks:
                self._broken = ""
            elif not stream.ignores(item, name):
                self._skip(item, name, is_known or self._done)

    def _skip(self, item: Json, name: str, is_known: bool) -> None:
        """What neither speaks nor reports a call may say that the turn broke, and if it is unknown, be a call."""
        excerpt = shorten(f"{name} {words([item])}".strip(), EVENT_CAP)
        fields = item if isinstance(item, dict) else {}
        kinds = [name, *(fields[key] for key in KIND_KEYS if key in fields)]
        if shows_failure(fields) or any(shows_failure({"status": kind}) for kind in kinds):
            self._broken = excerpt
        if not is_known:
            self._buffer.skip(excerpt)

    def end(self) -> None:
        stream, buffer = self._paths.stream, self._buffer
        if self._last is not None:
            self._take_items(*self._last, took=False)
        if self._calls.unclear:
            buffer.no_tools = self._calls.unclear
        elif not buffer.no_tools and not (self._listed or self._paths.matched or self._paths.vouched):
            buffer.no_tools = self._describe_unmatched()
        elif not buffer.no_tools and buffer.skipped_too_much:
            buffer.no_tools = TOO_MUCH
        if stream is None:
            return
        if self._broken:
            raise TargetError("agent", f"the service reports a failure: {visible(shorten(self._broken, 300))}")
        if stream.has_end and not self._done:
            end = repr(stream.done) if stream.done else "the event that ends it"
            raise TargetError("bad-answer", f"the stream ended without {end}: it was cut off")
        if not buffer.final_message and not buffer.call_log.calls:
            raise TargetError("bad-answer", f"no event has text at {stream.text.at or self._options.answer or 'all'}")

    def _note_repeated(self, conversation: str) -> None:
        if conversation in self._paths.conversations:
            message = f"the service named the conversation {conversation!r}, as in an earlier one: what is said in one"
            fix = "Send `{conversation.id}` in `body`, or let the service begin a new conversation"
            self._talk.context.notices.append(f"{self._talk.case.id}: {message} may show in the other. {fix}")
        self._paths.conversations.add(conversation)

    def _take_all(self, value: Json, name: str = "") -> bool:
        """What an answer and an event of a stream may both have; whether it has any of it."""
        paths, buffer = self._paths, self._buffer
        self._refuse_failure(value, name)
        if paths.conversation is not None and self._talk.id is None:
            id_value = paths.conversation.first(value)
            self._talk.id = None if id_value is None else words([id_value])
            if self._talk.id:
                self._note_repeated(self._talk.id)
                self._talk.context.trace_context.known_as.add(self._talk.id)
        calls = self._new("calls", value, paths.at) if paths.at else []
        for item in calls:
            self._read(item)
        for item in self._new("results", value, paths.results_at) if paths.results_at else ():
            id_value = paths.results["id"].first(item) if paths.results["id"] else None
            self._calls.end(item, [] if id_value is None else [words([id_value])], paths.results, None)
        answers = paths.answer.all(value) if paths.answer else []
        if any(part is not None for part in answers):
            buffer.answer = words([part for part in answers if part is not None])
            self._answered = True
        elif answers and buffer.call_log.calls:
            buffer.answer, self._answered = buffer.answer or "", True
        return self._count(value, name) or bool(calls or answers)

    def _new(self, list_name: str, value: Json, path: JsonPath) -> list[Json]:
        items = path.all(value)
        return items if self._options.stream is not None else self._without_past(list_name, value, items)

    def _without_past(self, list_name: str, value: Json, items: list[Json]) -> list[Json]:
        """What was found, without what was in the answer before where an answer lists earlier turns as well."""
        calls, past = self._options.tool_calls, self._talk.past
        history = calls.history if calls is not None else None
        before = Counter(cast("list[str]", self._talk.notes.get(list_name, [])))
        self._talk.notes[list_name] = texts = [words([item]) for item in items]
        if not past or not (repeats_prompts(value, [turn.prompt for turn in past]) if history is None else history):
            return items
        new: list[Json] = []
        for item, text in zip(items, texts, strict=True):
            if before[text]:
                before[text] -= 1
            else:
                new.append(item)
        return new

    def _refuse_failure(self, value: Json, name: str) -> None:
        """Raise where the service says that the turn broke."""
        paths, when = self._paths, self._options.failure.when
        if (paths.failure is None and when is None) or not paths.fails(value, name):
            return
        broken = paths.failure.first(value) if paths.failure else value
        if broken or when is not None:
            detail = broken.get("message", broken) if isinstance(broken, dict) else broken or value
            raise TargetError("agent", f"the service reports a failure: {visible(shorten(words([detail]), 300))}")

    def _count(self, value: Json, name: str) -> bool:
        """Whether tokens or costs are counted here."""
        paths, buffer = self._paths, self._buffer
        if not paths.counts(value, name):
            return False
        counts = {name: path.first(value) for name, path in paths.tokens.items() if path is not None}
        counted = any(isinstance(counts.get(name), int) for name in ("input", "output"))
        if counted:
            buffer.tokens = Tokens(count(counts.get("input")), count(counts.get("output")))
        if isinstance(counts.get("cost"), int | float):
            buffer.metadata[COST] = counts["cost"]
        return counted

    def _describe_unmatched(self) -> str:
        paths, stream = self._paths, self._paths.stream
        option = "tool_calls.at" if paths.at is not None else "stream.tool"
        place = paths.at or (stream.tool if stream is not None else None)
        path = f" {place.text}" if place is not None else ""
        return NEVER_MATCHED.format(option=option, path=path, table=option.partition(".")[0])

    def _read(self, item: Json) -> None:
        self._paths.matched = self._paths.matched or item is not None
        self._calls.read(item, self._paths.call)

    def _no_answer(self, value: Json) -> str:
        has = f"{kind(value)} with {', '.join(map(repr, list(value)[:20]))}" if isinstance(value, dict) else kind(value)
        if self._paths.answer is not None:
            return f"`answer` {self._paths.answer.text} finds nothing in the response: {visible(has)}"
        guess = answer_path(value)
        hint = f', for instance answer = "{guess}"' if guess else ""
        return f"`answer` is not set; the response is {visible(has)}: set `answer`{hint}"


def repeats_prompts(value: Json, prompts: list[str]) -> bool:
    """Whether an answer has every one of these prompts as a text, and each as often as it was sent."""
    remaining, values = Counter(prompts), [value]
    while values:
        item = values.pop()
        if isinstance(item, str) and remaining[item]:
            remaining[item] -= 1
        elif isinstance(item, dict | list):
            values += item.values() if isinstance(item, dict) else item
    return not remaining.total()
