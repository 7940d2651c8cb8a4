r"""`command:./agent --flag`: an agent that is a program, in any language. One process per case.

The command is split as a shell would split it, but no shell runs it. It is started in the directory of the
configuration file, or the current one, and gets one JSON object on stdin, and then the end of the input:

    {"case_id": "refund-1", "setup_prompts": ["..."], "prompt": "...", "metadata": {...}, "context": ...}

`context` is what the setup hook returned; `setup_prompts`, `metadata` and `context` are left out when empty.
The program answers on stdout with one JSON object per line:

    {"type": "tool_call", "name": "lookup", "arguments": {...}, "result": {...}, "success": true}
    {"type": "message", "role": "assistant", "content": "..."}
    {"type": "telemetry", "event": {...}}       the event as an object, or as "line": "..." as written
    {"final_message": "..."}                    the answer, with any other key of the short form

Events are optional and may come at any time of their turn; a case that is cut short keeps them. A list in the answer
(`tool_calls`, `telemetry`, `messages`) replaces the events of that sort. An agent that calls no tool says so
with `"tool_calls": []`; otherwise its tool calls count as not observed. There is one answer per prompt, in order: one
for each setup prompt, with the events of its turn before it, and then the one that is judged. `{"error": "..."}`
instead of `final_message` says that the turn failed.

For a case of several turns the object holds `"conversation": true`, the first prompt and no `setup_prompts`. Once the
program has answered, it gets the next prompt on a line of its own, `{"prompt": "..."}`, and so on; the input ends after
the last answer. Setup prompts come first, in the same way. `turn_timeout` then counts for each turn.

With `lines = true`, one process has all cases, one after the other, and starts anew only after one that it did not
answer (`command_lines.py`).

Other lines are taken for logs. No answer, too few or too many answers, an exit status other than 0, or death by a
signal make the case an ERROR with the end of stderr. On a time-out the process group gets SIGTERM and, a second later,
SIGKILL; processes that outlive the command are killed too. `turn_timeout` counts for all turns together.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from time import perf_counter, time

import msgspec
from msgspec import Struct, structs

from carob.errors import ConfigError
from carob.evidence import short_form
from carob.evidence.spans.trace_context import RESOURCE
from carob.model.suite import Case
from carob.model.trace import Message, Trace
from carob.targets.base import RunContext, TargetError
from carob.targets.child_process import STDOUT_CAP, Child, ExitStatus
from carob.targets.command_lines import IN_TURN, LastingProcess, Processes
from carob.targets.config import TargetConfig, read_options
from carob.targets.conversation import converse, failure_of, to_trace
from carob.targets.user_code import DaemonThreads
from carob.text.clean import jsonable, loads

LOG_CAP = 300
RECORDERS = "CAROB_RECORDERS"
"""The variable by which a program in JavaScript finds what makes a trace of what an agent gives."""
RECORDERS_AT = Path(__file__).with_name("node").joinpath("recorders.js").as_uri()
KINDS = ("tool_call", "message", "telemetry")
MORE_ANSWERS = "the command wrote more lines with `final_message` than it got prompts"
ALIKE = 0.85
"""A type so like one of ours is a slip; any other line is a log."""


class _Telemetry(Struct, forbid_unknown_fields=True, kw_only=True):
    event: dict[str, object] | None = None
    line: str | None = None


class CommandOptions(Struct, forbid_unknown_fields=True):
    """Options of `command:`."""

    lines: bool = False
    """Whether the process stays for all cases: it gets each prompt as a line, and answers with one."""


class CommandTarget:
    """An agent in a process of its own."""

    has_workspaces = True

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self._processes = Processes() if read_options(config, CommandOptions).lines else None
        if self._processes is not None:
            most = config.limits.max_concurrency or 1
            self.limits = structs.replace(config.limits, max_concurrency=most, max_workers=1, why=IN_TURN)
        self.options = config.identity
        self._config = config
        self._argv: list[str] = []
        self._threads = DaemonThreads("carob-command")

    async def open(self) -> None:
        try:
            argv = shlex.split(self._config.spec)
        except ValueError as error:
            raise ConfigError(f"the command {self._config.spec!r} cannot be split: {error}.") from error
        if not argv:
            raise ConfigError("the command is empty.", fix="Write it as 'command:./agent --flag'.")
        self._argv = [self._executable(argv[0]), *argv[1:]]

    async def close(self) -> None:
        if self._processes is not None:
            await self._processes.close()
        self._threads.close()

    async def run(self, case: Case, context: RunContext) -> Trace:
        if self._processes is not None:
            return await self._run_in_turn(self._processes, case, context)
        if case.is_conversation:
            return await self._converse(case, context)
        answers = _Answers(case, context)
        context.begin_turn()
        child = self._child(context, _request(case, context))
        running = asyncio.ensure_future(self._threads.call(partial(child.run, answers.line)))
        began, started_at = perf_counter(), time()
        budget = self._config.turn_timeout
        try:
            async with asyncio.timeout(budget and budget * (1 + len(case.setup_prompts))):
                ended: ExitStatus = await asyncio.shield(running)
        except (TimeoutError, asyncio.CancelledError) as error:
            child.stop()
            await asyncio.wait({running})
            if isinstance(error, TimeoutError):
                raise TargetError("timeout", f"the turn took longer than {budget:g} s") from error
            raise
        except OSError as error:
            raise TargetError("agent", f"the command could not be started: {error}") from error
        trace = answers.trace(ended)
        took = (perf_counter() - began) * 1000
        return structs.replace(trace, started_at=started_at, duration_ms=trace.duration_ms or round(took, 3))

    async def _converse(self, case: Case, context: RunContext) -> Trace:
        """Several turns with one process."""
        child = self._child(context, spoken_to=True)
        talk = _Talk(case, context, child.send)
        running = asyncio.ensure_future(self._threads.call(partial(child.run, talk.line)))
        running.add_done_callback(talk.over)
        try:
            trace = await converse(case, context, talk.turn, self._config.turn_timeout)
            child.send(None)
            _, going_on = await asyncio.wait({running}, timeout=self._config.turn_timeout)
            if going_on:
                raise TargetError("timeout", "the command did not exit after its last answer", partial=trace)
        finally:
            child.stop()
            await asyncio.wait({running})
        return talk.finish(trace)

    async def _run_in_turn(self, processes: Processes, case: Case, context: RunContext) -> Trace:
        """One conversation with a process that may have had others; one that has spans or files of its own is new."""
        is_shared = context.workspace is None and not context.trace_context.listening
        process = processes.take() if is_shared else None
        process = process or LastingProcess(self._child(context, spoken_to=True), self._threads)
        talk = _Talk(case, context, process.send, process.numbers)
        process.begin(talk)
        try:
            return talk.check(await converse(case, context, talk.turn, self._config.turn_timeout))
        finally:
            if is_shared and talk.is_settled:
                processes.give_back(process)
            else:
                await process.stop()

    def _child(self, context: RunContext, stdin: bytes = b"", *, spoken_to: bool = False) -> Child:
        """The process of a case: in its workspace, or in the folder of the configuration."""
        environment, workspace = self._environment(context), context.workspace
        if workspace is None:
            return Child(self._argv, self._config.root, environment, stdin, spoken_to=spoken_to)
        return Child(workspace.argv(self._argv), workspace.folder, environment, stdin, spoken_to=spoken_to)

    def _environment(self, context: RunContext) -> dict[str, str]:
        """The environment, with the trace context by which the process says whose spans it makes."""
        workspace, own = context.workspace, self._config.env
        env = {**os.environ, **own} if workspace is None else workspace.environment(own)
        env = {RECORDERS: RECORDERS_AT, **env} if self._processes is not None else env
        trace_env = context.trace_context.for_process()
        if trace_env and (resource := env.get(RESOURCE)):
            trace_env[RESOURCE] = f"{resource},{trace_env[RESOURCE]}"
        return env | trace_env

    def _executable(self, name: str) -> str:
        path = str(self._config.root / name) if "/" in name else name
        executable = shutil.which(path, path={**os.environ, **self._config.env}.get("PATH"))
        if executable is None:
            problem = "is not executable" if "/" in name and os.path.exists(path) else "is not found"
            message = f"the command {path!r} {problem}."
            raise ConfigError(message, fix="Check the path, and `chmod +x` it if it is a script.")
        return os.path.abspath(executable) if "/" in name else executable


class _Answers:
    """What a process writes, line by line, as the turns of a conversation."""

    def __init__(self, case: Case, context: RunContext) -> None:
        self._case = case
        self._recorder = context.recorder
        self._trace_context = context.trace_context
        self._answered = 0
        self._short: short_form.Short | None = None
        self._flaw: TargetError | None = None
        self._log = ""

    def line(self, data: bytes) -> None:
        """Take one line. A flaw is kept for the end: the process is drained whatever it writes."""
        if self._flaw is not None or not data.strip():
            return
        try:
            value = loads(data)
        except ValueError:
            value = None
        try:
            if not (isinstance(value, dict) and self._take(value)):
                self._log = self._log or data[:LOG_CAP].decode("utf-8", "replace")
        except TargetError as error:
            self._flaw = error
        except ValueError as error:
            self._flaw = TargetError("bad-answer", f"the command wrote a line that cannot be read: {error}")

    def trace(self, ended: ExitStatus) -> Trace:
        """The judged answer, or why there is none."""
        broken = self._exit_error(ended) or self._flaw or self._count_error()
        trace = None
        if self._short is not None:
            try:
                trace = to_trace(self._short, self._case, recorder=self._recorder)
            except TargetError as error:
                broken = broken or error
        if broken is None and trace is not None:
            return trace
        broken = broken or TargetError("bad-answer", "the command wrote no answer")
        broken.detail = broken.detail or ended.stderr
        broken.partial = broken.partial or trace
        raise broken

    def _take(self, value: dict[str, object]) -> bool:
        """Whether the object is part of the protocol; if so, it is recorded."""
        kind = value.get("type")
        fields = {key: item for key, item in value.items() if key != "type"}
        if kind == "tool_call":
            self._recorder.tool_call(short_form.read_short_call(fields))
        elif kind == "message":
            message = short_form.convert(fields, short_form.ShortMessage)
            self._recorder.messages.append(Message(message.role, message.content or "", message.name))
        elif kind == "telemetry":
            event = short_form.convert(fields, _Telemetry)
            for entry in (event.event, event.line):
                for line in () if entry is None else short_form.event_lines(entry):
                    self._recorder.event(line)
        elif "final_message" in value or (
            "error" in value and value.keys() <= set(short_form.Short.__struct_encode_fields__)
        ):
            self._answer(short_form.read(value))
        elif isinstance(kind, str) and (near := get_close_matches(kind, KINDS, n=1, cutoff=ALIKE)):
            raise ValueError(f"unknown type {kind!r}. Did you mean {near[0]!r}?")
        else:
            return False
        return True

    def _answer(self, short: short_form.Short) -> None:
        setups = len(self._case.setup_prompts)
        self._answered += 1
        if self._answered > setups:
            self._short = short
            self._recorder.final_message = short.final_message or ""
            return
        if short.error is not None:
            failure = failure_of(short.error)
            message = f"setup prompt {self._answered} of {setups}: {failure.message}"
            raise TargetError("setup", message, detail=failure.detail, retry_after=failure.retry_after)
        self._recorder.restart()
        self._trace_context.begin_turn()

    def _exit_error(self, ended: ExitStatus) -> TargetError | None:
        kind = "setup" if self._answered < len(self._case.setup_prompts) else "agent"
        if ended.overflowed:
            return TargetError("bad-answer", f"the command wrote more than {STDOUT_CAP:,} bytes")
        if ended.returncode < 0:
            return TargetError(kind, f"the command was killed by {_signal(-ended.returncode)}")
        if ended.returncode > 0:
            return TargetError(kind, f"the command ended with exit status {ended.returncode}")
        return None

    def _count_error(self) -> TargetError | None:
        expected = 1 + len(self._case.setup_prompts)
        if self._answered == expected:
            return None
        is_silent = not self._answered
        log_note = f"; it wrote: {self._log}" if self._log and is_silent else ""
        fix = '; print the answer as a line of JSON: {"final_message": "..."}' if is_silent else ""
        return TargetError(
            "bad-answer",
            f"the command wrote {self._answered} lines with `final_message`, not one for each of {expected} "
            f"prompt{'s' if expected > 1 else ''}{log_note}{fix}",
        )


class _Talk(_Answers):
    """A process that gets one prompt after the other, each once it has answered the one before.

    `numbers`: it has other conversations too, so each prompt has a number, and says which conversation it is of.
    """

    def __init__(
        self, case: Case, context: RunContext, send: Callable[[bytes], None], numbers: Iterator[int] | None = None
    ) -> None:
        super().__init__(case, context)
        self._send = send
        name = True if numbers is None else context.trace_context.conversation_id
        self._first = {"case_id": case.id, "conversation": name, "metadata": case.metadata, "context": context.given}
        self._name, self._numbers = name, numbers
        self._asked, self._heard = 0, 0
        self.is_settled = True
        """Whether the process has answered all that it was asked, and nothing more."""
        self._loop = asyncio.get_running_loop()
        self._inbox: asyncio.Queue[short_form.Short | TargetError | ExitStatus] = asyncio.Queue()

    def line(self, data: bytes) -> None:
        sound = self._flaw is None
        super().line(data)
        if sound and self._flaw is not None:
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, self._flaw)

    def _answer(self, short: short_form.Short) -> None:
        self._loop.call_soon_threadsafe(self._inbox.put_nowait, short)

    def _take(self, value: dict[str, object]) -> bool:
        """A second answer to a prompt is a log; one to a prompt that was not sent is an error."""
        number = value.get("id") if self._numbers is not None and "type" not in value else None
        if number is None:
            return super()._take(value)
        if isinstance(number, int) and number <= self._heard:
            return False
        self._heard = self._asked
        if number != self._asked:
            raise TargetError("bad-answer", f"the command answered prompt {number!r} when it was asked {self._asked}")
        return super()._take({key: item for key, item in value.items() if key != "id"})

    def check(self, trace: Trace) -> Trace:
        """The trace, unless the process has written more than it was asked for, or has ended badly."""
        return trace if self._inbox.empty() else self.finish(trace)

    def over(self, running: asyncio.Future[ExitStatus]) -> None:
        """The process has ended, or could not be started."""
        error = running.exception()
        started = TargetError("agent", f"the command could not be started: {error}")
        self._inbox.put_nowait(running.result() if error is None else started)

    async def turn(self, prompt: str) -> Trace:
        """Say one thing; the trace of the answer to it."""
        request: dict[str, object] = {"prompt": prompt}
        if self._numbers is not None:
            self._asked = next(self._numbers)
            self._heard = self._asked - 1
            request = {"id": self._asked, "conversation": self._name, **request}
        self._send(_encode({**request, **self._first}))
        self._first, self.is_settled = {}, False
        began, started_at = perf_counter(), time()
        answer = await self._inbox.get()
        if not isinstance(answer, short_form.Short):
            raise self._end_error(answer)
        self.is_settled = self._inbox.empty()
        took = round((perf_counter() - began) * 1000, 3)
        trace = to_trace(answer, self._case, recorder=self._recorder)
        return structs.replace(trace, started_at=started_at, duration_ms=trace.duration_ms or took)

    def finish(self, trace: Trace) -> Trace:
        """The conversation, if the process came to a good end after it."""
        end = self._inbox.get_nowait()
        if isinstance(end, ExitStatus) and not self._exit_error(end):
            return trace
        broke = TargetError("bad-answer", MORE_ANSWERS) if isinstance(end, short_form.Short) else self._end_error(end)
        broke.partial = trace
        raise broke

    def _end_error(self, end: TargetError | ExitStatus) -> TargetError:
        if isinstance(end, TargetError):
            return end
        log_note = f"; it wrote: {self._log}" if self._log else ""
        broke = self._exit_error(end) or TargetError("agent", f"the command ended before it answered{log_note}")
        broke.detail = end.stderr
        return broke


def _request(case: Case, context: RunContext) -> bytes:
    prompts = {"case_id": case.id, "setup_prompts": list(case.setup_prompts), "prompt": case.prompt}
    return _encode({**prompts, "metadata": case.metadata, "context": context.given})


def _encode(request: Mapping[str, object]) -> bytes:
    fields = {
        key: value for key, value in request.items() if key in ("case_id", "prompt") or value not in (None, [], {})
    }
    return msgspec.json.encode(jsonable(fields)) + b"\n"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
