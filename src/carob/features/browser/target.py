"""`browser:URL`: a live web app in a real browser, with its telemetry log.

One browser, a fresh context per case. With a telemetry log and no field that distinguishes conversations, cases run one
at a time, because lines could not be attributed.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
import zipfile
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import structs

from carob.evidence.logs.events import tool_calls
from carob.evidence.recorder import Recorder
from carob.features.browser.environment import HURRY, BrowserEnvironment, open_context
from carob.features.browser.log import TurnLog, select_own_lines, wait_until_quiet
from carob.features.browser.options import (
    LOG,
    SESSION,
    BrowserOptions,
    check_options,
    environment_values,
    script,
    secret_values,
)
from carob.features.browser.page import ChatPage
from carob.model.suite import Case
from carob.model.trace import REMOVED, UNSEEN_WORDS, Message, Trace
from carob.targets.base import RunContext, TargetError
from carob.targets.capabilities import Limits
from carob.targets.config import TargetConfig, read_options
from carob.targets.conversation import converse, timeout
from carob.text.encodings import SecretSearch

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Error


NO_FIELD = "its telemetry has no correlation_field, so lines of concurrent cases could not be attributed"
ONE_SESSION = "all cases share the session that was given"
NO_LOG = (
    "no telemetry log is configured: set `telemetry.log` of the target, or write {log} into `start` or "
    "`start_env` (TELEMETRY_LOG_PATH for the script)"
)
SILENT = (
    "nothing was written to the telemetry log in this turn: if the app logs only tool calls, and a turn without "
    "calls writes nothing, set telemetry = { tools_only = true }; otherwise check where it writes its log"
)


class BrowserTarget:
    """An app that is reached through its page."""

    def __init__(self, config: TargetConfig) -> None:
        self._config = config
        self._options = check_options(read_options(config, BrowserOptions), config.spec)
        self._stage = BrowserEnvironment(config, self._options)
        self.options = config.identity
        self.secrets = secret_values(self._options, config.spec)
        self.limits = self._limits()
        self._script = ""
        self._spoken_to: int | None = None
        """Which start of the app a conversation was held with before: what it logs late, a later one finds."""

    def _limits(self) -> Limits:
        options, limits = self._options, self._config.limits
        if options.session:
            return structs.replace(limits, max_concurrency=1, why=ONE_SESSION)
        if options.has_log and not options.telemetry.correlation_field:
            log_name = options.telemetry_log or options.telemetry.log
            if options.starts_app and log_name in ("", LOG):  # each worker has an app and a log of its own
                return structs.replace(limits, max_per_worker=1, why=NO_FIELD)
            return structs.replace(limits, max_concurrency=1, why=NO_FIELD)
        return limits

    async def open(self) -> None:
        environment_values(self._options, self._config.spec)
        self._script = script(self._options.init_script, self._config.root)
        await self._stage.open()

    async def close(self) -> None:
        await self._stage.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        from playwright.async_api import Error

        session = self._options.session or f"carob-{context.trace_context.conversation_id}"
        context.trace_context.known_as.add(session)
        try:
            browser = await self._stage.ready()
            base = self._stage.base.replace(SESSION, session)
            async with open_context(browser, self._options, base, session, self._script) as opened:
                return await self._conversation(case, context, opened, session)
        except Error as error:
            raise await self._explain(TargetError("agent", _first_line(error))) from error
        except TargetError as error:
            raise await self._explain(error) from error

    async def _explain(self, error: TargetError) -> TargetError:
        """Report what breaks because the app is gone as that."""
        why = await self._stage.why_gone() if error.kind != "gone" else ""
        return TargetError("gone", f"{why} ({error.message})", detail=error.detail) if why else error

    async def _conversation(self, case: Case, context: RunContext, opened: BrowserContext, session: str) -> Trace:
        if not self._options.screenshots:
            context.attachments = None
        evidence = PageEvidence(case, context, opened, self.secrets, [*self._options.headers])
        await evidence.start()
        base, starts = self._stage.base.replace(SESSION, session), self._stage.starts
        chat = ChatPage(await opened.new_page(), self._options, base, session)
        late = self._spoken_to == starts and not self._correlated
        self._spoken_to = starts

        async def turn(prompt: str) -> Trace:
            was_quiet = late and self._stage.log is not None and await wait_until_quiet(self._stage.log)
            trace = await self._turn(case, context.recorder, chat, session, prompt)
            trace = self._without_late(trace, session, was_quiet=was_quiet) if late else trace
            why = await self._stage.why_left(starts)
            if why:  # what the page shows may be half an answer
                raise TargetError("gone", why, partial=trace)
            return trace

        try:
            await chat.reach(case.preconditions)
            return await converse(case, context, turn, self._config.turn_timeout)
        finally:
            await evidence.keep(chat)

    async def _turn(self, case: Case, recorder: Recorder, chat: ChatPage, session: str, prompt: str) -> Trace:
        recorder.page_before = await chat.snapshot()
        log = self._log(session, recorder.dialect)
        started_at, began = time.time(), time.perf_counter()
        try:
            answer = await chat.ask(prompt, log)
            page = await chat.snapshot()
            lines = await log.finish() if log is not None else ()
        except BaseException as error:  # also a cancellation: what was seen until then is kept
            if isinstance(error, asyncio.CancelledError):
                chat.patience = HURRY
            await _last_look(recorder, chat, log, prompt)
            raise
        finally:
            if log is not None:
                log.close()
        return Trace(
            case_id=case.id,
            input=case.prompt,
            final_message=answer.text,
            messages=(
                Message("user", prompt),
                Message("assistant", answer.text),
                *([Message(UNSEEN_WORDS, answer.hidden)] if answer.hidden else ()),
            ),
            tool_calls=tool_calls(lines, recorder.dialect),
            telemetry=lines,
            dialect=recorder.dialect,
            page=page,
            answer_page=chat.answer_page,
            page_before=recorder.page_before,
            unobserved=self._why_unobserved(log, lines) | ({"final_message": answer.unseen} if answer.unseen else {}),
            metadata={"answer": answer.found} if answer.found else {},
            started_at=started_at,
            duration_ms=round((time.perf_counter() - began) * 1000, 3),
        )

    def _why_unobserved(self, log: TurnLog | None, lines: Sequence[str]) -> dict[str, str]:
        """Why tools and telemetry of a turn were not seen."""
        silent = not lines and not self._options.telemetry.tools_only
        why = NO_LOG if log is None else SILENT if silent else ""
        return {"tools": why, "telemetry": why} if why else {}

    @property
    def _correlated(self) -> bool:
        """Whether each line of the log is known to be of the turn that it is found in."""
        options = self._options
        return options.telemetry.complete or bool(options.telemetry.correlation_field and not options.session)

    def _without_late(self, trace: Trace, session: str, *, was_quiet: bool) -> Trace:
        """The trace without events of tools that may be of an earlier case."""
        named = "" if self._options.session else session
        own_lines, possible = select_own_lines(trace.telemetry, named, trace.dialect, was_quiet=was_quiet)
        if not possible:
            return trace
        calls, unobserved = tool_calls(own_lines, trace.dialect), {**trace.unobserved, "telemetry": possible[0].why}
        return structs.replace(
            trace, tool_calls=calls, telemetry=own_lines, possible_calls=possible, unobserved=unobserved
        )

    def _log(self, session: str, dialect: str) -> TurnLog | None:
        file, options = self._stage.log, self._options
        return None if file is None else TurnLog(file, options.telemetry, session, options.session_query, dialect)


async def _last_look(recorder: Recorder, chat: ChatPage, log: TurnLog | None, prompt: str) -> None:
    """What a broken turn leaves. A page that is stuck or gone shows nothing."""
    from playwright.async_api import Error

    if log is not None:
        recorder.telemetry = log.so_far()
    recorder.messages.append(Message("user", prompt))
    try:
        async with timeout(chat.patience):
            recorder.final_message = await chat.answer()
            recorder.page = await chat.snapshot()
    except (Error, TimeoutError):
        chat.patience = HURRY


def _first_line(error: Error) -> str:
    if "crashed" in error.message:
        return "the page crashed"
    return error.message.strip().split("\n", 1)[0]


_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})


class PageEvidence:
    """Kept whatever becomes of the turn."""

    def __init__(
        self, case: Case, context: RunContext, window: BrowserContext, secrets: Sequence[str], headers: Sequence[str]
    ) -> None:
        self._context = context
        self._window = window
        self._secrets = secrets
        self._headers = headers
        self._folder = context.attachments
        self._stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in case.id)[:60] + f"-{uuid4().hex[:6]}"

    async def start(self) -> None:
        if self._folder is not None:
            await self._window.tracing.start(snapshots=True)

    async def keep(self, chat: ChatPage) -> None:
        """A page that is gone or stuck has nothing to show."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        shot, trace = self._folder / f"{self._stem}.png", self._folder / f"{self._stem}.trace.zip"
        if await _try_in_time(chat, chat.screenshot(shot)):
            self._context.attach("screenshot", shot)
            await _try_in_time(chat, self._map(chat, shot))
        if await _try_in_time(chat, self._record(trace)):
            self._context.attach("playwright trace", trace, unless_passed=True)

    async def _map(self, chat: ChatPage, shot: Path) -> None:
        self._context.screen = await chat.screen(shot)

    async def _record(self, file: Path) -> None:
        await self._window.tracing.stop(path=str(file))
        await asyncio.to_thread(scrub, file, self._secrets, self._headers)


