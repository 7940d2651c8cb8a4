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

from karat.evidence.models.apis import ModelReply, ModelRequest, asks_a_model, find_api
from karat.evidence.spans.messages import AskedCall, HandedResult, Utterance, prompts, since_the_prompt
from karat.model.trace import Tokens
from karat.providers.base import TOOL_LISTS, tool_schemas
from karat.text.tool_names import is_helper

_Same = TypeVar("_Same", str, frozenset[str])
MOST = 10_000
"""So many calls and exchanges of one run are kept."""
LOST = "the case exchanged more with models than there is room for, so some of its calls may be missing"


class SeenCall(Struct, eq=False):
    """A call that a model asked for, and its result if one was handed back."""

    asked: AskedCall
    exchange: ModelExchange
    """The one whose reply asked for it, or the first request that has it among its messages."""
    result: HandedResult | None = None
    answered_at: float | None = None

    @property
    def key(self) -> tuple[str, str, bytes]:
        return self.asked.name, self.asked.id, msgspec.json.encode(self.asked.arguments, order="sorted")


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
    offers: frozenset[str] = frozenset()
    """The tools that the model was offered by name."""
    offers_all: bool = True
    """Whether each tool that it was offered has a name there, and is not one that the API defines."""
    unread: str = ""
    """Why it, or its reply, could not be read."""
    status: int = 0
    reply: ModelReply | None = None
    ended: float | None = None
    calls: list[SeenCall] = field(default_factory=list)

    @property
    def failure(self) -> str:
        """Why it has no reply of a model; empty: it has one, or none has come yet."""
        if self.status >= 400:
            return f"status {self.status}"
        return self.reply.error if self.reply is not None else ""

    @property
    def words(self) -> str:
        return "\n".join(one.text for one in self.reply.said if one.text) if self.reply is not None else ""

    @property
    def tokens(self) -> Tokens | None:
        return self.reply.tokens if self.reply is not None else None


