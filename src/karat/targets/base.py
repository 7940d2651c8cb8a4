"""The protocol of a target: open, run a case, close. It gives a Trace or raises TargetError; it never judges."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from msgspec import structs

from karat.errors import ConfigError, ExitCode, KaratError
from karat.evidence.merge import merge_turns
from karat.evidence.recorder import Recorder
from karat.evidence.spans.trace_context import TraceContext
from karat.model.suite import Case
from karat.model.trace import SCRIPT, ScreenMap, ToolCall, Trace, TraceError
from karat.proxy.faults.world import CaseWorld
from karat.targets.limits import Limits
from karat.targets.scripted_user import ScriptedUser
from karat.text.wording import error_text

DENIED = "denied"
"""The kind of error that ends a run: what is wrong is the configuration, and no other case would fare better."""


class TargetError(KaratError):
    """The agent or the way to it broke: the case is an ERROR, with whatever was seen until then.

    Kinds: `agent` it raised or exited, `bad-answer` what it gave is not an answer, `backend` the log says that the
    backend broke, `config` its options do not fit the app, `setup` a setup prompt failed, `setup-hook`, `teardown-hook`
    and `database-hook` a hook failed, `timeout` a turn took too long, `not-recorded` a replay lacks it, `telemetry` the
    log could not be followed, `gone` the app or the browser ended, or the service cannot be reached, `denied` it lets
    no one in or is not what the configuration says, which ends the run.
    """

    exit_code = ExitCode.FAILED

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        detail: str = "",
        partial: Trace | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, slug=kind)
        self.kind = kind
        self.detail = detail
        self.partial = partial
        self.retry_after = retry_after

    @property
    def error(self) -> TraceError:
        return TraceError(self.kind, self.message, self.detail)


@dataclass(slots=True)
class RunContext:
    """One run of one case in a conversation of its own: what came before it, and what is seen of it."""

    repeat: int = 0
    attempt: int = 0
    given: object = None
    """What the setup hook returned, for the agent."""
    recorder: Recorder = field(default_factory=Recorder)
    needs_teardown: tuple[Case, ...] = ()
    """Cases that were lost with their process, before they could be torn down."""
    trace_context: TraceContext = field(default_factory=TraceContext)
    """By what the agent's spans are known to be this run's; its `headers` go with every request to the agent."""
    notices: list[str] = field(default_factory=list)
    """What the one who waits for the run should know, whatever becomes of this case."""
    attachments: Path | None = None
    """The folder for files that show what happened; None: none are wanted."""
    attached: dict[str, tuple[Path, bool]] = field(default_factory=dict)
    screen: ScreenMap | None = None
    """What is where on the screenshot, where one is attached."""
    tool_schemas: dict[str, object] = field(default_factory=dict)
    """The tools that the agent is known to have, each with the JSON Schema of its arguments or None."""
    more_tools: str = ""
    """Why a call may go to a tool that is not among them; empty: there is no reason to think so."""
    lists_tools: bool = False
    """Whether the target itself lists them, before any is called: then they are all."""
    after_setup: Callable[[Trace], None] | None = None
    """Looks at the trace of each setup prompt, of which only the calls are kept; what is wrong with it, it raises."""
    after_turn: Callable[[int, Trace], Awaitable[Trace]] | None = None
    """What is still to be seen of a turn of a conversation once it is over, before the next begins."""
    next_prompt: Callable[[Trace], Awaitable[str | None]] | None = None
    """Who speaks for the user instead of the case: it is given the conversation so far, and None ends it."""

    world: CaseWorld | None = None
    """The stubs and faults of the case; None if it has none."""

    def begin_turn(self, prompt: str | None = None) -> None:
        """A new turn begins: what was seen of an earlier one is not part of it."""
        self.recorder.restart(prompt)
        self.trace_context.begin_turn()

    def attach(self, name: str, file: Path, *, unless_passed: bool = False) -> None:
        """Keep a file with the trace, or keep it only if the case does not pass."""
        self.attached[name] = file, unless_passed

    def keep_attached(self, *, passed: bool) -> dict[str, str]:
        """The attached files, relative to the folder that holds the journal; what a pass does not need is removed."""
        found = {}
        for name, (file, unless_passed) in self.attached.items():
            if passed and unless_passed:
                file.unlink(missing_ok=True)
            else:
                found[name] = f"{file.parent.name}/{file.name}"
        return found


class Target(Protocol):
    """The agent under test, built from a TargetConfig. Cases may run side by side, each with a context of its own."""

    @property
    def limits(self) -> Limits: ...

    @property
    def options(self) -> dict[str, object]:
        """What this target is, as JSON without secrets: targets that may answer differently differ here."""
        ...

    async def open(self) -> None:
        """Get ready, or raise a ConfigError before any case is run."""
        ...

    async def run(self, case: Case, context: RunContext) -> Trace:
        """The trace of the judged turn, or of a conversation with all its turns, or TargetError.

        Whoever can send one prompt after another leaves to `converse` which. When cancelled, it leaves nothing running
        and returns soon.
        """
        ...

    async def close(self) -> None: ...


def is_target(found: object) -> bool:
    """Whether this is a class of targets, complete or not: what has `run` is meant to be one."""
    return isinstance(found, type) and hasattr(found, "run")


def build_external(kind: Callable[[object], object], config: object, where: str) -> Target:
    """A target of other people's making, if it can be made and is one."""
    try:
        target = kind(config)
    except KaratError:
        raise
    except Exception as error:  # code of others may raise anything
        raise ConfigError(f"it cannot be made: {type(error).__name__}: {error_text(error)}.", where=where) from error
    lacks = [name for name in ("open", "run", "close") if not inspect.iscoroutinefunction(getattr(target, name, None))]
    if lacks:
        fix = f"Give it `async def {lacks[0]}`; docs/extending.md shows how."
        raise ConfigError(f"not a target: async {' and '.join(lacks)} is missing.", where=where, fix=fix)
    return cast(Target, target)


