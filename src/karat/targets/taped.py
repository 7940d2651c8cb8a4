"""A target whose agent reaches its models and other services through a tape."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import structs

from karat.errors import ConfigError
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.targets.base import RunContext, Target, TargetError, secrets_of
from karat.targets.config import WIRE_KINDS, TargetConfig
from karat.targets.limits import Limits
from karat.targets.reach import reach_of
from karat.text.wording import counted
from karat.traces.redact import Redactor
from karat.world.player import CaseOnTape, Miss, TapePlayer
from karat.world.proxy import TapeProxy
from karat.world.requests import Leaves
from karat.world.services import variables_for
from karat.world.settings import MISS, UNUSED, TapeSettings, secrets_in
from karat.world.stdio import ADDRESS
from karat.world.tape import Tape, read_tape

OWN_PROCESS = frozenset({"command"})
"""Kinds that start a process for each case, whose environment can name the case."""
MODEL = "openai"
"""The kind that asks a model itself."""
OWN_MODEL = "model"
RECORD = "Record it with `--tape extend`, or follow the old answers with `--tape follow`"


class Taped:
    """Opens the tape before the target, which is made anew with the tape's addresses in its environment."""

    def __init__(self, make: Callable[[TargetConfig], Target], config: TargetConfig, tape: TapeSettings) -> None:
        self._make = make
        self._config = config
        self._settings = tape
        self._target = make(config)
        self._running: dict[str, CaseOnTape] = {}
        self._environ = {**os.environ, **config.env}
        self._services = tape.known_services(self._environ)
        leaves = Leaves.of(tape.ignore, str(config.file or ""))
        redactor = Redactor({*tape.secrets, *secrets_in(self._environ)})
        missing_is_fine = tape.records and not tape.path.exists()
        self._tape = Tape(path=tape.path) if missing_is_fine else read_tape(tape.path)
        self._player = TapePlayer(self._tape, tape.plays, leaves, redactor, keep_failures=tape.keep_failures)
        upstreams = {one.name: address for one, address in self._services}
        if config.kind == MODEL:
            upstreams[OWN_MODEL] = config.spec
        self._proxy = TapeProxy(self._player, upstreams, frozenset(tape.live), self._case_of)
        self._reachable()
        self.options = self._target.options
        self.secrets = secrets_of(self._target)
        self.reaches = reach_of(self._target)
        self.limits = self._narrowed(self._target.limits)

    async def open(self) -> None:
        settings = self._settings
        if not settings.records and not self._tape.exchanges:
            raise ConfigError(
                "the tape holds no request: when it was recorded, the agent sent nothing to its address.",
                where=str(settings.path),
                fix="Let the agent read its address from the environment, and record again.",
                slug="bad-tape",
            )
        self._proxy.open(settings.port, settings.token)
        spec = self._proxy.url(OWN_MODEL) if self._config.kind == MODEL else self._config.spec
        self._target = self._make(
            structs.replace(self._config, env={**self._config.env, **self._variables()}, spec=spec)
        )
        await self._target.open()

    async def close(self) -> None:
        try:
            await self._target.close()
        finally:
            self._proxy.close()
            self._player.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        context.marks.listen(case.id)
        run = context.marks.conversation_id
        context.marks.process_env |= self._variables(run)
        on_tape = self._running[run] = self._player.begin(case.id, context.repeat)
        try:
            trace = await self._target.run(case, context)
        except TargetError as error:
            if on_tape.misses:
                raise _missed(on_tape, error.partial) from error
            raise
        finally:
            del self._running[run]
        self._settle(on_tape, trace, context)
        return trace

    def _settle(self, on_tape: CaseOnTape, trace: Trace, context: RunContext) -> None:
        """Keep what was recorded. Raises TargetError if the case was not answered by the tape alone."""
        if on_tape.misses:
            raise _missed(on_tape, trace)
        if not self._settings.records and on_tape.recorded and not on_tape.asked:
            message = (
                f"the tape has {counted(len(on_tape.recorded), 'recording')} of this case, and the agent sent "
                "nothing to the tape: its answer was not replayed. Let the agent read its address from the environment"
            )
            raise TargetError(UNUSED, message, partial=trace)
        if on_tape.left and self._settings.plays != "record":
            context.notices.append(f"{on_tape.case}: {counted(len(on_tape.left), 'recording')} not used")
        if self._settings.records and not on_tape.asked:
            context.notices.append(f"{on_tape.case}: the agent sent nothing to the tape")
        self._player.end(on_tape)

    def _variables(self, run: str = "") -> dict[str, str]:
        services = [one for one, _ in self._services]
        alone = "" if self._settings.records else self._proxy.place
        found = variables_for(
            services, lambda name: self._proxy.url(name, run), proxy=alone, unproxied=self._settings.live
        )
        return found | {ADDRESS: self._proxy.url(run=run)}

    def _case_of(self, run: str) -> CaseOnTape | None:
        if run:
            return self._running.get(run)
        return next(iter(self._running.values())) if len(self._running) == 1 else None

    def _narrowed(self, limits: Limits) -> Limits:
        """One case at a time where nothing but that says whose a request is; one process where one file or port is."""
        if self._config.kind not in OWN_PROCESS:
            limits = structs.replace(limits, max_per_worker=1)
        if self._settings.records or self._settings.port:
            why = "the tape has a port of its own" if self._settings.port else "one process records the tape"
            limits = structs.replace(limits, max_workers=1, why_workers=why)
        return limits

    def _reachable(self) -> None:
        """Raise ConfigError for an agent that runs already and was not given the address of the tape."""
        started = self._config.options.get("start")
        elsewhere = self._config.kind in WIRE_KINDS - {MODEL} or self._config.kind == "browser"
        if elsewhere and not started and not self._settings.port:
            raise ConfigError(
                f"the agent of {self._config.use!r} runs already: Karat cannot point it at the tape.",
                where=str(self._config.file or ""),
                fix="Set `port` and `token` in [tape], and start the agent with the addresses that docs/tape.md shows.",
                slug="tape-unreachable",
            )


def _missed(on_tape: CaseOnTape, partial: Trace | None) -> TargetError:
    miss: Miss = on_tape.misses[0]
    message = f"{miss.cause}: request {miss.number} ({miss.request.title}) has no recording. {RECORD}"
    return TargetError(MISS, message, detail=miss.detail, partial=partial)
