"""What a person will want to see of a case: a screenshot, and unless it passes, the browser's own trace of it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import zipfile
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from karat.model.suite import Case
from karat.model.trace import REMOVED
from karat.targets.base import RunContext
from karat.targets.browser.page import ChatPage
from karat.targets.patience import within
from karat.traces.spellings import pattern

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})


class PageEvidence:
    """Kept whatever becomes of the turn."""

    def __init__(
        self,
        case: Case,
        context: RunContext,
        window: BrowserContext,
        secrets: Sequence[str],
        headers: Sequence[str],
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
        if await _taken(chat, chat.screenshot(shot)):
            self._context.attach("screenshot", shot)
            await _taken(chat, self._map(chat, shot))
        if await _taken(chat, self._record(trace)):
            self._context.attach("playwright trace", trace, unless_passed=True)

    async def _map(self, chat: ChatPage, shot: Path) -> None:
        self._context.screen = await chat.screen(shot)

    async def _record(self, file: Path) -> None:
        await self._window.tracing.stop(path=str(file))
        await asyncio.to_thread(scrub, file, self._secrets, self._headers)


async def _taken(chat: ChatPage, taking: Awaitable[None]) -> bool:
    """Whether the page gave what was asked of it in time."""
    from playwright.async_api import Error

    try:
        async with within(chat.patience):
            await taking
    except (Error, TimeoutError):
        return False
    return True


def scrub(file: Path, secrets: Sequence[str], headers: Sequence[str] = ()) -> None:
    """Take cookies, authorization headers, those named and known values out of a recorded trace, in place."""
    clean = file.with_suffix(".clean")
    names = _HEADERS.union(name.lower() for name in headers)
    known = "|".join(map(pattern, sorted(secrets, key=len, reverse=True)))
    found = re.compile(known.encode(errors="surrogatepass")) if known else None
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(clean, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith((".trace", ".network")):
                data = b"\n".join(_without_headers(line, names) for line in data.split(b"\n"))
            if found is not None:
                data = found.sub(REMOVED.encode(), data)
            new.writestr(entry.filename, data)
    shutil.move(clean, file)


def _without_headers(line: bytes, names: frozenset[str]) -> bytes:
    try:
        event = json.loads(line)
    except ValueError:
        return line
    return json.dumps(_cleaned(event, names), separators=(",", ":")).encode()


def _cleaned(value: object, names: frozenset[str]) -> object:
    if isinstance(value, list):
        return [_cleaned(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    if "value" in value and str(value.get("name", "")).lower() in names:
        return {**value, "value": REMOVED}
    kept = {key: _cookies(item) if key == "cookies" else _cleaned(item, names) for key, item in value.items()}
    return {**kept, "queryString": []} if "queryString" in kept else kept  # the address again, in pieces


def _cookies(found: Any) -> Any:
    return [{**c, "value": REMOVED} if isinstance(c, dict) else REMOVED for c in found] if found else found
