"""A target as the engine sees it: hooks around each case, and traces that are fit to be written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from karat.model.suite import Case
from karat.model.trace import TEXT_CAP, Trace, TraceError
from karat.targets.base import Limits, RunContext, Target, TargetError
from karat.targets.calls import Callee, cancelled_from_outside, extend_path, failed, load
from karat.targets.config import TargetConfig
from karat.targets.limits import capped, encodable
from karat.targets.redact import Redactor
from karat.targets.threads import DaemonThreads

RESET_GRACE = 5.0
"""How long a teardown hook may take once its case was cancelled."""


class Session:
    """One target, open for any number of cases. What it gives is clean of secrets, encodable and within the caps."""

    def __init__(self, target: Target, config: TargetConfig, redactor: Redactor) -> None:
        self.config = config
        self._target = target
        self._redactor = redactor
        self._threads = DaemonThreads("karat-hook")
        self._setup: Callee | None = None
        self._teardown: Callee | None = None

    @property
    def limits(self) -> Limits:
        own, asked = self._target.limits, self.config.limits
        return Limits(_least((own.max_concurrency, asked.max_concurrency)), _least((own.per_minute, asked.per_minute)))

    @property
    def options(self) -> dict[str, Any]:
        """What this target is, as JSON without secrets: targets that may answer differently differ here."""
        cleaned: dict[str, Any] = self._redactor.json(self.config.identity)
        return cleaned

    async def open(self) -> None:
        """Get ready, or raise a ConfigError before any case is run."""
        config = self.config
        if config.setup or config.teardown:
            extend_path([*(config.root / entry for entry in config.python_path), config.root, Path.cwd()])
        if config.setup:
            self._setup = Callee(load(config.setup, config.root), f"the setup hook {config.setup!r}", "case", ("case",))
        if config.teardown:
            where = f"the teardown hook {config.teardown!r}"
            self._teardown = Callee(load(config.teardown, config.root), where, "case", ("case", "context"))
        await self._target.open()

    async def close(self) -> None:
        self._threads.close()
        await self._target.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        """The trace of a case. TargetError carries what was seen as `partial`, with the error in it."""
        try:
            if self._setup is None and self._teardown is None:
                trace = await self._target.run(case, context)
            else:
                trace = await self._between_hooks(case, context)
        except TargetError as error:
            error.message = self._redactor.text(error.message)
            error.detail = self._redactor.text(error.detail)
            seen = error.partial or context.recorder.partial(case, error.error)
            error.partial = self.finish(structs.replace(seen, error=error.error))
            raise
        return self.finish(trace)

    def partial(self, case: Case, context: RunContext, error: TraceError) -> Trace:
        """The trace of a case that the engine cut short."""
        return self.finish(context.recorder.partial(case, error))

    def finish(self, trace: Trace) -> Trace:
        """The trace as it may be written: encodable, without secrets, each text within its cap."""
        trace, encoded = encodable(trace)
        if self._redactor.finds(encoded):
            trace = self._redactor.trace(trace)
            encoded = msgspec.json.encode(trace)
        return trace if len(encoded) <= TEXT_CAP else capped(trace)

    async def _between_hooks(self, case: Case, context: RunContext) -> Trace:
        if self._setup is not None:
            context.given = await self._hook("setup-hook", self._setup, case, {"case": case})
        try:
            trace = await self._target.run(case, context)
        except asyncio.CancelledError as cancelled:
            await self._reset_cancelled(case, context, cancelled)
            raise
        except TargetError as error:
            try:
                await self._reset(case, context)
            except TargetError as second:
                error.message += f"; then {second.message}"
            raise
        try:
            await self._reset(case, context)
        except TargetError as error:
            error.partial = trace
            raise
        return trace

    async def _reset(self, case: Case, context: RunContext) -> None:
        if self._teardown is not None:
            await self._hook("teardown-hook", self._teardown, case, {"case": case, "context": context.given})

    async def _reset_cancelled(self, case: Case, context: RunContext, cancelled: asyncio.CancelledError) -> None:
        """Reset all the same, but not for ever: who cancelled is waiting."""
        try:
            async with asyncio.timeout(RESET_GRACE):
                await self._reset(case, context)
        except (TargetError, TimeoutError) as error:
            cancelled.add_note(f"after that, the teardown hook failed: {error}")

    async def _hook(self, kind: str, hook: Callee, case: Case, offered: dict[str, object]) -> Any:
        try:
            return await hook.call(case, offered, self._threads)
        except asyncio.CancelledError as error:
            if cancelled_from_outside():
                raise
            raise failed(kind, error, f"the {kind.replace('-', ' ')} raised ") from error
        except (Exception, SystemExit) as error:
            raise failed(kind, error, f"the {kind.replace('-', ' ')} raised ") from error


def _least(values: Iterable[float | int | None]) -> Any:
    return min((value for value in values if value is not None), default=None)
