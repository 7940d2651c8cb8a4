"""An OTLP/HTTP receiver on the loopback address, and the inbox in which spans wait until their case asks for them.

A case's spans are known by the trace that Carob began, by an attribute that names its conversation, or by its baggage
entry. Spans that fit no case are evidence of nothing: they are counted and let go. What they call while a case runs may
be its call all the same, so that case cannot claim that the tool was not called. What has no room is reported as lost.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from itertools import islice
from typing import Any

from carob.evidence.spans.otlp import Origin, SpanBatch, SpanRecord, request_type
from carob.evidence.spans.trace_context import CASE_ENTRY, TraceContext, conversation_in
from carob.system import memory_estimate
from carob.system.loopback import Connection, HttpRequest, LoopbackServer, format_reply, unpack
from carob.system.loopback_auth import RefusedRequest
from carob.text.wording import shorten

ROOM = 256 << 20
"""So many bytes of memory requests may take, at most, while they wait."""
OVERHEAD = 700
"""Bytes that a span takes besides, once it is read."""
REMEMBERED = 20_000
CONVERSATION_KEYS = ("gen_ai.conversation.id", "session.id")


class TraceBox:
    """The spans of one trace."""

    __slots__ = ("arrived_at", "claims", "last_at", "records", "size", "unread")

    def __init__(self) -> None:
        self.arrived_at = self.last_at = time.monotonic()
        self.size = 0
        self.unread: list[tuple[Any, Origin]] = []
        self.records: dict[str, SpanRecord] = {}
        self.claims: dict[str, CaseWindow] = {}
        """Case of each span that names one. The empty id means the trace as a whole."""

    def of(self, window: CaseWindow) -> list[SpanRecord]:
        """The spans that belong to a case: all, or those below one that says so where several cases share a trace."""
        owners = set(self.claims.values())
        if owners == {window}:
            return list(self.records.values())
        if window in owners:
            return [record for record in self.records.values() if self._owner(record) is window]
        return []

    def unowned_spans(self) -> list[SpanRecord]:
        """The spans that belong to no case."""
        return [record for record in self.records.values() if self._owner(record) is None]

    def _owner(self, record: SpanRecord) -> CaseWindow | None:
        at: SpanRecord | None = record
        for _ in range(len(self.records)):
            if at is None:
                break
            if (owner := self.claims.get(at.span_id)) is not None:
                return owner
            at = self.records.get(at.parent_id)
        owners = set(self.claims.values())
        return self.claims.get("") or (owners.pop() if len(owners) == 1 else None)


class CaseWindow:
    """One run of a case, from its beginning to its end, and what was lost meanwhile."""

    __slots__ = ("_inbox", "loss", "opened_at", "trace_context")

    def __init__(self, inbox: Inbox, trace_context: TraceContext) -> None:
        self._inbox = inbox
        self.trace_context = trace_context
        self.opened_at = time.monotonic()
        self.loss = ""

    def records(self) -> list[SpanRecord]:
        """Its spans, as far as they have arrived."""
        return self._inbox.records_of(self)

    def unowned_spans(self) -> list[SpanRecord]:
        """The spans that arrived while it was open and that belong to no case."""
        return self._inbox.find_unowned(self.opened_at)

    def close(self) -> None:
        self._inbox.close_window(self)


class Inbox:
    """Filled by the receiver's thread, read by those who run cases."""

    def __init__(self, room: int = ROOM) -> None:
        self.requests = 0
        self.version = 0
        self.strays = 0
        self.stray_name = ""
        self.late = 0
        self._room = room
        self._size = 0
        self._lock = threading.Lock()
        self._waiting: list[tuple[SpanBatch, int]] = []
        self._boxes: dict[bytes, TraceBox] = {}
        self._windows: list[CaseWindow] = []
        self._closed: set[bytes | str] = set()
        """Traces, and names of conversations, of cases that are over."""
        self._closing: deque[bytes | str] = deque()

    def open_window(self, trace_context: TraceContext) -> CaseWindow:
        with self._lock:
            window = CaseWindow(self, trace_context)
            self._windows.append(window)
        return window

    def put(self, batch: SpanBatch, size: int) -> None:
        """Keep a request that takes so many bytes. Whose its spans are is found out when a case asks for its own."""
        with self._lock:
            self.requests += 1
            self.version += 1
            self._waiting.append((batch, size))
            self._size += size
            if not self._windows or self._size > self._room:
                self._sort()
                self._make_room()

    def note_loss(self, why: str) -> None:
        """A request could not be kept: no case that is running now has all of its spans for sure."""
        with self._lock:
            self.requests += 1
            self.version += 1
            self._record_loss(why)

    def records_of(self, window: CaseWindow) -> list[SpanRecord]:
        with self._lock:
            self._read()
            return [record for box in self._boxes.values() for record in box.of(window)]

    def find_unowned(self, moment: float) -> list[SpanRecord]:
        with self._lock:
            self._read()
            return [record for box in self._boxes.values() if box.last_at >= moment for record in box.unowned_spans()]

    def close_window(self, window: CaseWindow) -> None:
        """Let go of what belongs to the case, and of what can belong to no case that is still running."""
        with self._lock:
            self._read()
            self._windows.remove(window)
            for turn in window.trace_context.turns:
                self._remember(bytes.fromhex(turn.trace_id))
            for name in (window.trace_context.conversation_id, *window.trace_context.known_as):
                self._remember(name)
            oldest = min((other.opened_at for other in self._windows), default=float("inf"))
            for trace_id, box in list(self._boxes.items()):
                is_own = bool(box.of(window)) and set(box.claims.values()) <= {window}
                stray = not box.claims and box.arrived_at < oldest
                if is_own or stray:
                    self._remove(trace_id)
                    self._remember(trace_id)
                if stray and not is_own:
                    self._let_go([record.name for record in box.records.values()])

    def _sort(self) -> None:
        """Put new spans into the box of their trace. While no case runs, they are dropped."""
        for batch, size in self._waiting:
            spans = batch.spans()
            self._size -= size
            if not self._windows:
                self._let_go([span.name for _, span, _ in spans])
                continue
            each = size // len(spans) + OVERHEAD if spans else 0
            for trace_id, span, origin in spans:
                box = self._boxes.get(trace_id) or self._new_box(trace_id)
                if box is not None:
                    box.unread.append((span, origin))
                    box.last_at = time.monotonic()
                    box.size += each
                    self._size += each
        self._waiting.clear()

    def _new_box(self, trace_id: bytes) -> TraceBox | None:
        if trace_id in self._closed:
            self.late += 1
            return None
        return self._boxes.setdefault(trace_id, TraceBox())

    def _read(self) -> None:
        """Read what is new, and see who claims it."""
        self._sort()
        traces = {turn.trace_id: window for window in self._windows for turn in window.trace_context.turns}
        names = {window.trace_context.conversation_id: window for window in self._windows}
        for trace_id, box in self._boxes.items():
            if not box.unread:
                continue
            if (marked := traces.get(trace_id.hex())) is not None:
                box.claims[""] = marked
            for record in (origin.record(span) for span, origin in box.unread):
                if record.unread:
                    self._record_loss(record.unread)
                if marked is None and self._is_late(record):
                    self.late += 1
                    continue
                box.records[record.span_id] = record
                if (owner := self._find_claim(record, names)) is not None:
                    box.claims[record.span_id] = owner
            box.unread.clear()

    def _find_claim(self, record: SpanRecord, names: dict[str, CaseWindow]) -> CaseWindow | None:
        """Return the cases that a span names, in any attribute: Carob chose the ids, so a match is proof."""
        for table in (record.attributes, record.resource):
            for key, value in table.items():
                if isinstance(value, str) and value:
                    owner = names.get(value) or (self._find_entry(value, names) if CASE_ENTRY in key else None)
                    if owner is not None:
                        return owner
        conversations = [value for key in CONVERSATION_KEYS if isinstance(value := record.attributes.get(key), str)]
        telling = {name for name in conversations if name not in self._closed}  # what two cases share names neither
        fitting = [window for window in self._windows if not window.trace_context.known_as.isdisjoint(telling)]
        return fitting[0] if len(fitting) == 1 else None

    def _is_late(self, record: SpanRecord) -> bool:
        """Whether a span names a conversation that is over."""
        names = [value for key in CONVERSATION_KEYS if isinstance(value := record.attributes.get(key), str)]
        entries = [table[CASE_ENTRY] for table in (record.attributes, record.resource) if CASE_ENTRY in table]
        names += [conversation_in(entry) for entry in entries if isinstance(entry, str)]
        open_names = {name for window in self._windows for name in window.trace_context.known_as}
        return any(name in self._closed and name not in open_names for name in names)

    def _find_entry(self, entry: str, names: dict[str, CaseWindow]) -> CaseWindow | None:
        """Who is named by a baggage entry: one run of a case, or the case, if it runs once at this time."""
        if (owner := names.get(conversation_in(entry))) is not None:
            return owner
        fitting = [window for window in self._windows if window.trace_context.case_id == entry]
        return fitting[0] if len(fitting) == 1 else None

    def _make_room(self) -> None:
        while self._size > self._room and self._boxes:
            self._remove(next(iter(self._boxes)))
            self._record_loss("more spans were waiting than there is room for")

    def _record_loss(self, why: str) -> None:
        for window in self._windows:
            window.loss = window.loss or why

    def _remove(self, trace_id: bytes) -> None:
        self._size -= self._boxes.pop(trace_id).size

    def _remember(self, key: bytes | str) -> None:
        """What comes of a trace or a conversation after its case was judged is late, and no stray."""
        self._closed.add(key)
        self._closing.append(key)
        for _ in islice(range(len(self._closing)), max(0, len(self._closing) - REMEMBERED)):
            self._closed.discard(self._closing.popleft())

    def _let_go(self, names: list[str]) -> None:
        self.strays += len(names)
        self.stray_name = self.stray_name or (names[0] if names else "")


