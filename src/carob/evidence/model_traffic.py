"""The exchanges of one run of a case with its models → the calls that were asked for, and what became of them.

Every request repeats what was said before it. A call is known by the reply that asked for it: where a later request has
it among its messages, it is that one again, and the result that comes after it there is its result.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from time import time
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct, field

from carob.model.trace import Tokens
from carob.providers.base import TOOL_LISTS, ModelReply, ModelRequest, tool_schemas
from carob.providers.catalog import asks_a_model, find_api
from carob.providers.messages import CallRequest, ChatMessage, ReturnedResult, find_prompts, since_last_prompt
from carob.text.tool_names import is_helper, split_plugin

_Value = TypeVar("_Value", str, frozenset[str])
MOST = 10_000
"""So many calls and exchanges of one run are kept."""
WITH_PLUGINS = "semantic-kernel"
"""In the name of a client that asks for tools by their plugin and their function."""
LOST = "the case exchanged more with models than there is room for, so some of its calls may be missing"


class ObservedCall(Struct, eq=False):
    """A call that a model asked for, and its result if one was handed back."""

    request: CallRequest
    exchange: ModelExchange
    """The one whose reply asked for it, or the first request that has it among its messages."""
    message: str = ""
    """The message that asked for it, by a name of its own."""
    result: ReturnedResult | None = None
    answered_at: float | None = None


class ModelExchange(Struct, eq=False):
    """One request to a model, and what is kept of its reply."""

    service: str
    path: str
    began: float
    digest: str = ""
    """Of the request: the same for one that is sent again."""
    context: str = ""
    """Digest of the messages that it gives the model."""
    model: str = ""
    prompt: str = ""
    """What the user said last."""
    system: str = ""
    tools: frozenset[str] = frozenset()
    """The tools that the model was offered by name."""
    names_all_tools: bool = True
    """Whether each tool that it was offered has a name there, and is not one that the API defines."""
    forced_tools: frozenset[str] = frozenset()
    """The tool that the model had to call."""
    unread: str = ""
    """Why it, or its reply, could not be read."""
    status: int = 0
    reply: ModelReply | None = None
    ended: float | None = None
    calls: list[ObservedCall] = field(default_factory=list)

    @property
    def failure(self) -> str:
        """Why it has no reply of a model; empty: it has one, or none has come yet."""
        if self.status >= 400:
            return f"status {self.status}"
        return self.reply.error if self.reply is not None else ""

    @property
    def text(self) -> str:
        return self.reply.text if self.reply is not None else ""

    @property
    def tokens(self) -> Tokens | None:
        tokens = self.reply.tokens if self.reply is not None else None
        return None if tokens is None or None in (tokens.input, tokens.output) else tokens


class ModelTraffic:
    """Filled by the threads of a proxy, read by those who run the case."""

    def __init__(self, other_services: frozenset[str] = frozenset()) -> None:
        """`other_services` need not be models: what they are asked counts only where it is read as such."""
        self._other_services = other_services
        self.exchanges: list[ModelExchange] = []
        self.schemas: dict[str, object] = {}
        self.plugins: set[str] = set()
        """What the agent's framework puts before the names of tools: `Desk-`."""
        self.lost = False
        self.unowned = ""
        """Why a request that is not here may be one of this run."""
        self._calls: list[ObservedCall] = []
        self._interned: dict[object, Any] = {}
        """What requests repeat is kept once."""
        self._by_key: dict[object, list[ObservedCall]] = {}
        self._lock = threading.Lock()

    def add_request(self, service: str, path: str, body: bytes, client: str = "") -> ModelExchange | None:
        """A request that goes to a model; None for any other. `client` is what the agent's client says that it is."""
        api = find_api(path)
        exchange = ModelExchange(service, path, time())
        request = api.read_request(body) if api is not None else None
        if request is None and (service in self._other_services or (api is None and not asks_a_model(path, body))):
            return None
        if api is None:
            exchange.unread = f"{path!r} of {service!r} is not the address of a model API that Carob can read"
        elif request is None:
            exchange.unread = f"a request to {service!r} could not be read"
        with self._lock:
            self.lost = self.lost or len(self.exchanges) >= MOST or len(self._calls) >= MOST
            if not self.lost:
                self.exchanges.append(exchange)
            if request is not None:
                self._read_request(exchange, request, body)
                if WITH_PLUGINS in client.lower():
                    self.plugins |= {plugin for name in exchange.tools if (plugin := split_plugin(name))}
        return exchange

    def add_reply(
        self, exchange: ModelExchange, status: int, body: bytes, events: Sequence[str], *, torn: bool
    ) -> None:
        """The reply to a request, whole or torn."""
        api = find_api(exchange.path)
        reply = api.read_reply(body, events) if api is not None and status < 400 else None
        with self._lock:
            exchange.status, exchange.ended = status, time()
            if reply is None:
                if status < 400 and not torn:
                    exchange.unread = exchange.unread or f"a reply from {exchange.service!r} could not be read"
                return
            exchange.reply = msgspec.structs.replace(reply, torn=reply.torn or torn)
            exchange.model = reply.model or exchange.model
            # An API may give each call as an item of its own: those of one reply were asked for together.
            for call in (call for message in reply.messages for call in message.calls):
                if not is_helper(call.name):
                    self._add_call(call, exchange, f"reply-{self._number(exchange)}")

    @property
    def calls(self) -> list[ObservedCall]:
        with self._lock:
            return list(self._calls)

    def _read_request(self, exchange: ModelExchange, request: ModelRequest, body: bytes) -> None:
        exchange.digest = hashlib.sha256(body).hexdigest()
        exchange.context = _digest(request.messages)
        exchange.model, exchange.system = self._intern(request.model), self._intern(request.system)
        exchange.prompt = self._intern(next(reversed(find_prompts(request.messages)), ""))
        schemas = tool_schemas(request.tools)
        exchange.tools = self._intern(frozenset(schemas))
        exchange.forced_tools = self._intern(request.forced_tools)
        exchange.names_all_tools = len(schemas) >= _count_tools(request.tools)
        self.schemas |= schemas
        turn_start = len(request.messages) - len(since_last_prompt(request.messages))
        history: list[ObservedCall] = []
        unanswered: list[ObservedCall] = []
        asked_at = 0
        for index, message in enumerate(request.messages):
            if message.calls and not (index and request.messages[index - 1].calls):
                asked_at = index
            for requested in message.calls:
                call = self._find_call(requested, history, request.messages[:index])
                if call is None:
                    is_new = index >= turn_start and not is_helper(requested.name)
                    name = f"request-{self._number(exchange)}-{asked_at}"
                    call = self._add_call(requested, exchange, name) if is_new else ObservedCall(requested, exchange)
                history.append(call)
                unanswered.append(call)
            for result in message.results:
                self._add_result(result, unanswered)

    def _intern(self, value: _Value) -> _Value:
        return cast(_Value, self._interned.setdefault(value, value))

    def _number(self, exchange: ModelExchange) -> int:
        return next((n for n, other in enumerate(self.exchanges, 1) if other is exchange), 0)

    def _add_call(self, request: CallRequest, exchange: ModelExchange, message: str) -> ObservedCall:
        call = ObservedCall(request, exchange, message)
        if len(self._calls) < MOST:
            self._calls.append(call)
            exchange.calls.append(call)
            self._by_key.setdefault(_key(request), []).append(call)
        return call

    def _find_call(
        self, request: CallRequest, history: Sequence[ObservedCall], earlier: Sequence[ChatMessage]
    ) -> ObservedCall | None:
        """The call that a message repeats. Of equal ones, the one that was asked for after these very messages."""
        matches = [call for call in self._by_key.get(_key(request), ()) if call not in history]
        if len(matches) > 1:
            context = _digest(earlier)
            matches = [call for call in matches if call.exchange.context == context] or matches
        return next((call for call in matches if call.result is None), matches[0] if matches else None)

    def _add_result(self, result: ReturnedResult, unanswered: list[ObservedCall]) -> None:
        """Give a result to the call before it in the request, by id, else by name and order.

        A request that goes on with an earlier reply (`previous_response_id`) has the result alone.
        """
        if result.id:
            matches = [call for call in unanswered if call.request.id == result.id]
            late = (call for call in reversed(self._calls) if call.request.id == result.id and call.result is None)
            matches = matches or [*late]
        else:
            matches = [call for call in unanswered if call.request.name == result.name]
        for call in matches[:1]:
            if call in unanswered:
                unanswered.remove(call)
            if call.result is None:
                call.result, call.answered_at = result, time()


