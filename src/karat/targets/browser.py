"""`browser:URL`: a live web app in a real browser, with its telemetry log.

One browser, a fresh context per case. With a telemetry log and no field that tells conversations apart, cases run one
at a time, because nobody could say whose line is whose.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import structs

from karat.errors import ConfigError
from karat.model.suite import Case
from karat.model.trace import Message, Trace
from karat.targets import chromium
from karat.targets.app_process import AppProcess
from karat.targets.base import Limits, RunContext, TargetError, converse
from karat.targets.browser_options import Options, filled
from karat.targets.browser_page import ChatPage
from karat.targets.config import TargetConfig, read_options
from karat.targets.short_form import NO_TELEMETRY, NO_TOOLS
from karat.telemetry.events import tool_calls
from karat.telemetry.jsonl_tail import CaptureBrokenError, LogSegment

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

MISSING = "pip install 'karat[browser]'"
ONE_AT_A_TIME = "its telemetry has no correlation_field, so nobody could say whose line is whose"


class BrowserTarget:
    """An app that is reached through its page."""

    def __init__(self, config: TargetConfig) -> None:
        self._config = config
        self._options = read_options(config, Options)
        self.options = config.identity
        self.limits = self._limits()
        self._app: AppProcess | None = None
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._base = ""
        self._log: Path | None = None

    def _limits(self) -> Limits:
        limits = self._config.limits
        told_apart = self._options.telemetry.correlation_field and not self._options.session
        if self._has_log and not told_apart:
            return structs.replace(limits, max_concurrency=1, why=ONE_AT_A_TIME)
        return limits

    @property
    def _has_log(self) -> bool:
        telemetry = self._options.telemetry
        return bool(self._options.telemetry_log or telemetry.log or telemetry.end_event)

    async def open(self) -> None:
        try:
            from playwright.async_api import async_playwright
        except ModuleNotFoundError as error:
            raise ConfigError("playwright is not installed.", fix=MISSING) from error
        await self._open_app()
        self._playwright = await async_playwright().start()
        executable = chromium.find(self._options.executable, self._playwright.chromium.executable_path)
        self._browser = await self._playwright.chromium.launch(executable_path=executable, args=chromium.arguments())

    async def _open_app(self) -> None:
        options = self._options
        given = options.app_url or (self._config.spec if "://" in self._config.spec else "")
        log = options.telemetry_log or options.telemetry.log
        if options.start and not options.app_url:
            self._app = AppProcess(options.start, self._config.root, {**self._config.env, **options.start_env})
            self._base = self._app.filled(given or "http://127.0.0.1:{port}")
            await self._app.start(self._base.rstrip("/") + options.health, options.start_timeout)
            log = self._app.filled(log or "{log}") if self._has_log else ""
        elif not given:
            raise ConfigError("the browser target does not know the app.", fix="Give app_url, or `start` to start it.")
        else:
            self._base = given
        self._log = (self._config.root / log) if log else None

    async def close(self) -> None:
        if self._browser is not None:
            await self._browser.close()
        if self._playwright is not None:
            await self._playwright.stop()
        if self._app is not None:
            await self._app.stop()

    async def run(self, case: Case, context: RunContext) -> Trace:
        from playwright.async_api import Error

        assert self._browser is not None
        session = self._options.session or f"karat-{uuid4().hex}"
        try:
            window = await self._window()
            try:
                return await self._conversation(case, context, window, session)
            finally:
                await window.close()
        except Error as error:
            raise TargetError("agent", self._explained(error)) from error

    async def _window(self) -> BrowserContext:
        assert self._browser is not None
        options = self._options
        width, height = options.viewport
        window = await self._browser.new_context(
            viewport={"width": width, "height": height},
            extra_http_headers=filled(options.headers),
            reduced_motion="reduce",
        )
        window.set_default_timeout(options.wait_ms)
        cookies = filled(options.cookies)
        await window.add_cookies([{"name": n, "value": v, "url": self._base} for n, v in cookies.items()])
        return window

    async def _conversation(self, case: Case, context: RunContext, window: BrowserContext, session: str) -> Trace:
        evidence = Evidence(case, context, window, screenshots=self._options.screenshots)
        await evidence.start()
        chat = ChatPage(await window.new_page(), self._options, self._base, session)
        await chat.reach()
        try:
            return await converse(
                case, context, lambda p: self._turn(case, context, chat, session, p), self._turn_limit
            )
        finally:
            await evidence.keep(chat)

    @property
    def _turn_limit(self) -> float | None:
        return self._config.turn_timeout

    async def _turn(self, case: Case, context: RunContext, chat: ChatPage, session: str, prompt: str) -> Trace:
        recorder = context.recorder
        recorder.page_before = await chat.snapshot()
        segment = LogSegment(self._log) if self._log is not None else None
        started_at, began = time.time(), time.perf_counter()
        try:
            answer = await chat.ask(prompt)
            recorder.final_message = answer
            recorder.page = await chat.snapshot()
            lines = await self._captured(segment, session) if segment is not None else None
        finally:
            if segment is not None:
                segment.close()
        return Trace(
            case_id=case.id,
            input=case.prompt,
            final_message=answer,
            messages=(Message("user", prompt), Message("assistant", answer)),
            tool_calls=tool_calls(tuple(lines or ())),
            telemetry=tuple(lines or ()),
            page=recorder.page,
            page_before=recorder.page_before,
            unobserved={} if lines is not None else {"tools": NO_TOOLS, "telemetry": NO_TELEMETRY},
            started_at=started_at,
            duration_ms=round((time.perf_counter() - began) * 1000, 3),
        )

    async def _captured(self, segment: LogSegment, session: str) -> list[str]:
        telemetry = self._options.telemetry
        mine = _has(telemetry.correlation_field, session) if telemetry.correlation_field else lambda line: True
        ends = _is_event(telemetry.end_source, telemetry.end_event) if telemetry.end_event else None
        try:
            return await segment.finish(ends, mine, telemetry.wait_ms / 1000)
        except CaptureBrokenError as error:
            raise TargetError("telemetry", f"telemetry capture is broken: {error}") from error

    def _explained(self, error: Exception) -> str:
        first = str(error).split("\n", 1)[0]
        if self._app is not None and not self._app.alive:
            return f"the app ended: {self._app.printed()}"
        return first


class Evidence:
    """What a person will want to see of a case: a screenshot, and unless it passes, the browser's own trace."""

    def __init__(self, case: Case, context: RunContext, window: BrowserContext, *, screenshots: bool) -> None:
        self._context = context
        self._window = window
        self._folder = context.attachments if screenshots else None
        self._stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in case.id)[:60] + f"-{uuid4().hex[:6]}"

    async def start(self) -> None:
        if self._folder is not None:
            await self._window.tracing.start(screenshots=True, snapshots=True)

    async def keep(self, chat: ChatPage) -> None:
        """Whatever became of the turn; a page that is gone has nothing to show."""
        from playwright.async_api import Error

        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        shot, trace = self._folder / f"{self._stem}.png", self._folder / f"{self._stem}.trace.zip"
        try:
            await chat.screenshot(str(shot))
            self._context.attach("screenshot", shot)
            await self._window.tracing.stop(path=str(trace))
            self._context.attach("playwright trace", trace, unless_passed=True)
        except Error:
            return


def _has(field: str, value: str) -> Callable[[str], bool]:
    return lambda line: value in line and _object(line).get(field) == value


def _is_event(source: str, event: str) -> Callable[[str], bool]:
    def fits(line: str) -> bool:
        found = _object(line)
        return bool(found.get("event") == event and (not source or found.get("source") == source))

    return fits


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
