"""The judge as a process: messages come in, are carried out one after another, and cases wait side by side.

It is ready when it can read suites; judging and runs are loaded when they are first asked for.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from carob.checks.catalog import catalog_for
from carob.errors import CarobError, ExitCode, UsageError
from carob.features.judge import messages
from carob.features.judge.channel import ClientPipe
from carob.features.judge.messages import (
    MAX_CASES,
    MAX_HELD,
    MAX_WAITING,
    Id,
    Reply,
    Request,
    describe_error,
    find_case,
)
from carob.model.suite import Suite
from carob.model.verdict import Verdict
from carob.plugins.project import Project, find_project
from carob.suites.documents.source import source
from carob.suites.reading import locate_suite
from carob.text.clean import loads
from carob.text.wording import error_text
from carob.version import __version__

if TYPE_CHECKING:
    from carob.features.judge.runs import ClientRun

Held = TypeVar("Held")
GARBAGE = "judge-message"


class Shelf(Generic[Held]):
    """What clients have named, each by a short name; the one that was used longest ago makes room."""

    def __init__(self, kind: str, fix: str) -> None:
        self._kind, self._fix = kind, fix
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._numbers = count(1)

    def put(self, value: Held) -> str:
        name = f"{self._kind}-{next(self._numbers)}"
        self._held[name] = value
        if len(self._held) > MAX_HELD:
            self._held.popitem(last=False)
        return name

    def find(self, name: str) -> Held:
        if name not in self._held:
            raise UsageError(f"no {self._kind} is called {name!r}.", fix=self._fix, slug=f"no-{self._kind}")
        self._held.move_to_end(name)
        return self._held[name]

    def take(self, name: str) -> Held:
        value = self.find(name)
        del self._held[name]
        return value


class Server:
    """Carries messages out. `send` writes a reply."""

    def __init__(self, send: Callable[[Reply], None]) -> None:
        self._send = send
        self._suites: Shelf[tuple[Suite, Project]] = Shelf("suite", "Send `load` first: 64 suites are held at most.")
        self._rules: OrderedDict[bytes, Callable[[Mapping[str, Any]], Verdict]] = OrderedDict()
        self._runs: dict[str, ClientRun] = {}
        self._run_numbers, self._ask_numbers = count(1), count(1)
        self._asked: dict[str, asyncio.Future[str | Mapping[str, object]]] = {}
        self._cases: set[asyncio.Task[None]] = set()
        self.is_closed = False

    async def handle(self, line: bytes | None) -> None:
        """Carry one message out. Whatever is wrong with it becomes a reply."""
        id: Id | None = None
        try:
            value = _read(line)
            given = value.get("id")
            id = given if isinstance(given, str | int) and not isinstance(given, bool) else None
            request = _convert(value)
            if isinstance(request, messages.Case):
                self._begin_case(request)
                return
            reply = await self._carry_out(request)
            if reply is not None:
                self._send(reply)
        except CarobError as error:
            self._send(describe_error(error, id))
        except Exception as error:  # noqa: BLE001 - one message that breaks Carob must not take the judge with it
            self._send(describe_error(_bug(error), id))

    async def _carry_out(self, request: Request) -> Reply | None:
        match request:
            case messages.Load():
                return self._load(request)
            case messages.Judge() | messages.Check() | messages.Rules():
                return self._judge(request)
            case messages.Run():
                return await self._begin_run(request)
            case messages.Answer():
                asked = self._asked.pop(request.ask, None)
                if asked is not None and not asked.done():  # else it comes after the end of its case
                    asked.set_result(request.trace)
                return None
            case messages.Finish():
                run = self._run(request.run)
                del self._runs[request.run]
                return await run.finish(request.id, interrupted=request.interrupted)
            case _:
                self.is_closed = True
                return messages.Closed(id=request.id)

    def _load(self, request: messages.Load) -> messages.SuiteLoaded:
        project = find_project()
        data, name = source(request.suite)
        located = locate_suite(data, name, catalog_for(project))
        suite, lines = located.suite, located.case_lines()
        cases = [
            messages.CaseListed(
                id=case.id,
                prompts=list(case.user_texts),
                line=lines.get(case.id, 1),
                category=case.category,
                tags=list(case.tags),
                skip=case.skip,
                xfail=case.xfail,
            )
            for case in suite.cases
        ]
        return messages.SuiteLoaded(
            id=request.id,
            suite=self._suites.put((suite, project)),
            file=suite.file,
            name=suite.name,
            cases=cases,
            warnings=list(suite.warnings),
        )

    def _judge(self, request: messages.Judge | messages.Check | messages.Rules) -> messages.Judged:
        from carob import api  # late, as is the next: it takes longer than everything that reads suites
        from carob.features.judge import judging

        if isinstance(request, messages.Judge):
            suite, project = self._suites.find(request.suite)
            return judging.judge_trace(request.id, find_case(suite, request.case), request.trace, project)
        if isinstance(request, messages.Check):
            return judging.judge_keys(request.id, request.trace, request.expected, find_project())
        data, _ = source(request.rules)
        if data not in self._rules:
            self._rules[data] = api.prepare_judge(request.rules)
            if len(self._rules) > MAX_HELD:
                self._rules.popitem(last=False)
        return judging.judge_conversation(request.id, request.trace, self._rules[data])

    async def _begin_run(self, request: messages.Run) -> messages.RunStarted:
        if len(self._runs) >= MAX_HELD:
            raise UsageError(f"{MAX_HELD} runs are open.", fix="Send `finish` for those that are over.", slug=GARBAGE)
        from carob.features.judge.runs import ClientRun  # late: loading the engine takes as long as everything else

        suite, project = self._suites.find(request.suite)
        run = ClientRun(suite, request, project, self._ask)
        await run.open()
        name = f"run-{next(self._run_numbers)}"
        self._runs[name] = run
        return messages.RunStarted(id=request.id, run=name)

    def _run(self, name: str) -> ClientRun:
        if name not in self._runs:
            raise UsageError(f"no run is called {name!r}.", fix="Send `run` first.", slug="no-run")
        return self._runs[name]

    def _begin_case(self, request: messages.Case) -> None:
        run = self._run(request.run)
        if len(self._cases) >= MAX_CASES:
            fix = "Wait for the results of some."
            raise UsageError(f"{MAX_CASES} cases are waiting for answers.", fix=fix, slug=GARBAGE)
        task = asyncio.create_task(self._run_case(run, request))
        self._cases.add(task)
        task.add_done_callback(self._cases.discard)

    async def _run_case(self, run: ClientRun, request: messages.Case) -> None:
        try:
            self._send(await run.run(request.id, request.case))
        except asyncio.CancelledError:
            error = UsageError("the run ended before the case did.", slug="run-ended")
            self._send(describe_error(error, request.id))
        except CarobError as error:
            self._send(describe_error(error, request.id))
        except Exception as error:  # noqa: BLE001 - as for every message
            self._send(describe_error(_bug(error), request.id))

    async def _ask(self, id: Id, case: str, conversation: str, turn: int, prompt: str) -> str | Mapping[str, object]:
        name = f"ask-{next(self._ask_numbers)}"
        answer: asyncio.Future[str | Mapping[str, object]] = asyncio.get_running_loop().create_future()
        self._asked[name] = answer
        try:
            self._send(messages.Ask(id=id, ask=name, case=case, conversation=conversation, turn=turn, prompt=prompt))
            return await answer
        finally:
            self._asked.pop(name, None)

    async def end(self) -> None:
        """End the runs that are still open, as interrupted."""
        for run in self._runs.values():
            await run.finish("", interrupted=True)


def _read(line: bytes | None) -> dict[str, Any]:
    if line is None:
        message = f"a line is longer than {messages.MAX_BYTES >> 20} MiB."
        raise UsageError(message, fix="Shorten the trace: leave out what no check needs.", slug=GARBAGE)
    try:
        value = loads(line)
    except ValueError as error:
        raise UsageError(f"not a message: {error}.", fix=messages.WRITE_PROTOCOL, slug=GARBAGE) from None
    if not isinstance(value, dict):
        raise UsageError("not a message: not a JSON object.", fix=messages.WRITE_PROTOCOL, slug=GARBAGE)
    return value


def _convert(value: dict[str, Any]) -> Request:
    if value.get("protocol") != messages.PROTOCOL:
        fix = f"Use the client of Carob {__version__}."
        message = f"this judge speaks protocol {messages.PROTOCOL}, not {value.get('protocol')!r}."
        raise UsageError(message, fix=fix, slug="judge-protocol")
    try:
        request: Request = msgspec.convert(value, messages.AnyRequest)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"not a message: {error}.", fix=messages.WRITE_PROTOCOL, slug=GARBAGE) from None
    return request


def _bug(error: Exception) -> CarobError:
    message = f"this is a bug in Carob: {type(error).__name__}: {error_text(error)}"
    return CarobError(message, fix="Please report it with the message that you sent.", slug="bug")


def serve() -> int:
    """Serve a client on stdin and stdout until it closes, or is gone."""
    channel = ClientPipe()
    channel.when_abandoned(lambda: os._exit(ExitCode.INTERRUPTED))
    channel.send(messages.Ready(protocol=messages.PROTOCOL, version=__version__))
    asyncio.run(_serve(channel))
    return ExitCode.OK


async def _serve(channel: ClientPipe) -> None:
    server = Server(channel.send)
    waiting: asyncio.Queue[bytes | EOFError | None] = asyncio.Queue()
    loop, room = asyncio.get_running_loop(), threading.Semaphore(MAX_WAITING)

    def read() -> None:
        for line in channel.lines():
            room.acquire()
            loop.call_soon_threadsafe(waiting.put_nowait, line)
        loop.call_soon_threadsafe(waiting.put_nowait, EOFError())

    threading.Thread(target=read, name="carob-judge-reader", daemon=True).start()
    while not server.is_closed:
        line = await waiting.get()
        if isinstance(line, EOFError):
            break
        await server.handle(line)
        room.release()
    await server.end()
