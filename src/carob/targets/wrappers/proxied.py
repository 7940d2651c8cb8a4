"""A target whose agent reaches models, MCP servers and other services through the proxy: tape, evidence, faults."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from time import monotonic

from msgspec import structs

from carob.errors import ConfigError
from carob.evidence.merge import TurnEvidence, answers_by_turn, merge_by_turn, merge_calls, merge_evidence
from carob.evidence.model_evidence import read_traffic, why_model_failed
from carob.evidence.model_traffic import ModelExchange, ModelTraffic
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.proxy.server import CaseSession, ServiceProxy
from carob.proxy.stdio import ADDRESS, announce
from carob.proxy.tape.file import Tape, read_tape
from carob.proxy.tape.player import CaseOnTape, TapePlayer
from carob.proxy.tape.requests import IgnoreRules
from carob.proxy.tape.secrets import SecretKeeper
from carob.proxy.tape.settings import MISS, UNREACHABLE, UNUSED, TapeSettings, variables_for
from carob.proxy.upstream import Upstream
from carob.redaction.key_names import secrets_of_environ
from carob.system.loopback_auth import UNKNOWN_RUN
from carob.targets.base import RunContext, Target, TargetError
from carob.targets.capabilities import ALL, TOOLS, Limits
from carob.targets.config import WIRE_KINDS, TargetConfig, place_of
from carob.targets.wrappers.base import ServedTarget
from carob.targets.wrappers.mcp_evidence import McpEvidence
from carob.targets.wrappers.telemetry import Models, fill_address
from carob.text.wording import pluralize, shorten, visible


class ModelEvidence:
    """Reads the traffic of each run of a case; what was seen in one case may explain another."""

    def __init__(self, config: TargetConfig, models: Models) -> None:
        self._config = config
        self._models = models
        self._structured = False
        self._silent = True
        self._reported = False

    def join(self, trace: Trace, traffic: ModelTraffic, case: Case, context: RunContext) -> Trace:
        """The trace, and each of its turns, with what the traffic shows."""
        turns = self._by_turn(traffic, case, context)
        answers = answers_by_turn(trace, len(turns))
        evidence = [read_traffic(traffic, *pair) for pair in zip(turns, answers, strict=True)]
        self._structured = self._structured or any(of_turn.structured for of_turn in evidence)
        self._silent = self._silent and not traffic.exchanges
        context.recorder.plugins |= traffic.plugins
        context.tool_schemas = {**traffic.schemas, **context.tool_schemas}
        judged = len(trace.turns) or 1
        setup_calls = [call for of_turn in evidence[:-judged] for call in of_turn.calls if call.called]
        merged = merge_by_turn(trace, evidence[-judged:], self._merge)
        if not setup_calls:
            return merged
        return structs.replace(merged, setup_calls=tuple(merge_calls(merged.setup_calls, setup_calls)))

    def refuse_broken(self, trace: Trace, traffic: ModelTraffic, case: Case, context: RunContext) -> None:
        """Raise TargetError if the model service failed last: the answer proves nothing about the agent.

        Where the case asks for faults, what the agent makes of them is what is judged.
        """
        failure = "" if case.faults else why_model_failed(self._by_turn(traffic, case, context)[-1])
        if failure:
            message = f"the last request to the model failed: {visible(shorten(failure, 200))}"
            raise TargetError("backend", message, partial=trace)

    def news(self, address: str) -> list[str]:
        """What is to be reported once: that the agent sends nothing."""
        if not self._silent or self._reported:
            return []
        self._reported = True
        where = place_of(self._config, "telemetry") or f"[targets.{self._config.name or self._config.use}.telemetry]"
        cause = f"no request to a model has reached {address}: does the agent read its address from the environment"
        return [f"{where}: {cause} (OPENAI_BASE_URL and the others that `carob help tape` lists)?"]

    def _merge(self, turn: Trace, evidence: TurnEvidence) -> Trace:
        return merge_evidence(turn, evidence, vouched=self._models.complete, structured=self._structured)

    def _by_turn(self, traffic: ModelTraffic, case: Case, context: RunContext) -> list[list[ModelExchange]]:
        """The exchanges of each turn, those of setup prompts first."""
        starts = [turn.began for turn in context.trace_context.turns]
        turns: list[list[ModelExchange]] = [[] for _ in starts] or [[]]
        prompts = (*case.setup_prompts, case.prompt) if case.setup_prompts and not case.is_conversation else ()
        for exchange in list(traffic.exchanges):
            by_time = max((index for index, start in enumerate(starts) if start <= exchange.began), default=0)
            # A program that has all prompts may be ahead of what was read of its answers.
            matches = [index for index, prompt in enumerate(prompts[: len(turns)]) if prompt in exchange.prompt]
            matches = [index for index in matches if prompts[index] == exchange.prompt] or matches
            turns[matches[0] if len(matches) == 1 else by_time].append(exchange)
        return turns


OWN_PROCESS = frozenset({"command"})
"""Kinds that start a process for each case, whose environment can name the case."""
MODEL = "openai"
"""The kind that asks a model itself."""
OWN_MODEL = "model"
MCP_PLACEHOLDER = "{mcp}"
MCP_ENVIRONMENT = "CAROB_MCP_URL"
BROWSER = "browser"
"""The kind that may start its app."""
START_ENV = "start_env"
START = "Let Carob start it (`start`), or set"
ONE_BY_ONE = "otherwise it is unknown which case a request to a model or service belongs to"
UNOWNED_REQUEST = (
    "a request to a model came from a thread whose case is unknown, so it may be a late one of an earlier case, and "
    "calls may be missing: send it from a ThreadPoolExecutor or from an asyncio task"
)
LAST_WORDS = 2.0
"""Seconds in which a stream may end whose last event the agent has: what comes of it then is part of the case."""
POLL = 0.005


class WithProxy(ServedTarget):
    """Intercepts what the agent sends to its services, or to its MCP server alone."""

    def __init__(
        self,
        build: Callable[[TargetConfig], Target],
        config: TargetConfig,
        tape: TapeSettings | None,
        models: Models | None,
    ) -> None:
        super().__init__(build, config)
        self._settings = settings = tape or TapeSettings()
        self._sessions: dict[str, CaseSession] = {}
        self._begun = 0
        self._are_named = False
        """Whether requests name the run of a case that they are of."""
        self._announced: Path | None = None
        self._intercepts = models is not None or settings.needs_proxy
        start_env = config.options.get(START_ENV)
        self._environ = {**os.environ, **config.env, **(start_env if isinstance(start_env, dict) else {})}
        self._services = settings.known_services(self._environ) if self._intercepts else ()
        self._player = self._build_player()
        upstreams: dict[str, Upstream | str] = {
            service.name: Upstream(address, service.name, self._environ, strip=service.strip)
            for service, address in self._services
        }
        if config.kind == MODEL:
            upstreams[OWN_MODEL] = Upstream(config.spec, OWN_MODEL, self._environ)
        live = frozenset(settings.live)
        self._proxy = ServiceProxy(self._player, upstreams, live, self._find_session, config.mcp_record)
        self._models = None if models is None else ModelEvidence(config, models)
        self._mcp = McpEvidence(self._proxy.mcp, config) if config.mcp_record else None
        self._serves_tools = bool(settings.services or settings.stdio)
        if self._intercepts:
            self._refuse_running_agent()
            self.reaches |= ALL if self._serves_tools else ALL - TOOLS
            self.limits = self._narrow(self.limits)

    def _build_player(self) -> TapePlayer | None:
        settings = self._settings
        if settings.plays is None:
            return None
        ignore_rules = IgnoreRules.of(settings.ignore, str(self._config.file or ""))
        secrets = SecretKeeper({*settings.secrets, *secrets_of_environ(self._environ)})
        is_new = settings.records and not settings.path.exists()
        tape = Tape(path=settings.path) if is_new else read_tape(settings.path)
        return TapePlayer(tape, settings.plays, ignore_rules, secrets, keep_failures=settings.keep_failures)

    def start(self) -> TargetConfig:
        settings, player, config = self._settings, self._player, self._config
        if player is not None and not settings.records and not player.tape.exchanges:
            message = "the tape contains no request: when it was recorded, the agent sent nothing to its address."
            fix = "Let the agent read its address from the environment, and record again."
            raise ConfigError(message, where=str(settings.path), fix=fix, slug="bad-tape")
        if player is not None:
            player.open()
        self._proxy.open(settings.port, settings.token)
        if self._mcp is not None:
            url = self._proxy.mcp_url()
            config = self._config = fill_address(config, MCP_PLACEHOLDER, url, {MCP_ENVIRONMENT: url})
        if not self._intercepts:
            return config
        self._announced = announce(self._proxy.url(), os.environ)
        variables, options = self._variables(), config.options
        if isinstance(start_env := options.get(START_ENV), dict):  # what it names comes before `env`
            options = {**options, START_ENV: {**start_env, **variables}}
        spec = self._proxy.url(OWN_MODEL) if config.kind == MODEL else config.spec
        return structs.replace(config, env={**config.env, **variables}, spec=spec, options=options)

    def stop(self) -> None:
        self._proxy.close()
        if self._announced is not None:
            self._announced.unlink(missing_ok=True)
        if self._player is not None:
            self._player.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        context.trace_context.listen(case.id)
        name = context.trace_context.conversation_id
        context.trace_context.process_env |= self._variables(name) | self._mcp_variables(name)
        if context.world is not None and self._serves_tools:
            context.world.by_proxy = True
        self._begun += 1
        session = self._sessions[name] = CaseSession(
            None if self._player is None else self._player.begin(case.id, context.repeat),
            None if self._models is None else ModelTraffic(frozenset(self._settings.services)),
            context.world,
        )
        try:
            trace = await self._run_session(case, context, session)
        except TargetError as error:
            if session.on_tape is not None and session.on_tape.misses:
                raise _miss_error(session.on_tape, error.partial) from error
            raise
        finally:
            session.over.set()
            del self._sessions[name]
        if session.on_tape is not None and self._player is not None:
            self._settle(self._player, session.on_tape, trace, context)
        if self._models is not None and session.traffic is not None:
            context.notices += self._models.news(self._proxy.address)
            self._models.refuse_broken(trace, session.traffic, case, context)
        return trace

    async def _run_session(self, case: Case, context: RunContext, session: CaseSession) -> Trace:
        """The trace with what its traffic shows, once the last reply has come to its end."""
        with nullcontext(0.0) if self._mcp is None else self._mcp.running(context) as since:

            async def join(trace: Trace, ended: bool) -> Trace:
                end = monotonic() + (LAST_WORDS if ended else 0)
                while session.is_busy and monotonic() < end:
                    await asyncio.sleep(POLL)
                if self._models is not None and session.traffic is not None:
                    trace = self._models.join(trace, session.traffic, case, context)
                return trace if self._mcp is None else self._mcp.join(trace, context, since)

            return await self.run_joined(case, context, join)

    def _settle(self, player: TapePlayer, on_tape: CaseOnTape, trace: Trace, context: RunContext) -> None:
        """Keep what was recorded. Raises TargetError if the case was not answered by the tape alone."""
        if on_tape.misses:
            raise _miss_error(on_tape, trace)
        # What a fault answers instead of a service is not asked of the tape.
        altered = context.world is not None and any(call.hits != "tool" for call in context.world.altered)
        is_silent = not on_tape.requests and not altered
        if player.was_recorded(on_tape) and is_silent:
            what = "what is on the tape stays" if self._settings.records else "its answer was not replayed"
            message = (
                f"the tape has recordings of this case, and the agent sent nothing to the tape: {what}. "
                "Let the agent read its address from the environment"
            )
            raise TargetError(UNUSED, message, partial=trace)
        if on_tape.unused and self._settings.plays != "record":
            context.notices.append(f"{on_tape.case}: {pluralize(len(on_tape.unused), 'recording')} not used")
        if self._settings.records and is_silent:
            context.notices.append(f"{on_tape.case}: the agent sent nothing to the tape")
        if why := player.end(on_tape):
            context.notices.append(f"{on_tape.case}: not recorded: {why} (`keep_failures` in [tape] keeps failures)")

    def _mcp_variables(self, run: str) -> dict[str, str]:
        """The variables that hold the address of the MCP server, with the one for this run of a case."""
        if self._mcp is None:
            return {}
        shared, run_url = self._proxy.mcp_url(), self._proxy.mcp_url(run)
        return {name: value.replace(shared, run_url) for name, value in self._config.env.items() if shared in value}

    def _variables(self, run: str = "") -> dict[str, str]:
        if not self._intercepts:
            return {}
        services = [service for service, _ in self._services]
        replay_only = "" if self._player is None or self._settings.records else self._proxy.address
        variables = variables_for(
            services, lambda name: self._proxy.url(name, run), proxy=replay_only, unproxied=self._settings.live
        )
        return variables | self._settings.placeholders(self._environ) | {ADDRESS: self._proxy.url(run=run)}

    def _find_session(self, name: str) -> CaseSession | None:
        if name:
            self._are_named = True
        if name not in ("", UNKNOWN_RUN):
            return self._sessions.get(name)
        session = next(iter(self._sessions.values())) if len(self._sessions) == 1 else None
        if session is not None and session.traffic is not None and self._are_named and self._begun > 1:
            session.traffic.unowned = UNOWNED_REQUEST
            return None if session.on_tape is None else session
        return session

    def _narrow(self, limits: Limits) -> Limits:
        """One case at a time where nothing but that says whose a request is; one process where one file or port is."""
        if self._config.kind not in OWN_PROCESS:
            limits = structs.replace(limits, max_per_worker=1, why=limits.why or ONE_BY_ONE)
        if self._settings.records or self._settings.port:
            why = "the tape uses a fixed port" if self._settings.port else "one process records the tape"
            limits = structs.replace(limits, max_workers=1, why_workers=why)
        return limits

    def _refuse_running_agent(self) -> None:
        """Raise ConfigError for an agent that runs already and was not given the address of the proxy."""
        is_started = self._config.options.get("start")
        elsewhere = self._config.kind in WIRE_KINDS - {MODEL} or self._config.kind == BROWSER
        if elsewhere and not is_started and not self._settings.port:
            proxy = "the tape" if self._player is not None else "the proxy, which faults and telemetry of models need"
            raise ConfigError(
                f"the agent of {self._config.use!r} is already running: Carob cannot point it at {proxy}.",
                where=str(self._config.file or ""),
                fix=f"{START} `port` and `token` in [tape], and start the "
                "agent with the addresses that `carob help tape` shows.",
                slug=UNREACHABLE,
            )


def _miss_error(on_tape: CaseOnTape, partial: Trace | None) -> TargetError:
    miss = on_tape.misses[0]
    message = f"{miss.cause}: request {miss.number} ({miss.request.title}) has no recording. {miss.advice}"
    return TargetError(MISS, message, detail=miss.detail, partial=partial)
