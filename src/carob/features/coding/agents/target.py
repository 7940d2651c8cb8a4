"""`claude-code:`, `codex:`, `gemini:`, `opencode:`, `mini-swe-agent:` – a coding agent in a workspace of its own.

After the colon may be a model. The program is called once for a case, without a person to ask; what it did is read
from its own log. What keeps it from working is an ERROR that says what helps, and never a verdict on the agent.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from time import perf_counter, time
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from carob.errors import ConfigError
from carob.evidence.exports.record import RecordedConversation
from carob.features.coding.agents.catalog import PROGRAMS
from carob.features.coding.agents.program import RETRIES, AgentRun
from carob.model.suite import Case
from carob.model.trace import Message, Trace
from carob.redaction.key_names import is_secret_variable
from carob.targets.base import RunContext, TargetError
from carob.targets.child_process import STDOUT_CAP, Child, ExitStatus
from carob.targets.config import TargetConfig, place_of, read_options
from carob.targets.user_code import DaemonThreads

VERSION_SECONDS: Final = 60.0
LAST_WORDS: Final = 600
NO_LOG: Final = "`log` is not among the `evidence` of the target"
NOT_TRIED: Final = (
    "{0} {1} is not the version that its log was tried with, which is {2}: check the calls of a case that you know"
)
ONE_PROMPT: Final = (
    "a preset of a coding agent takes one prompt: the case has {}. Use the first prompt alone, or `replay:`"
)


class _Options(Struct, forbid_unknown_fields=True):
    program: str | None = None
    """Where the program is, if it is not on PATH."""
    arguments: tuple[str, ...] = ()
    """More arguments for its call."""


class CodingAgentTarget:
    """The program of a coding agent, one process per case."""

    has_workspaces = True

    def __init__(self, config: TargetConfig) -> None:
        self._agent = PROGRAMS[config.kind]()
        self.limits = config.limits
        self.options = config.identity
        self._version = ""
        self._config = config
        self._options = read_options(config, _Options)
        self._passed_on = {
            name: value
            for name, value in os.environ.items()
            if any(fnmatchcase(name, pattern) for pattern in self._agent.passed_on)
        }
        given = {**self._passed_on, **config.env}
        self.secrets = tuple(value for name, value in given.items() if is_secret_variable(name) and value)
        self._program = ""
        self._notice = ""
        self._threads = DaemonThreads("carob-coding-agent")

    async def open(self) -> None:
        agent, path = self._agent, {**os.environ, **self._config.env}.get("PATH")
        if self._config.workspace is None:
            message = f"{agent.name} works on files, and the target has no workspace."
            fix = 'Name the folder that each case gets a copy of: workspace = "fixtures/calc"'
            if self._config.file is None:
                fix += f", in a table of carob.toml: [targets.NAME] with use = {self._config.use!r}"
            raise ConfigError(message, where=place_of(self._config, "use"), fix=f"{fix}.", slug="no-workspace")
        name = self._options.program or agent.program
        program = shutil.which(str(self._config.root / name) if "/" in name else name, path=path)
        if program is None:
            message = f"{name!r}, the program of {agent.name}, is not there."
            fix = f"{agent.install}, or say where it is: options = {{ program = '…' }}."
            raise ConfigError(message, where=place_of(self._config, "use"), fix=fix, slug="no-agent")
        self._program = os.path.abspath(program)
        if agent.asks_version:
            self._note_version(await self._threads.call(self._ask_version))

    async def close(self) -> None:
        self._threads.close()

    def _ask_version(self) -> str:
        """The version, as the program says it; the empty string if it does not."""
        try:
            done = subprocess.run(
                [self._program, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=VERSION_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        words = done.stdout.decode("utf-8", "replace").replace("(", " ").split()
        return next((word for word in words if word[:1].isdigit()), "")

    def _note_version(self, version: str) -> None:
        self._version = version
        if version and not f"{version}.".startswith(f"{self._agent.tried}."):
            self._notice = NOT_TRIED.format(self._agent.name, version, self._agent.tried)

    async def run(self, case: Case, context: RunContext) -> Trace:
        if case.is_conversation or case.setup_prompts:
            raise TargetError("config", ONE_PROMPT.format("several turns" if case.is_conversation else "setup prompts"))
        place = context.workspace
        if place is None:
            raise TargetError("config", "the case has no workspace")
        context.begin_turn()
        given = {**self._passed_on, **self._config.env, **context.trace_context.for_process()}
        run = AgentRun(case.prompt, self._config.spec or self._agent.default_model, place.folder, place.home, given)
        self._agent.prepare(run)
        argv = [self._program, *self._agent.arguments(run), *self._options.arguments]
        environment = place.environment({**given, **self._agent.variables(run)})
        stdin = case.prompt.encode() if self._agent.reads_stdin else b""
        child = Child(place.argv(argv), place.folder, environment, stdin)
        output = _Output(self._agent.is_stuck, child.stop)
        began, started_at = perf_counter(), time()
        ended = await self._start(child, output)
        log = await self._threads.call(partial(self._agent.read_log, run, output.rows))
        trace = self._read(case, log, ended, output)
        if self._notice:
            context.notices.append(self._notice)
            self._notice = ""
        return structs.replace(trace, started_at=started_at, duration_ms=round((perf_counter() - began) * 1000, 3))

    async def _start(self, child: Child, output: _Output) -> ExitStatus:
        """Run the program to its end; whatever happens, it does not outlive this."""
        running = asyncio.ensure_future(self._threads.call(partial(child.run, output.line)))
        budget = self._config.turn_timeout
        try:
            async with asyncio.timeout(budget):
                return await asyncio.shield(running)
        except (TimeoutError, asyncio.CancelledError) as error:
            child.stop()
            await asyncio.wait({running})
            if isinstance(error, TimeoutError):
                raise TargetError("timeout", f"the agent took longer than {budget:g} s") from error
            raise
        except OSError as error:
            raise TargetError("agent", f"{self._program} could not be started: {error}") from error

    def _read(self, case: Case, log: RecordedConversation | None, ended: ExitStatus, output: _Output) -> Trace:
        """The trace of a program that came to its end; else TargetError, with what is known of why."""
        if log is not None and not self._agent.asks_version:
            self._note_version(log.version)
        trace = None if log is None else self._as_answer(case, log)
        if output.why_stuck:
            message = f"{self._agent.program} cannot reach its model and goes on trying: {output.why_stuck}"
            raise TargetError("agent", message, detail=ended.stderr.strip(), partial=trace)
        error = None if log is None else log.trace.error
        if trace is not None and error is None and ended.returncode == 0:
            return trace
        if ended.overflowed:
            raise TargetError(
                "bad-answer", f"{self._agent.program} wrote more than {STDOUT_CAP:,} bytes", partial=trace
            )
        said = f"{error.message if error is not None else ''}\n{output.last_words}\n{ended.stderr}"
        if error is not None:
            problem = error.message
        elif ended.returncode:
            how = f"exit status {ended.returncode}" if ended.returncode > 0 else f"signal {-ended.returncode}"
            problem = f"{self._agent.program} ended with {how}"
        else:
            problem = f"{self._agent.program} left no log of what it did"
        fix = self._agent.find_fix(said)
        message = f"{problem.rstrip('.')}. {fix}" if fix else problem
        detail = ended.stderr.strip() or output.last_words
        raise TargetError("agent", message, detail=detail, partial=trace)

    def _as_answer(self, case: Case, log: RecordedConversation) -> Trace:
        """What the log holds, as the answer to the prompt of the case."""
        trace = log.trace
        unobserved = {channel: why for channel, why in trace.unobserved.items() if channel != "input"}
        calls = trace.tool_calls
        if "log" not in self._config.evidence:
            calls, unobserved = (), {**unobserved, "tools": NO_LOG}
        said = tuple(message for message in trace.messages if message.role != "user")
        return structs.replace(
            trace,
            case_id=case.id,
            input=case.prompt,
            messages=(Message("user", case.prompt), *said),
            tool_calls=calls,
            unobserved=unobserved,
            metadata={**trace.metadata, "agent_version": self._version or log.version},
            error=None,
            turns=(),
        )


class _Output:
    """What the program writes to its output: objects, one per line, and words."""

    def __init__(self, is_stuck: Callable[[Mapping[str, Any]], bool], stop: Callable[[], None]) -> None:
        self.rows: list[Mapping[str, Any]] = []
        self.last_words = ""
        self.why_stuck = ""
        self._is_stuck = is_stuck
        self._stop = stop
        self._waits = 0

    def line(self, data: bytes) -> None:
        try:
            row = msgspec.json.decode(data) if data.lstrip()[:1] == b"{" else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            row = None
        if isinstance(row, Mapping):
            self.rows.append(row)
            self._waits = self._waits + 1 if self._is_stuck(row) else 0
            if self._waits > RETRIES and not self.why_stuck:
                self.why_stuck = str(row.get("message"))
                self._stop()
        elif data.strip():
            self.last_words = f"{self.last_words}\n{data.decode('utf-8', 'replace')}"[-LAST_WORDS:]
