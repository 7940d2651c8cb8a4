"""`python:module:function`: an agent that is a Python function, sync or async.

It is called with the prompt. By name it may ask for more: `case`, `conversation` (a `Conversation`: messages so far,
`state`, `tool_call(...)`, `event(...)`) and `context` (what the setup hook returned). It returns the final message as
text, a dict in the short form, a Trace, or what `Runner.run` of the OpenAI Agents SDK gives; anything else is an error
of kind `bad-answer`.

A class with `open`, `run` and `close` is a target itself, made with the TargetConfig.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, time
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, TypeVar, get_args

import msgspec
from msgspec import structs

from carob.errors import ConfigError
from carob.evidence.short_form import NO_TELEMETRY, NO_TOOLS, ShortCall, event_lines, read, tool_call
from carob.evidence.spans.trace_context import TraceContext, enter_turn
from carob.journal.limits import check_trace
from carob.model.suite import Case
from carob.model.trace import Channel, Message, Trace
from carob.plugins.code import load
from carob.targets.base import DENIED, RunContext, Target, TargetError, build_external, is_target, open_safely
from carob.targets.capabilities import TOOLS, WHERE, hit_by, reach_of
from carob.targets.config import TargetConfig, no_options
from carob.targets.conversation import converse, to_trace
from carob.targets.in_process.cases import RunningCase
from carob.targets.user_code import Callee, DaemonThreads, Environment, build_error, from_outside
from carob.text.clean import text
from carob.text.wording import did_you_mean

if TYPE_CHECKING:
    from carob.targets.in_process.agents_sdk import SdkRuns

RETURNS = 'Return the text, or {"final_message": "...", "tool_calls": [{"name": "...", "arguments": {}}]}'
T = TypeVar("T")


class Conversation:
    """One per run of a case: setup prompts and the prompt share it, and nothing else does."""

    __slots__ = ("_recorder", "_running", "_trace_context", "messages", "state")

    def __init__(self, running: RunningCase, trace_context: TraceContext) -> None:
        self.messages: list[Message] = []
        """What was said before the current prompt."""
        self.state: dict[str, object] = {}
        self._running = running
        self._recorder = running.recorder
        self._trace_context = trace_context

    @property
    def id(self) -> str:
        """A name that no other conversation ever has, for agents that keep threads."""
        return self._trace_context.conversation_id

    @property
    def headers(self) -> dict[str, str]:
        """`traceparent` and `baggage` of the turn: a request that carries them is known to be this case's."""
        return self._trace_context.headers

    def tool_call(self, name: str, **fields: object) -> None:
        """Tell of a tool call as it happens; the keys are those of the short form. It survives a time-out."""
        self._recorder.tool_call(tool_call(msgspec.convert({"name": name, **fields}, ShortCall)))

    def tool(self, function: T, name: str = "") -> T:
        """The function as a tool, of whatever kind it is: its calls are recorded, and stubs and faults can hit it.

        A call that the agent also reports itself, by `tool_call` or in its answer, is one call.
        """
        from carob.targets.in_process.functions import Door, wrap_function  # few agents hand their tools over

        return wrap_function(function, name, Door(self._running, lambda _: self._running))

    def event(self, event: str | dict[str, object]) -> None:
        """Tell of a telemetry event as it happens: an object, or a raw line."""
        for line in event_lines(event):
            self._recorder.event(line)


OFFERED = ("case", "conversation", "context")
TOOL_METHOD = "tool"
_INSTALLED = frozenset({"site-packages", "dist-packages"})
TEXT_ONLY = {"tools": NO_TOOLS, "telemetry": NO_TELEMETRY}


class PythonTarget:
    """An agent in this process."""

    reaches = TOOLS

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self.options = config.identity
        self._config = config
        self._threads = DaemonThreads("carob-agent")
        self._callee: Callee | None = None
        self._own: Target | None = None
        self._environment = Environment(config.env)
        self._handed = False
        self._is_wrapping = False

    async def open(self) -> None:
        config = self._config
        self._environment.set()
        function = load(config.spec, config.root, config.import_path)
        if is_target(function):
            self._own = build_external(function, config, repr(config.spec))
            await open_safely(self._own, repr(config.spec))
            self._start_wrapping()
            return
        no_options(config)
        callee = Callee(function, repr(config.spec), "prompt", OFFERED)
        if not callee.takes_first and "case" not in callee.takes:
            raise ConfigError(f"{config.spec!r} does not take the prompt.", fix="Give it a parameter `prompt`.")
        self._callee = callee
        self._start_wrapping()

    def _start_wrapping(self) -> None:
        from carob.proxy.stdio import ADDRESS  # the process that plans a run opens no target
        from carob.targets.in_process.wrapping import WRAPPING

        WRAPPING.open(has_proxy=ADDRESS in self._config.env)
        self._is_wrapping = True

    async def close(self) -> None:
        if self._is_wrapping:
            from carob.targets.in_process.wrapping import WRAPPING

            WRAPPING.close()
        if self._own is not None:
            await self._own.close()
        self._threads.close()
        self._environment.restore()

    async def run(self, case: Case, context: RunContext) -> Trace:
        if self._own is not None:
            if beyond := hit_by(case).keys() - reach_of(self._own):
                kinds = " and ".join(f"{hits}s" for hits in sorted(beyond))
                raise TargetError(DENIED, f"Carob cannot reach the {kinds} of {self._config.spec!r}. {WHERE}")
            with RunningCase(context.recorder, None, context.run_name):
                trace = await self._own.run(case, context)
            return trace if trace.turns else context.recorder.with_ran_calls(trace)
        running = RunningCase(context.recorder, context.call_world, context.run_name)
        conversation = Conversation(running, context.trace_context)
        offered = {"case": case, "conversation": conversation, "context": context.given}

        runs: SdkRuns | None = None

        async def turn(prompt: str) -> Trace:
            nonlocal runs
            if runs is None and context.decision is not None:
                runs = _sdk_runs()
            enter_turn(context.trace_context)
            began, started_at = perf_counter(), time()
            given = prompt if runs is None else runs.build_input(prompt, context.decision)
            answer = await self._call(given, offered)
            took = (perf_counter() - began) * 1000
            if is_sdk_run(answer):
                runs = runs or _sdk_runs()
                read = runs.read(answer, case)
            else:
                read = self._read(answer, case, context)
            trace = context.recorder.with_ran_calls(read)
            if trace.duration_ms is None:
                trace = structs.replace(trace, started_at=started_at, duration_ms=round(took, 3))
            conversation.messages += [Message("user", prompt)] if context.decision is None else []
            conversation.messages.append(Message("assistant", trace.final_message))
            return trace

        if context.world is not None:
            from carob.targets.in_process.reach import require_tools

            require_tools(context.world, elsewhere=self._hands_over())
        with running:
            return await converse(case, context, turn, self._config.turn_timeout, takes_decisions=True)

    def _read(self, answer: object, case: Case, context: RunContext) -> Trace:
        """The turn as what the agent gave shows it."""
        return _trace(answer, case, context)

    def _hands_over(self) -> bool:
        """Whether the agent gives its tools to Carob itself."""
        callee = self._callee
        if not self._handed and callee is not None and "conversation" in callee.takes:
            self._handed = hands_over_tools(callee.function, self._config.root)
        return self._handed

    async def _call(self, prompt: object, offered: dict[str, object]) -> object:
        if self._callee is None:
            raise RuntimeError("the target is not open")
        task = asyncio.current_task()
        try:
            return await self._callee.call(prompt, offered, self._threads)
        except TargetError:
            raise
        except BaseException as error:
            if from_outside(error, task, in_thread=not self._callee.is_async):
                raise
            raise build_error("agent", error) from error


