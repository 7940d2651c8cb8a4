"""Of which case a call in this process is.

A task knows its case, and so does work that it hands to a pool. A thread that the agent started itself does not: what
it calls is of the one case that ran since the thread was started, if there is just one. Else nothing says whose call it
is, and no case can claim that the tool was not called.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import Any, NamedTuple

from carob.evidence.recorder import RanCall, Recorder
from carob.model.trace import PossibleCall
from carob.proxy.faults.world import CaseWorld, FaultError
from carob.system.loopback_auth import RUN_HEADER, UNKNOWN_RUN

MARK = "_carob_mark"
"""Where a thread keeps which cases had begun, and which were running, when it was started."""
UNOWNED = (
    "{} was called in a thread of the agent's own while or after several cases ran in this process, so it is unknown "
    "whose call it is. Call tools in a ThreadPoolExecutor or in asyncio tasks, or run one case in each process: "
    "--workers N --concurrency N"
)
REMOTE = (
    "the remote graph {!r} may have called tools of its own, which are not seen here. Test it where it runs, as a "
    "target of `langgraph-server:`"
)
_current: ContextVar[RunningCase | None] = ContextVar("carob_case", default=None)
open_call: ContextVar[RanCall | None] = ContextVar("carob_open_call", default=None)
"""The call that this task is within."""


class RunningCase:
    """One run of one case in this process, while it runs."""

    __slots__ = ("_token", "is_run", "is_running", "name", "number", "recorder", "world")

    def __init__(self, recorder: Recorder, world: CaseWorld | None, name: str = "", *, is_run: bool = True) -> None:
        """`is_run`: whether calls of which nothing says whose they are may be of it, as the only one."""
        self.is_run = is_run
        self.is_running = False
        self.name = name
        """What its requests to Carob's own proxy are known by; empty: there is no proxy."""
        self.recorder = recorder
        self.world = world
        self.number = 0
        self._token: Token[RunningCase | None]

    def __enter__(self) -> RunningCase:
        self._token = _current.set(self)
        self.is_running = True
        if self.is_run:
            CASES.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.is_running = False
        if self.is_run:
            CASES.leave(self)
        with suppress(ValueError):  # it was entered in the context of another task, where it is over as well
            _current.reset(self._token)

    def __deepcopy__(self, memo: object) -> RunningCase:
        """A tool that is copied stays one of this run."""
        return self


