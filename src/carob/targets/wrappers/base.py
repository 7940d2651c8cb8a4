"""Targets around another target: they describe themselves as it does, and complete its traces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from carob.model.suite import Case
from carob.model.trace import Trace
from carob.targets.base import RunContext, Target, TargetError
from carob.targets.capabilities import reach_of, secrets_of
from carob.targets.config import TargetConfig

Join = Callable[[Trace, bool], Awaitable[Trace]]
"""Completes a trace; the flag says whether the turn came to its end, so that it may be worth to wait for more."""

RESET_GRACE = 5.0
"""How long a teardown hook may take once its case was cancelled."""


class WrappedTarget:
    """What all of them have in common."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.limits = target.limits
        self.options = target.options
        self.secrets = secrets_of(target)
        self.reaches = reach_of(target)
        self.has_workspaces = bool(getattr(target, "has_workspaces", False))

    async def open(self) -> None:
        await self._target.open()

    async def close(self) -> None:
        await self._target.close()

    async def run_joined(self, case: Case, context: RunContext, join: Join) -> Trace:
        """Run a case, and complete whatever is seen of it: by who speaks for the user, at the end, or in an error."""
        if (speak := context.next_prompt) is not None:

            async def speak_to_joined(so_far: Trace) -> str | None:
                return await speak(await join(so_far, True))

            context.next_prompt = speak_to_joined
        try:
            return await join(await self._target.run(case, context), True)
        except TargetError as error:
            error.partial = await join(error.partial or context.recorder.partial(case, error.error), False)
            raise


class ServedTarget(WrappedTarget):
    """A target that needs the address of a server of ours: it is built again once the server listens."""

    def __init__(self, build: Callable[[TargetConfig], Target], config: TargetConfig) -> None:
        super().__init__(build(config))
        self._build = build
        self._config = config

    def start(self) -> TargetConfig:
        """Start the server; the configuration with its address in it."""
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    async def open(self) -> None:
        self._target = self._build(self.start())
        await self._target.open()

    async def close(self) -> None:
        try:
            await self._target.close()
        finally:
            self.stop()