class ModelTraffic:
    """Filled by the threads of a proxy, read by those who run the case."""

    def __init__(self, others: frozenset[str] = frozenset()) -> None:
        """`others`: services that need not be models. What they are asked counts only where it is read as such."""
        self._others = others
        self.exchanges: list[ModelExchange] = []
        self.schemas: dict[str, object] = {}
        self.lost = False
        self._calls: list[SeenCall] = []
        self._same: dict[object, Any] = {}
        """What requests repeat is kept once."""
        self._by_key: dict[tuple[str, str, bytes], list[SeenCall]] = {}
        self._lock = threading.Lock()

    def ask(self, service: str, path: str, body: bytes) -> ModelExchange | None:
        """A request that goes to a model; None for any other."""
        api = find_api(path)
        exchange = ModelExchange(service, path, time())
        request = api.read_request(body) if api is not None else None
        if request is None and (service in self._others or (api is None and not asks_a_model(path, body))):
            return None
        if api is None:
            exchange.unread = f"{path!r} of {service!r} is not the address of a model API that Karat can read"
        elif request is None:
            exchange.unread = f"a request to {service!r} could not be read"
        with self._lock:
            self.lost = self.lost or len(self.exchanges) >= MOST or len(self._calls) >= MOST
            if not self.lost:
                self.exchanges.append(exchange)
            if request is not None:
                self._note(exchange, request, body)
        return exchange

    def hear(self, exchange: ModelExchange, status: int, body: bytes, events: Sequence[str], *, torn: bool) -> None:
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
            for one in reply.said:
                for asked in one.calls:
                    if not is_helper(asked.name):
                        self._add(asked, exchange)

    @property
    def calls(self) -> list[SeenCall]:
        with self._lock:
            return list(self._calls)

    def _note(self, exchange: ModelExchange, request: ModelRequest, body: bytes) -> None:
        exchange.digest = hashlib.sha256(body).hexdigest()
        exchange.context = _digest(request.given)
        exchange.model, exchange.system = self._once(request.model), self._once(request.system)
        exchange.prompt = self._once(next(reversed(prompts(request.given)), ""))
        schemas = tool_schemas(request.offered)
        exchange.offers = self._once(frozenset(schemas))
        exchange.offers_all = len(schemas) >= _count_tools(request.offered)
        self.schemas |= schemas
        fresh = len(request.given) - len(since_the_prompt(request.given))
        history: list[SeenCall] = []
        waiting: list[SeenCall] = []
        for place, one in enumerate(request.given):
            for asked in one.calls:
                call = self._find_known(asked, history, request.given[:place])
                if call is None:
                    is_new = place >= fresh and not is_helper(asked.name)
                    call = self._add(asked, exchange) if is_new else SeenCall(asked, exchange)
                history.append(call)
                waiting.append(call)
            for result in one.results:
                self._end(result, waiting)

    def _once(self, value: _Same) -> _Same:
        return cast(_Same, self._same.setdefault(value, value))

    def _add(self, asked: AskedCall, exchange: ModelExchange) -> SeenCall:
        call = SeenCall(asked, exchange)
        if len(self._calls) < MOST:
            self._calls.append(call)
            exchange.calls.append(call)
            self._by_key.setdefault(call.key, []).append(call)
        return call

    def _find_known(
        self, asked: AskedCall, history: Sequence[SeenCall], before: Sequence[Utterance]
    ) -> SeenCall | None:
        """The call that a message repeats. Of equal ones, the one that was asked for after these very messages."""
        key = (asked.name, asked.id, msgspec.json.encode(asked.arguments, order="sorted"))
        alike = [one for one in self._by_key.get(key, ()) if one not in history]
        if len(alike) > 1:
            context = _digest(before)
            alike = [one for one in alike if one.exchange.context == context] or alike
        return next((one for one in alike if one.result is None), alike[0] if alike else None)

    def _end(self, result: HandedResult, waiting: list[SeenCall]) -> None:
        """Give a result to the call before it in the request, by id, else by name and order.

        A request that goes on with an earlier reply (`previous_response_id`) has the result alone.
        """
        if result.id:
            alike = [one for one in waiting if one.asked.id == result.id]
        else:
            alike = [one for one in waiting if one.asked.name == result.name]
        if not alike and result.id:
            alike = [one for one in reversed(self._calls) if one.asked.id == result.id and one.result is None]
        for call in alike[:1]:
            if call in waiting:
                waiting.remove(call)
            if call.result is None:
                call.result, call.answered_at = result, time()


def find_repeated(exchanges: Sequence[ModelExchange]) -> Iterator[SeenCall]:
    """Calls of a reply whose request was sent again, that another reply to it asked for too: one call, not two.

    Of a reply that broke off, the arguments may be torn: there the name is enough.
    """
    by_digest: dict[str, list[ModelExchange]] = {}
    for exchange in exchanges:
        if exchange.digest:
            by_digest.setdefault(exchange.digest, []).append(exchange)
    for group in by_digest.values():
        for place, exchange in enumerate(group):
            others = [one for other in group[:place] for one in other.calls if one.result is not None]
            others += [one for other in group[place + 1 :] for one in other.calls]
            torn = exchange.reply is not None and exchange.reply.torn
            for call in exchange.calls:
                if call.result is None and any(_is_twin(call, other, torn) for other in others):
                    yield call


def _is_twin(call: SeenCall, other: SeenCall, torn: bool) -> bool:
    same = call.asked.name == other.asked.name
    return same and (torn or call.asked.arguments == other.asked.arguments)


def _count_tools(offered: object) -> int:
    """How many definitions there are, those that other definitions hold apart."""
    if isinstance(offered, list):
        return sum(map(_count_tools, offered))
    held = [offered[key] for key in TOOL_LISTS if key in offered] if isinstance(offered, Mapping) else []
    return sum(map(_count_tools, held)) if held else int(bool(offered))


def _digest(given: Sequence[Utterance]) -> str:
    return hashlib.sha256(msgspec.json.encode(given)).hexdigest()
