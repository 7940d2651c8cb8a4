"""A target whose agent reaches its models and other services through the proxy: for a tape, evidence, or faults."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from msgspec import structs

from karat.errors import ConfigError
from karat.evidence.models.traffic import ModelTraffic
from karat.journal.redaction import Redactor
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.proxy.address import ADDRESS, announce
from karat.proxy.server import ServiceProxy
from karat.proxy.services import variables_for
from karat.proxy.serving import CaseSession
from karat.proxy.tape.file import Tape, read_tape
from karat.proxy.tape.player import CaseOnTape, Miss, TapePlayer
from karat.proxy.tape.requests import IgnoreRules
from karat.proxy.tape.settings import MISS, UNREACHABLE, UNUSED, TapeSettings, secrets_in
from karat.targets.base import RunContext, Target, TargetError, secrets_of
from karat.targets.config import WIRE_KINDS, TargetConfig
from karat.targets.limits import Limits
from karat.targets.model_evidence import ModelEvidence
from karat.targets.otlp.options import Models
from karat.targets.reach import ALL, TOOLS, reach_of
from karat.text.wording import pluralize

OWN_PROCESS = frozenset({"command"})
"""Kinds that start a process for each case, whose environment can name the case."""
MODEL = "openai"
"""The kind that asks a model itself."""
OWN_MODEL = "model"
BROWSER = "browser"
"""The kind that may start its app."""
START_ENV = "start_env"
START = "Let Karat start it (`start`), or set"
RECORD = "Record it with `--tape extend`, or follow the old answers with `--tape follow`"
ONE_BY_ONE = "otherwise it is unknown which case a request to a model or service belongs to"
LAST_WORDS = 2.0
"""Seconds in which a stream may end whose last event the agent has: what comes of it then is part of the case."""
POLL = 0.005


class Proxied:
    """Opens the proxy before the target, which is made anew with the proxy's addresses in its environment."""

    def __init__(
        self,
        make: Callable[[TargetConfig], Target],
        config: TargetConfig,
        tape: TapeSettings | None,
        models: Models | None,
    ) -> None:
        self._make = make
        self._config = config
        self._settings = tape or TapeSettings()
        self._target = make(config)
        self._running: dict[str, CaseSession] = {}
        self._announced: Path | None = None
        given = config.options.get(START_ENV)
        self._environ = {**os.environ, **config.env, **(given if isinstance(given, dict) else {})}
        self._services = self._settings.known_services(self._environ)
        self._player = self._tape_player()
        self._evidence = None if models is None else ModelEvidence(config, models)
        upstreams = {one.name: address for one, address in self._services}
        if config.kind == MODEL:
            upstreams[OWN_MODEL] = config.spec
        self._proxy = ServiceProxy(self._player, upstreams, frozenset(self._settings.live), self._run_of)
        self._reachable()
        self.options = self._target.options
        self.secrets = secrets_of(self._target)
        self._serves_tools = bool(self._settings.services or self._settings.stdio)
        self.reaches = reach_of(self._target) | (ALL if self._serves_tools else ALL - TOOLS)
        self.limits = self._narrow(self._target.limits)

    def _tape_player(self) -> TapePlayer | None:
        settings = self._settings
        if settings.plays is None:
            return None
        ignore_rules = IgnoreRules.of(settings.ignore, str(self._config.file or ""))
        redactor = Redactor({*settings.secrets, *secrets_in(self._environ)})
        is_new = settings.records and not settings.path.exists()
        tape = Tape(path=settings.path) if is_new else read_tape(settings.path)
        return TapePlayer(tape, settings.plays, ignore_rules, redactor, keep_failures=settings.keep_failures)

    async def open(self) -> None:
        settings, player = self._settings, self._player
        if player is not None and not settings.records and not player.tape.exchanges:
            raise ConfigError(
                "the tape contains no request: when it was recorded, the agent sent nothing to its address.",
                where=str(settings.path),
                fix="Let the agent read its address from the environment, and record again.",
                slug="bad-tape",
            )
        if player is not None:
            player.open()
        self._proxy.open(settings.port, settings.token)
        self._announced = announce(self._proxy.url(), os.environ)
        spec = self._proxy.url(OWN_MODEL) if self._config.kind == MODEL else self._config.spec
        variables, options = self._variables(), self._config.options
        if isinstance(given := options.get(START_ENV), dict):  # what it names comes before `env`
            options = {**options, START_ENV: {**given, **variables}}
        env = {**self._config.env, **variables}
        self._target = self._make(structs.replace(self._config, env=env, spec=spec, options=options))
        await self._target.open()

    async def close(self) -> None:
        try:
            await self._target.close()
        finally:
            self._proxy.close()
            if self._announced is not None:
                self._announced.unlink(missing_ok=True)
            if self._player is not None:
                self._player.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        context.trace_context.listen(case.id)
        name = context.trace_context.conversation_id
        context.trace_context.process_env |= self._variables(name)
        if context.world is not None and self._serves_tools:
            context.world.by_proxy = True
        run = self._running[name] = CaseSession(
            None if self._player is None else self._player.begin(case.id, context.repeat),
            None if self._evidence is None else ModelTraffic(frozenset(self._settings.services)),
            context.world,
        )
        if (speak := context.next_prompt) is not None:

            async def speak_to_joined(so_far: Trace) -> str | None:
                return await speak(await self._join(so_far, run, case, context))

            context.next_prompt = speak_to_joined
        try:
            trace = await self._join(await self._target.run(case, context), run, case, context)
        except TargetError as error:
            if self._evidence is not None and run.traffic is not None:
                partial = error.partial or context.recorder.partial(case, error.error)
                error.partial = self._evidence.join(partial, run.traffic, case, context)
            if run.on_tape is not None and run.on_tape.misses:
                raise _miss_error(run.on_tape, error.partial) from error
            raise
        finally:
            run.over.set()
            del self._running[name]
        if run.on_tape is not None and self._player is not None:
            self._settle(self._player, run.on_tape, trace, context)
        if self._evidence is not None and run.traffic is not None:
            context.notices += self._evidence.news(self._proxy.place)
            self._evidence.refuse_broken(trace, run.traffic, case, context)
        return trace

    async def _join(self, trace: Trace, run: CaseSession, case: Case, context: RunContext) -> Trace:
        """The trace with what its traffic with models shows, once the last reply has come to its end."""
        end = monotonic() + LAST_WORDS
        while run.is_busy and monotonic() < end:
            await asyncio.sleep(POLL)
        if self._evidence is None or run.traffic is None:
            return trace
        return self._evidence.join(trace, run.traffic, case, context)

    def _settle(self, player: TapePlayer, on_tape: CaseOnTape, trace: Trace, context: RunContext) -> None:
        """Keep what was recorded. Raises TargetError if the case was not answered by the tape alone."""
        if on_tape.misses:
            raise _miss_error(on_tape, trace)
        # What a fault answers instead of a service is not asked of the tape.
        broken = context.world is not None and any(one.hits != "tool" for one in context.world.altered)
        is_silent = not on_tape.asked and not broken
        if not self._settings.records and on_tape.recorded and is_silent:
            message = (
                f"the tape has {pluralize(len(on_tape.recorded), 'recording')} of this case, and the agent sent "
                "nothing to the tape: its answer was not replayed. Let the agent read its address from the environment"
            )
            raise TargetError(UNUSED, message, partial=trace)
        if on_tape.left and self._settings.plays != "record":
            context.notices.append(f"{on_tape.case}: {pluralize(len(on_tape.left), 'recording')} not used")
        if self._settings.records and is_silent:
            context.notices.append(f"{on_tape.case}: the agent sent nothing to the tape")
        player.end(on_tape)

    def _variables(self, run: str = "") -> dict[str, str]:
        services = [one for one, _ in self._services]
        alone = "" if self._player is None or self._settings.records else self._proxy.place
        found = variables_for(
            services, lambda name: self._proxy.url(name, run), proxy=alone, unproxied=self._settings.live
        )
        return found | {ADDRESS: self._proxy.url(run=run)}

    def _run_of(self, name: str) -> CaseSession | None:
        if name:
            return self._running.get(name)
        return next(iter(self._running.values())) if len(self._running) == 1 else None

    def _narrow(self, limits: Limits) -> Limits:
        """One case at a time where nothing but that says whose a request is; one process where one file or port is."""
        if self._config.kind not in OWN_PROCESS:
            limits = structs.replace(limits, max_per_worker=1, why=limits.why or ONE_BY_ONE)
        if self._settings.records or self._settings.port:
            why = "the tape uses a fixed port" if self._settings.port else "one process records the tape"
            limits = structs.replace(limits, max_workers=1, why_workers=why)
        return limits

    def _reachable(self) -> None:
        """Raise ConfigError for an agent that runs already and was not given the address of the proxy."""
        started = self._config.options.get("start")
        elsewhere = self._config.kind in WIRE_KINDS - {MODEL} or self._config.kind == BROWSER
        if elsewhere and not started and not self._settings.port:
            what = "the tape" if self._player is not None else "the proxy, which faults and telemetry of models need"
            raise ConfigError(
                f"the agent of {self._config.use!r} is already running: Karat cannot point it at {what}.",
                where=str(self._config.file or ""),
                fix=f"{START if self._config.kind == BROWSER else 'Set'} `port` and `token` in [tape], and start the "
                "agent with the addresses that docs/tape.md shows.",
                slug=UNREACHABLE,
            )


def _miss_error(on_tape: CaseOnTape, partial: Trace | None) -> TargetError:
    miss: Miss = on_tape.misses[0]
    message = f"{miss.cause}: request {miss.number} ({miss.request.title}) has no recording. {RECORD}"
    return TargetError(MISS, message, detail=miss.detail, partial=partial)