class _Cases:
    """The cases of this process: how many have begun, and which are running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = 0
        self._running: dict[int, RunningCase] = {}
        self.of_none: Callable[[str], RunningCase | None] | None = None
        """What a call of this tool is of that no guard has, where guards watch all of this process."""

    def enter(self, case: RunningCase) -> None:
        with self._lock:
            self._begun += 1
            case.number = self._begun
            self._running[case.number] = case

    def leave(self, case: RunningCase) -> None:
        with self._lock:
            self._running.pop(case.number, None)

    def mark(self) -> tuple[int, tuple[int, ...]]:
        with self._lock:
            return self._begun, tuple(self._running)

    def current_name(self) -> str:
        """The name of the run that what is done now is of, also of one that is over; empty if there is no proxy."""
        current = _current.get() or self._only_one()
        if current is not None:
            return current.name
        with self._lock:
            return UNKNOWN_RUN if any(case.name for case in self._running.values()) else ""

    def possible(self) -> list[RunningCase]:
        """The case that what is done now is of; where that is unknown, all that run."""
        current = _current.get() or self._only_one()
        with self._lock:
            return [current] if current is not None else list(self._running.values())

    def current(self) -> RunningCase | None:
        """The case of this task, while it runs."""
        current = _current.get()
        return current if current is not None and current.is_running else None

    def of_call(self, name: str) -> RunningCase | None:
        """The case that a call of this tool is of; None for a late one, and for one that may be of several.

        Raises FaultError if it may be that of a stubbed tool: the real one must not run.
        """
        current = _current.get()
        if current is not None:
            return current if current.is_running else None
        if (only := self._only_one()) is not None:
            return only
        with self._lock:
            others = list(self._running.values())
        for case in others:
            _refuse_stubbed(case.world, name)
            if (possible_call := PossibleCall(name, UNOWNED.format(name))) not in case.recorder.possible_calls:
                case.recorder.possible_calls.append(possible_call)
        return None

    def _only_one(self) -> RunningCase | None:
        """The case that runs, if it is the only one that ran since this thread was started."""
        begun, running = getattr(threading.current_thread(), MARK, (0, ()))
        with self._lock:
            if self._begun - begun > 1:
                return None
            possible = {*running, *range(begun + 1, self._begun + 1)}
            return self._running.get(possible.pop()) if len(possible) == 1 else None


CASES = _Cases()


def _refuse_stubbed(world: CaseWorld | None, name: str) -> None:
    if world is not None and world.stub_of(world.names.get(name, name)):
        message = f"{name} was called in a separate thread while or after several cases ran: run them one at a time"
        raise FaultError(message)


def _carry(work: Callable[..., Any], case: RunningCase) -> Callable[..., Any]:
    """Work for a pool, with the case of whoever hands it over."""
    call = open_call.get()

    def run(*args: Any, **kwargs: Any) -> Any:
        tokens = _current.set(case), open_call.set(call)
        try:
            return work(*args, **kwargs)
        finally:
            _current.reset(tokens[0])
            open_call.reset(tokens[1])

    return run


def wrap_submit(submit: Callable[..., Any]) -> Callable[..., Any]:
    """`ThreadPoolExecutor.submit` that carries the case along."""

    @functools.wraps(submit)
    def carry(self: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        case = _current.get()
        return submit(self, work if case is None else _carry(work, case), *args, **kwargs)

    return carry


def wrap_start(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    """`Thread.start` that notes which cases there were."""

    @functools.wraps(start)
    def note(self: threading.Thread) -> None:
        setattr(self, MARK, CASES.mark())
        start(self)

    return note


# Requests to our own proxy name their case: else a late one of one case counts for the next, which has its address.
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Sender(NamedTuple):
    """A class that asks elsewhere, and the method that is called each time."""

    module: str
    name: str
    method: str
    note: Callable[[Any, tuple[Any, ...]], None]
    """What is done before: a request to Carob's own proxy names its case in a header."""
    needs_proxy: bool = True
    """Whether only a run with a proxy of Carob's has a use for it."""


def _add_to_request(client: Any, args: tuple[Any, ...]) -> None:
    if args and args[0].url.host in LOOPBACK and (run := CASES.current_name()):
        args[0].headers[RUN_HEADER] = run


def _add_to_connection(connection: Any, args: tuple[Any, ...]) -> None:
    if connection.host in LOOPBACK and (run := CASES.current_name()):
        connection.putheader(RUN_HEADER, run)


def _add_to_itself(request: Any, args: tuple[Any, ...]) -> None:
    if request.url.host in LOOPBACK and (run := CASES.current_name()):
        request.headers[RUN_HEADER] = run


def _note_remote_graph(graph: Any, args: tuple[Any, ...]) -> None:
    for case in CASES.possible():
        case.recorder.possible_calls.append(PossibleCall("", REMOTE.format(graph.name), "any"))


SENDERS = (
    Sender("httpx._client", "Client", "send", _add_to_request),
    Sender("httpx._client", "AsyncClient", "send", _add_to_request),
    Sender("httpx2._client", "Client", "send", _add_to_request),
    Sender("httpx2._client", "AsyncClient", "send", _add_to_request),
    Sender("http.client", "HTTPConnection", "endheaders", _add_to_connection),
    Sender("aiohttp.client_reqrep", "ClientRequest", "send", _add_to_itself),
    Sender("langgraph.pregel.remote", "RemoteGraph", "stream", _note_remote_graph, needs_proxy=False),
    Sender("langgraph.pregel.remote", "RemoteGraph", "astream", _note_remote_graph, needs_proxy=False),
)


def wrap_sender(sender: Sender, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which notes first of which case it is. What it returns may be awaitable."""

    @functools.wraps(method)
    def send(self: Any, *args: Any, **kwargs: Any) -> Any:
        sender.note(self, args)
        return method(self, *args, **kwargs)

    return send