def is_sdk_run(answer: object) -> bool:
    """Whether a value is what `Runner.run` of OpenAI's Agents SDK gives."""
    run_class = getattr(sys.modules.get("agents.result"), "RunResultBase", None)
    return isinstance(run_class, type) and isinstance(answer, run_class)


def _sdk_runs() -> SdkRuns:
    from carob.targets.in_process.agents_sdk import SdkRuns  # it loads what reads models, which few agents need

    return SdkRuns()


def _trace(answer: object, case: Case, context: RunContext) -> Trace:
    recorder = context.recorder
    if isinstance(answer, str):
        if recorder.tool_calls is None and recorder.telemetry is None:
            return Trace(case_id=case.id, input=case.prompt, final_message=text(answer), unobserved=TEXT_ONLY)
        answer = {"final_message": text(answer)}
    try:
        if isinstance(answer, dict):
            return to_trace(read(answer), case, recorder=recorder)
        if isinstance(answer, Trace):
            return _check_trace(answer, case)
    except ValueError as error:
        message = f"the agent's {type(answer).__name__} is not a trace: {error}"
        raise TargetError("bad-answer", message if "Did you mean" in message else f"{message} {RETURNS}") from error
    description = "None" if answer is None else f"a value of type {type(answer).__name__}"
    raise TargetError("bad-answer", f"the agent returned {description}, not text, a dict or a Trace. {RETURNS}")


def _check_trace(trace: Trace, case: Case) -> Trace:
    """A Trace made by the agent: structs do not check their fields when they are made, so this does."""
    if trace.case_id not in ("", case.id):
        raise ValueError(f"it is for case {trace.case_id!r}, not {case.id!r}")
    trace = check_trace(structs.replace(trace, case_id=case.id, input=trace.input or case.prompt))
    channels = get_args(Channel)
    for channel in sorted((trace.unobserved.keys() | trace.cuts.keys()) - set(channels)):
        raise ValueError(f"there is no channel {channel!r}. {did_you_mean(channel, channels)}".rstrip())
    if trace.error is not None:
        broke = trace.error
        raise TargetError(broke.kind, broke.message, detail=broke.detail, partial=trace, retry_after=broke.retry_after)
    return trace


class FunctionTarget(PythonTarget):
    """An agent that is at hand as a function; it is called as `python:` calls one."""

    def __init__(self, function: Callable[..., object]) -> None:
        name = f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"
        super().__init__(TargetConfig(kind="python", spec=name))
        self._function = function

    async def open(self) -> None:
        self._callee = Callee(self._function, repr(self._config.spec), "prompt", OFFERED)
        self._start_wrapping()


def hands_over_tools(function: Callable[..., object], root: Path) -> bool:
    """Whether a function of the agent's own modules names the method: those below its folder, and its own module."""
    agent = sys.modules.get(getattr(function, "__module__", ""))
    folder = os.path.join(root.resolve(), "")
    modules = [module for module in list(sys.modules.values()) if module is agent or _is_below(module, folder)]
    values = [function, type(function), *(value for module in modules for value in list(vars(module).values()))]
    return any(TOOL_METHOD in code.co_names for value in values for code in _codes(value))


def _is_below(module: ModuleType, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(folder) and _INSTALLED.isdisjoint(Path(file).parts)


def _codes(value: object) -> Iterator[CodeType]:
    """The code of a function, or of the methods of a class, with what is defined within it."""
    for member in list(vars(value).values()) if inspect.isclass(value) else [value]:
        code = getattr(inspect.unwrap(member), "__code__", None) if inspect.isroutine(member) else None
        if isinstance(code, CodeType):
            yield from _nested_codes(code)


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested_codes(constant)
