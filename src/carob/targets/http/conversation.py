"""A conversation with a service, and what is received in each of its turns."""

from __future__ import annotations

import re
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from io import StringIO
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from carob.evidence.recorder import Recorder
from carob.model.suite import Case
from carob.model.trace import Message, PossibleCall, Tokens, ToolCall
from carob.providers.sse import ServerEvent
from carob.suites.diagnostics import Json
from carob.targets.base import RunContext, TargetError
from carob.targets.http.service import Service, WireRequest
from carob.targets.http.streams import Received, loads
from carob.targets.http.tool_call_log import ToolCallLog
from carob.text.clean import text
from carob.text.wording import shorten, visible

if TYPE_CHECKING:
    from httpx2 import Cookies

LONGEST_ANSWER = 4 << 20
ROLES = ("user", "assistant")
SKIPPED_CAP = 65_536
"""So many characters of events that are not mapped are kept."""
NOT_MAPPED = (
    "an event of the stream that is not mapped may be a call. Map it in `stream`, or if it reports no call, name it in "
    "`ignore` of `stream`: {}"
)
_VARIES = re.compile(r"[0-9a-fA-F-]{8,}|\d+")
"""What differs from one event of a kind to the next: numbers, times, ids."""


class TurnBuffer:
    """What has been received of a turn until now."""

    def __init__(self) -> None:
        self.call_log = ToolCallLog()
        self.answer: str | None = None
        """The answer as a whole, where it came so; it replaces its parts."""
        self.no_tools = ""
        """Why tool calls were not observed; empty: they were."""
        self.no_results = ""
        self.ended_by = ""
        """`itself`, or the limit that cut the turn off; empty: not known."""
        self.tokens: Tokens | None = None
        self.state: dict[str, object] = {}
        self.metadata: dict[str, object] = {}
        self.first_token_ms: float | None = None
        self.doubtful: list[PossibleCall] = []
        """Calls of which it is not known whether they ran."""
        self.earlier: list[Message] = []
        """What the assistant said before its last message."""
        self._message = ""
        self._parts = StringIO()
        self._skipped: dict[str, str] = {}
        self._skipped_size = 0
        self.began = perf_counter()

    @property
    def final_message(self) -> str:
        return text(self._parts.getvalue() if self.answer is None else self.answer)

    def say(self, part: str, message: str = "") -> None:
        """A further part of a message; the last message that has words is the answer."""
        if not part:
            return
        if message != self._message and self._parts.tell():
            self.earlier.append(Message("assistant", text(self._parts.getvalue())))
            self._parts = StringIO()
        self._message = message
        self.first_word()
        if self._parts.tell() + len(part) > LONGEST_ANSWER:
            raise TargetError("bad-answer", f"the answer has more than {LONGEST_ANSWER:,} characters")
        self._parts.write(part)

    def replace(self, answer: str) -> None:
        """The answer so far."""
        if len(answer) > LONGEST_ANSWER:
            raise TargetError("bad-answer", f"the answer has more than {LONGEST_ANSWER:,} characters")
        if answer:
            self.first_word()
            self.answer = answer

    def skip(self, event: str) -> None:
        """An event that is not mapped: whether it reports a call is unknown."""
        key = _VARIES.sub("0", event)
        if key in self._skipped or self._skipped_size < 0:
            return
        self._skipped_size += len(key)
        if self._skipped_size > SKIPPED_CAP:
            self._skipped_size = -1
        else:
            self._skipped[key] = event

    @property
    def possible_calls(self) -> tuple[PossibleCall, ...]:
        """What may be calls: the events that are not mapped, each shape of them once."""
        unmapped = (
            PossibleCall(event, NOT_MAPPED.format(visible(shorten(event, 120))), "words")
            for event in self._skipped.values()
        )
        return (*self.doubtful, *unmapped)

    @property
    def skipped_too_much(self) -> bool:
        return self._skipped_size < 0

    def first_word(self) -> None:
        """The assistant has begun to speak."""
        if self.first_token_ms is None:
            self.first_token_ms = round((perf_counter() - self.began) * 1000, 3)

    def check(self, subject: str) -> None:
        """A turn that ended well has an answer, or a tool that was called."""
        if not self.final_message and not self.call_log.calls:
            raise TargetError("bad-answer", f"{subject} ended without any text")

    def spend(self, tokens: Tokens) -> None:
        """Count the tokens of a further model call."""
        had = self.tokens or Tokens()
        self.tokens = Tokens(_sum(had.input, tokens.input), _sum(had.output, tokens.output))

    def into(self, recorder: Recorder) -> None:
        """Keep what was received of a turn that broke."""
        recorder.final_message = self.final_message
        recorder.tool_calls = None if self.no_tools else list(self.call_log.calls)


class AnswerReader(Protocol):
    """Reads one answer."""

    def take(self, event: ServerEvent) -> bool:
        """Read one event; whether it was the last."""

    def read_whole(self, value: Json) -> None:
        """Read an answer that came as a whole."""

    def end(self) -> None:
        """The answer has ended. Raises TargetError if the protocol says that it has not, or that it broke."""


class PastTurn(NamedTuple):
    """A turn that is over."""

    prompt: str
    answer: str
    calls: tuple[ToolCall, ...]


@dataclass(slots=True)
class HttpConversation:
    """One conversation: its id, what was said, its cookies."""

    service: Service
    case: Case
    context: RunContext
    cookies: Cookies
    id: str | None = None
    past: list[PastTurn] = field(default_factory=list)
    traceparent: str = ""
    seen_ids: set[str] = field(default_factory=set)
    """The ids of messages of the service that were read already."""
    notes: dict[str, object] = field(default_factory=dict)
    """What a protocol has to remember from one turn to the next."""
    received: Received = field(default_factory=Received)

    def __post_init__(self) -> None:
        self.id = self.id or self.context.trace_context.conversation_id

    def begin(self) -> None:
        """A turn of its own in the traces of others."""
        trace_context = self.context.trace_context
        trace_context.case_id = self.case.id
        if not trace_context.turns:
            trace_context.begin_turn()
        self.traceparent = trace_context.headers["traceparent"]

    async def exchange(self, request: WireRequest, reader: AnswerReader) -> None:
        """Send a request, and read its answer to the end."""
        self.received = received = Received()
        full_request = replace(request, headers=self.context.trace_context.headers | request.headers)
        try:
            if request.stream is None:
                reader.read_whole(await self.service.value(full_request, self.cookies, received))
            else:
                async with aclosing(self.service.events(full_request, self.cookies, received)) as events:
                    async for event in events:
                        if event.whole:
                            reader.read_whole(_value(event))
                        elif reader.take(event):
                            break
                        if event.torn:
                            raise TargetError("bad-answer", "the stream ended within an event")
            reader.end()
        except TargetError as error:
            error.detail = error.detail or str(received)
            raise
        except BaseException:
            self.context.recorder.messages.append(Message("server", str(received)))
            raise

    def messages(self, prompt: str) -> list[dict[str, str]]:
        """What was said until now, and the prompt."""
        turns = ((turn.prompt, turn.answer) for turn in self.past)
        past = [{"role": role, "content": text} for pair in turns for role, text in zip(ROLES, pair, strict=True)]
        return [*past, {"role": "user", "content": prompt}]


def _value(event: ServerEvent) -> Json:
    try:
        return loads(event.data)
    except ValueError as error:
        raise TargetError("bad-answer", f"the answer is not valid JSON: {error}") from error


def _sum(count: int | None, other: int | None) -> int | None:
    return other if count is None else count if other is None else count + other