def find_repeated(exchanges: Sequence[ModelExchange]) -> Iterator[ObservedCall]:
    """Calls of a reply whose request was sent again, that another reply to it asked for too: one call, not two.

    Of a reply that broke off, the arguments may be torn: there the name is enough.
    """
    by_digest: dict[str, list[ModelExchange]] = {}
    for exchange in exchanges:
        if exchange.digest:
            by_digest.setdefault(exchange.digest, []).append(exchange)
    for group in by_digest.values():
        for index, exchange in enumerate(group):
            twins = [call for earlier in group[:index] for call in earlier.calls if call.result is not None]
            twins += [call for later in group[index + 1 :] for call in later.calls]
            torn = exchange.reply is not None and exchange.reply.torn
            for call in exchange.calls:
                if call.result is None and any(_is_same(call.request, twin.request, torn) for twin in twins):
                    yield call


def _is_same(call: CallRequest, twin: CallRequest, torn: bool) -> bool:
    return call.name == twin.name and (torn or call.arguments == twin.arguments)


def _key(call: CallRequest) -> tuple[str, str, bytes]:
    return call.name, call.id, msgspec.json.encode(call.arguments, order="sorted")


def _count_tools(definitions: object) -> int:
    """How many definitions there are; one that holds other definitions is none."""
    if isinstance(definitions, list):
        return sum(map(_count_tools, definitions))
    lists = [definitions[key] for key in TOOL_LISTS if key in definitions] if isinstance(definitions, Mapping) else []
    return sum(map(_count_tools, lists)) if lists else int(bool(definitions))


def _digest(messages: Sequence[ChatMessage]) -> str:
    return hashlib.sha256(msgspec.json.encode(messages)).hexdigest()