async def open_safely(target: Target, where: str) -> None:
    """Open a target of other people's making; whatever it raises becomes one line."""
    try:
        await target.open()
    except KaratError:
        raise
    except Exception as error:
        raise ConfigError(f"it cannot be opened: {type(error).__name__}: {error_text(error)}.", where=where) from error


def secrets_of(target: Target) -> tuple[str, ...]:
    """What a target knows that no artifact may show: its `secrets`, where it has any."""
    return tuple(getattr(target, "secrets", ()))


def version_of(target: Target) -> str:
    """What a target says of its own version, where it does."""
    return str(getattr(target, "version", "") or "")


async def converse(
    case: Case, context: RunContext, turn: Callable[[str], Awaitable[Trace]], turn_timeout: float | None
) -> Trace:
    """Say what the user of a case says, one prompt at a time, and give the trace of it.

    This is how a target plays several turns: `turn` sends one prompt within the conversation of the case and gives the
    trace of the answer to it alone, or raises TargetError. What it sees as it goes it writes into `context.recorder`,
    which is empty when it is called: if a turn is cut short, that is what is known of it. It is first called with each
    setup prompt, of which the calls are kept; then with `prompt`, or with what each turn of the case says, or with what
    the scripted user answers. The first turn that breaks ends the conversation, and those before it stay judged.
    """
    before = await _set_up(case, context, turn, turn_timeout)
    if not case.is_conversation:
        context.begin_turn()
        answer = await _wait_within(turn(case.prompt), turn_timeout)
        return structs.replace(answer, setup_calls=before) if before else answer
    user, recorder = ScriptedUser(case), context.recorder
    prompt: str | None = case.prompt
    while prompt is not None:
        context.begin_turn(prompt)
        number = len(recorder.turns) + 1
        try:
            trace = structs.replace(await _wait_within(turn(prompt), turn_timeout), input=prompt)
            if context.after_turn is not None:
                trace = await context.after_turn(number, trace)
        except TargetError as error:
            raise _error_of_turn(error, number, prompt, recorder) from error
        recorder.finish(trace)
        speak = context.next_prompt
        prompt = user.next(trace) if speak is None else await speak(merge_turns(recorder.turns))
    whole = _with_script_end(merge_turns(recorder.turns), user)
    return structs.replace(whole, setup_calls=before) if before else whole


async def _set_up(
    case: Case, context: RunContext, turn: Callable[[str], Awaitable[Trace]], turn_timeout: float | None
) -> tuple[ToolCall, ...]:
    """Send the setup prompts, and give the calls that they brought about."""
    made: list[ToolCall] = []
    if context.world is not None:
        context.world.in_setup = True
    for number, prompt in enumerate(case.setup_prompts, 1):
        context.begin_turn()
        try:
            trace = await _wait_within(turn(prompt), turn_timeout)
            if context.after_setup is not None:
                context.after_setup(trace)
            made += trace.tool_calls
        except TargetError as error:
            place = f"setup prompt {number} of {len(case.setup_prompts)}"
            kind = "timeout" if error.kind == "timeout" else "setup"  # after a time-out the agent may still be going on
            raise TargetError(
                kind, f"{place}: {error.message}", detail=error.detail, retry_after=error.retry_after
            ) from error
    if context.world is not None:
        context.world.in_setup = False
    return tuple(made)


def _error_of_turn(error: TargetError, number: int, prompt: str, recorder: Recorder) -> TargetError:
    """The error of a turn, with the conversation up to it."""
    place = f"turn {number}: "  # a recorded one names it already
    message = place + error.message.removeprefix(place)
    found = TargetError(error.kind, message, detail=error.detail, retry_after=error.retry_after)
    if error.partial is not None:
        broken = structs.replace(error.partial, input=prompt, error=found.error)
        found.partial = merge_turns([*recorder.turns, broken], found.error)
    return found


def _with_script_end(trace: Trace, user: ScriptedUser) -> Trace:
    """The trace with how a scripted user came to the end of what he says."""
    if not user.ended:
        return trace
    unused = [list(reply.asks_for) for reply in user.unused]
    if user.is_cut_off:
        trace = structs.replace(trace, ended_by="max_turns")
    script = {"ended": user.ended} | ({"never_asked_for": unused} if unused else {})
    return structs.replace(trace, metadata={**trace.metadata, SCRIPT: script})


async def _wait_within(turn: Awaitable[Trace], seconds: float | None) -> Trace:
    """The answer, if it comes in time: an agent that blocks or ignores its cancellation is late all the same."""
    if seconds is None:
        return await turn
    loop = asyncio.get_running_loop()
    end, late = loop.time() + seconds, f"the turn took longer than {seconds:g} s"
    try:
        async with asyncio.timeout_at(end):
            answer = await turn
    except TimeoutError as error:
        raise TargetError("timeout", late) from error
    except TargetError as error:
        if loop.time() < end:
            raise
        raise TargetError("timeout", late, detail=error.detail, partial=error.partial) from error
    if loop.time() >= end:
        raise TargetError("timeout", late, partial=answer)
    return answer