async def _try_in_time(chat: ChatPage, taking: Awaitable[None]) -> bool:
    """Whether the page gave what was asked of it in time."""
    from playwright.async_api import Error

    try:
        async with timeout(chat.patience):
            await taking
    except (Error, TimeoutError):
        return False
    return True


def scrub(file: Path, secrets: Sequence[str], headers: Sequence[str] = ()) -> None:
    """Take cookies, authorization headers, those named and known values out of a recorded trace, in place."""
    clean = file.with_suffix(".clean")
    names = _HEADERS.union(name.lower() for name in headers)
    search = SecretSearch(secrets)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(clean, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith((".trace", ".network")):
                data = b"\n".join(_without_headers(line, names) for line in data.split(b"\n"))
            new.writestr(entry.filename, search.replace(data, lambda secret: REMOVED.encode()))
    shutil.move(clean, file)


def _without_headers(line: bytes, names: frozenset[str]) -> bytes:
    try:
        event = json.loads(line)
    except ValueError:
        return line
    return json.dumps(_remove_values(event, names), separators=(",", ":")).encode()


def _remove_values(value: object, names: frozenset[str]) -> object:
    if isinstance(value, list):
        return [_remove_values(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    if "value" in value and str(value.get("name", "")).lower() in names:
        return {**value, "value": REMOVED}
    cleaned = {key: _cookies(item) if key == "cookies" else _remove_values(item, names) for key, item in value.items()}
    return {**cleaned, "queryString": []} if "queryString" in cleaned else cleaned  # the address again, in pieces


def _cookies(cookies: Any) -> Any:
    return [{**c, "value": REMOVED} if isinstance(c, dict) else REMOVED for c in cookies] if cookies else cookies
