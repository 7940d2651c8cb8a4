"""The protocol of a target: open, run a case, close. It gives a Trace or raises TargetError; it never judges."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from carob.errors import CarobError, ConfigError, ExitCode
from carob.evidence.recorder import Recorder
from carob.evidence.spans.trace_context import TraceContext
from carob.model.suite import Case, TurnDecision
from carob.model.trace import ScreenMap, Trace, TraceError
from carob.proxy.faults.world import CaseWorld
from carob.targets.capabilities import Limits
from carob.targets.config import TargetConfig
from carob.text.wording import error_text, join_words

DENIED = "denied"
"""The kind of error that ends a run: what is wrong is the configuration, and no other case would fare better."""


class TargetError(CarobError):
    """The agent or the way to it broke: the case is an ERROR, with whatever was seen until then.

    Kinds: `agent` it raised or exited, `bad-answer` what it gave is not an answer, `backend` the log says that the
    backend broke, `config` its options do not fit the app, `setup` a setup prompt failed, `setup-hook`, `teardown-hook`
    and `database-hook` a hook failed, `workspace` it could not be made or outgrew its limits, `timeout` a turn took too
    long, `not-recorded` a replay lacks it, `telemetry` the log could not be followed, `gone` the app or the browser
    ended, or the service cannot be reached, `not-asked` the answer of a turn to an approval fits nothing that waits for
    one, `denied` it lets no one in or is not what the configuration says, which ends the run.
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


class AgentWorkspace(Protocol):
    """Where the agent of a case works, if it has a copy of a folder for itself."""

    root: Path
    folder: Path
    home: Path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]: ...

    def argv(self, argv: Sequence[str], *, watched: bool = True) -> list[str]: ...

    def remove(self) -> None: ...

    def keep(self) -> bool: ...


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
    guard_world: Callable[[CaseWorld | None], CaseWorld] | None = None
    """Puts a guard around the world of the case; None: there is none."""
    workspace: AgentWorkspace | None = None
    """Where the agent works, if it has a copy of a folder for this run: what starts a process starts it there."""
    leftovers: list[AgentWorkspace] = field(default_factory=list)
    """Workspaces that are over, and are kept if the case does not pass."""
    on_turn: Callable[[str | None], None] | None = None
    """Hears of each turn that begins, with its prompt in a conversation."""

    @property
    def decision(self) -> TurnDecision | None:
        """What the user decides in this turn about the calls that wait for approval; None: the prompt is words."""
        return self.recorder.decision

    @property
    def call_world(self) -> CaseWorld | None:
        """What becomes of calls of tools in this process."""
        return self.world if self.guard_world is None else self.guard_world(self.world)

    @property
    def run_name(self) -> str:
        """What requests to Carob's own proxy are known by; empty if there is none."""
        return self.trace_context.conversation_id if self.trace_context.process_env else ""

    def begin_turn(self, prompt: str | None = None, decision: TurnDecision | None = None) -> None:
        """A new turn begins: what was seen of an earlier one is not part of it."""
        if self.on_turn is not None:
            self.on_turn(prompt if decision is None else "")
        self.recorder.restart(prompt, decision)
        self.trace_context.begin_turn()

    def settle_leftovers(self, case_id: str, *, passed: bool) -> None:
        """Remove the workspaces that are over, or keep those of a case that did not pass, and say where they are."""
        for workspace in self.leftovers:
            if passed or not workspace.keep():
                workspace.remove()
            else:
                self.notices.append(f"{case_id}: its workspace is kept in {workspace.root}")
        self.leftovers.clear()

    def attach(self, name: str, file: Path, *, unless_passed: bool = False) -> None:
        """Keep a file with the trace, or keep it only if the case does not pass."""
        self.attached[name] = file, unless_passed

    def keep_attached(self, *, passed: bool) -> dict[str, str]:
        """The attached files, relative to the folder that holds the journal; what a pass does not need is removed."""
        paths = {}
        for name, (file, unless_passed) in self.attached.items():
            if passed and unless_passed:
                file.unlink(missing_ok=True)
            else:
                paths[name] = f"{file.parent.name}/{file.name}"
        return paths


class Target(Protocol):
    """The agent under test, built from a TargetConfig. Cases may run side by side, each with a context of its own."""

    @property
    def limits(self) -> Limits: ...

    @property
    def options(self) -> dict[str, object]:
        """What this target is, as JSON without secrets: targets that may answer differently differ here."""

    async def open(self) -> None:
        """Get ready, or raise a ConfigError before any case is run."""

    async def run(self, case: Case, context: RunContext) -> Trace:
        """The trace of the judged turn, or of a conversation with all its turns, or TargetError.

        Whoever can send one prompt after another leaves to `converse` which. When cancelled, it leaves nothing running
        and returns soon.
        """

    async def close(self) -> None: ...


class BaseTarget(ABC):
    """A target of your own with what most need: only `run` is missing.

    Carob builds it from its table of carob.toml; in Python you can build it without one. `limits` is what it can bear;
    `options` says what it is, as JSON without secrets: it differs where answers may.
    """

    def __init__(self, config: TargetConfig | None = None) -> None:
        cls = type(self)
        self.config = config
        self.limits = Limits() if config is None else config.limits
        self.options: dict[str, object] = (
            {"use": f"python:{cls.__module__}:{cls.__qualname__}"} if config is None else config.identity
        )

    async def open(self) -> None:  # noqa: B027 - most targets have nothing to open
        """Get ready, or raise a ConfigError before any case is run."""

    @abstractmethod
    async def run(self, case: Case, context: RunContext) -> Trace:
        """The trace of the judged turn, or of a conversation with all its turns, or TargetError."""

    async def close(self) -> None:  # noqa: B027
        """Let go of what `open` took."""


def is_target(value: object) -> bool:
    """Whether this is a class of targets, complete or not: what has `run` is meant to be one."""
    return isinstance(value, type) and hasattr(value, "run")


def build_external(kind: Callable[[object], object], config: object, where: str) -> Target:
    """A target of other people's making, if it can be made and is one."""
    try:
        target = kind(config)
    except CarobError:
        raise
    except Exception as error:  # code of others may raise anything
        message = f"it cannot be made: {type(error).__name__}: {error_text(error)}."
        fix = "A target gets its configuration (`carob help extending`). If this is your agent, name a function."
        raise ConfigError(message, where=where, fix=fix) from error
    lacks = [name for name in ("open", "run", "close") if not inspect.iscoroutinefunction(getattr(target, name, None))]
    if lacks:
        fix = "If this is your agent, name a function that calls it. A target is shown in `carob help extending`."
        missing = join_words((f"`async def {name}`" for name in lacks), "and")
        raise ConfigError(f"not a target: it has no {missing}.", where=where, fix=fix)
    return cast(Target, target)


async def open_safely(target: Target, where: str) -> None:
    """Open a target of other people's making; whatever it raises becomes one line."""
    try:
        await target.open()
    except CarobError:
        raise
    except Exception as error:
        raise ConfigError(f"it cannot be opened: {type(error).__name__}: {error_text(error)}.", where=where) from error