TRACES = "/v1/traces"
OTHER_SIGNALS = ("/v1/metrics", "/v1/logs")
"""Taken and let go: an exporter that is refused them complains into the agent's own output."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"
EMPTY = {JSON: b"{}", PROTOBUF: b""}


class RequestReader:
    """Reads requests of OTLP/HTTP one at a time: what reading takes for a moment is bounded so."""

    def __init__(self) -> None:
        self._reading = threading.Lock()

    def read(self, request: HttpRequest, put: Callable[[SpanBatch, int], None]) -> str:
        """Hand on the spans of a request, and how many bytes they take; the type of its content.

        Raises RefusedRequest. What `put` raises as a ValueError is a request that cannot be read.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        path = request.path.partition("?")[0].rstrip("/")
        if request.method != "POST":
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, f"spans were sent by {shorten(request.method, 20)!r}")
        if path.endswith(OTHER_SIGNALS):
            return kind if kind == JSON else PROTOBUF
        if not path.endswith(TRACES):
            raise RefusedRequest(HTTPStatus.NOT_FOUND, f"spans were sent to {shorten(path, 80)!r}, not to {TRACES!r}")
        if kind not in (JSON, PROTOBUF):
            raise RefusedRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"spans were sent as {shorten(kind, 40)!r}")
        with self._reading:
            _put_spans(unpack(request), kind, put)
        return kind


def _put_spans(body: bytes, kind: str, put: Callable[[SpanBatch, int], None]) -> None:
    size = (memory_estimate.json_weight if kind == JSON else memory_estimate.protobuf_weight)(body)
    if size > memory_estimate.HEAVIEST:
        why = "a request takes too much memory to read"
        raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)
    try:
        put(SpanBatch(body, json=kind == JSON), size)
    except ValueError as error:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, f"a request cannot be read: {error}") from error


class Receiver:
    """Listens from `open` to `close`."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self._reader = RequestReader()
        self._server = LoopbackServer(self._serve, "the receiver of spans", self.inbox.note_loss)

    @property
    def endpoint(self) -> str:
        return self._server.url

    @property
    def address(self) -> str:
        return self._server.address

    def open(self, port: int = 0) -> None:
        """Listen, or raise a ConfigError."""
        request_type()
        self._server.open(port)

    def close(self) -> None:
        self._server.close()

    def _serve(self, connection: Connection, request: HttpRequest) -> bool:
        kind = self._reader.read(request, self.inbox.put)
        connection.send(format_reply(HTTPStatus.OK, kind, EMPTY[kind]))
        return request.keeps_alive
