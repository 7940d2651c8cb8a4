"""The agent under test as a fixture: a conversation that a Python test holds, turn by turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from msgspec import structs

from carob.engine.case_runner import DEFAULT_TIMEOUT
from carob.engine.request import ResolvedTarget, RunRequest
from carob.errors import CarobError, UsageError
from carob.journal.limits import cap_trace
from carob.model.suite import Case, Turn
from carob.model.trace import Trace
from carob.plugins.project import find_project
from carob.proxy.faults.world import CaseWorld
from carob.redaction.redactor import Redactor
from carob.suites.fault_keys import add_target_surroundings
from carob.targets.base import RunContext, TargetError
from carob.targets.capabilities import refuse_unreachable, secrets_of
from carob.targets.config import read_config
from carob.text.wording import error_text
from carob_pytest.state import GRACE, BackgroundLoop, SessionState, settle_target

_AGENTS: pytest.StashKey[dict[tuple[int, str], OpenAgent]] = pytest.StashKey()
"""The agents that are open, by the id of what the fixture gave and the configuration."""


class AgentConversation:
    """A conversation with the agent. Each turn is a `Trace`: its words are `final_message`, its calls `tool_calls`."""

    def __init__(self, name: str, agent: OpenAgent) -> None:
        self._name = name
        self._agent = agent
        self._prompts: asyncio.Queue[str | None] = asyncio.Queue()
        self._answer: asyncio.Future[Trace] | None = None
        self._run: asyncio.Task[Trace] | None = None
        self._turn = asyncio.Lock()
        self._over = ""
        """Why nothing more can be said."""
        self.turns: tuple[Trace, ...] = ()
        """The turns so far, each with those before it."""

    async def ask(self, prompt: str) -> Trace:
        """Say something to the agent, and wait for its answer: the turn, with what was called in it."""
        __tracebackhide__ = True  # pytest shows the line that asks, not this one
        try:
            return await self._agent.loop.start(self._ask(prompt))
        except CarobError as error:
            raise error.with_traceback(None) from None

    def ask_sync(self, prompt: str) -> Trace:
        """As `ask`, for tests that are not asynchronous."""
        __tracebackhide__ = True
        try:
            return self._agent.loop.wait(self._ask(prompt))
        except CarobError as error:
            raise error.with_traceback(None) from None

    async def _ask(self, prompt: str) -> Trace:
        async with self._turn:  # a conversation has one turn at a time: who asks next is answered next
            try:
                return await self._take_turn(prompt)
            except TargetError as error:
                self._over = self._over or error.message
                raise

    async def _take_turn(self, prompt: str) -> Trace:
        if self._over:
            message = f"the conversation ended in turn {len(self.turns) + 1}: {self._over}."
            raise UsageError(message, fix="Begin another one: each test has its own.", slug="no-conversation")
        if self._run is not None and self._run.done():
            message = "the conversation is over: the target answers only one prompt."
            raise UsageError(message, fix="See `converse` in `carob help extending`.", slug="no-conversation")
        answer = self._answer = asyncio.get_running_loop().create_future()
        if self._run is None:
            case = self._agent.surround(Case(id=self._name, prompt=prompt, checks=(), turns=(Turn(prompt),)))
            context = RunContext(next_prompt=self._on_turn, world=CaseWorld.of(case))
            self._run = asyncio.create_task(self._agent.target.run(case, context))
        else:
            self._prompts.put_nowait(prompt)
        await asyncio.wait({answer, self._run}, timeout=self._agent.timeout, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return self._add_turn(answer.result())
        if not self._run.done():
            self._run.cancel()
            raise TargetError("timeout", f"the agent took longer than {self._agent.timeout:g} s")
        try:
            return self._add_turn(self._run.result())
        except TargetError:
            raise
        except Exception as error:
            raise TargetError("agent", f"{type(error).__name__}: {error_text(error)}") from error

    async def _on_turn(self, so_far: Trace) -> str | None:
        """Hand a turn to the test, and wait for what it says next."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(so_far)
        return await self._prompts.get()

    def _add_turn(self, so_far: Trace) -> Trace:
        turn = so_far.turns[-1] if so_far.turns else so_far
        turn = self._agent.without_secrets(structs.replace(turn, earlier=self.turns, setup_calls=so_far.setup_calls))
        self.turns = (*self.turns, turn)
        return turn

    async def end(self) -> None:
        """End the conversation, and whatever of it still goes on."""
        if self._run is None:
            return
        self._prompts.put_nowait(None)
        await asyncio.wait({self._run}, timeout=0 if self._answer and not self._answer.done() else GRACE)
        self._run.cancel()
        with suppress(Exception, asyncio.CancelledError):
            await self._run


class OpenAgent:
    """A target that is open in this process, for all tests that talk to it."""

    def __init__(self, resolved: ResolvedTarget, loop: BackgroundLoop, timeout: float, redactor: Redactor) -> None:
        self.target = resolved.target
        self._resolved = resolved
        self.loop = loop
        self.timeout = timeout
        self._redactor = redactor
        self.fixture_value: object = None
        """What the target was made of. It is held here because its id must not become that of another object."""

    def surround(self, case: Case) -> Case:
        """The case with the stubs and faults of the target, which no conversation is without."""
        case = add_target_surroundings(case, self._resolved.identity)
        refuse_unreachable([case], self.target, self._resolved.name)
        return case

    def without_secrets(self, trace: Trace) -> Trace:
        return self._redactor.trace(cap_trace(trace))


@contextmanager
def open_conversation(
    state: SessionState, request: pytest.FixtureRequest, target: object
) -> Iterator[AgentConversation]:
    """A conversation with an agent that stays open until the session ends."""
    agent = _open_agent(state, state.chosen_target or target, request)
    conversation = AgentConversation(request.node.nodeid, agent)
    try:
        yield conversation
    finally:
        agent.loop.wait(conversation.end())


def _open_agent(state: SessionState, target: object, request: pytest.FixtureRequest) -> OpenAgent:
    project = find_project(request.path.parent)
    agents = request.config.stash.setdefault(_AGENTS, {})
    key = (id(target), project.file)
    if key not in agents:
        run_request = RunRequest(folder=str(state.folder))
        resolved, options, run_request = settle_target(target, state.options, run_request, read_config(project))
        redactor = Redactor((*run_request.secrets, *secrets_of(resolved.target)))
        timeout = options.timeout or resolved.config.timeout or DEFAULT_TIMEOUT
        state.loop.wait(resolved.target.open())
        state.open_targets.callback(lambda: state.loop.wait(resolved.target.close()))
        agents[key] = OpenAgent(resolved, state.loop, timeout, redactor)
        agents[key].fixture_value = target
    return agents[key]
