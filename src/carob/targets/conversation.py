"""A conversation with an agent, one prompt at a time: who speaks for the user, and how long an answer may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import structs

from carob.evidence.merge import merge_turns
from carob.evidence.recorder import Recorder, mark_decision
from carob.evidence.short_form import Short, ShortError, build_turn, read_error
from carob.model.suite import Case, Reply
from carob.model.trace import SCRIPT, ToolCall, Trace
from carob.targets.base import RunContext, TargetError
from carob.targets.capabilities import FOREVER
from carob.text.wording import pluralize

MAX_TURNS = 10
"""What a user with replies says at most, where the case gives no `max_turns`."""
TAKES_NONE = (
    "this target cannot be answered by `approve`, `deny` or `edit`: langgraph, langgraph-server and ag-ui targets can, "
    "and a python function that returns what the OpenAI Agents SDK gives"
)


class ScriptedUser:
    """Says the turns of a case in order; or answers what is asked for, until nothing is that a reply knows."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._max_turns = len(case.turns) or case.max_turns or MAX_TURNS
        self._prompts = 1
        self._used: set[int] = set()
        self.ended = ""
        """Why nothing more is said, where that is not the end of a script."""
        self.is_cut_off = False
        """Whether more would be said, and the case allows no further turn."""

    def next(self, answer: Trace) -> str | None:
        """What the user says to this answer; None: nothing more."""
        if self._case.turns:
            self._prompts += 1
            return self._case.turns[self._prompts - 1].prompt if self._prompts <= self._max_turns else None
        replies = self._replies(answer.final_message)
        if replies and self._prompts < self._max_turns:
            self._prompts += 1
            return " ".join(replies)
        self.is_cut_off = bool(replies)
        self.ended = f"after {pluralize(self._prompts, 'turn')}, " + (
            "the most that it may have" if replies else "because no reply covers what the last answer asks for"
        )
        return None

    @property
    def unused(self) -> tuple[Reply, ...]:
        """The replies that were not asked for."""
        return tuple(reply for index, reply in enumerate(self._case.replies) if index not in self._used)

    def _replies(self, answer: str) -> list[str]:
        """What answers each thing that is asked for. Of several replies to one thing, the next one."""
        # Its patterns take a while to be read, and few cases have replies.
        from carob.text.prose.asking import find_request_for
        from carob.text.words import WordLists

        words = WordLists.of(self._case.words)
        chosen: dict[tuple[str, ...], int] = {}
        for index, reply in enumerate(self._case.replies):
            is_free = reply.asks_for not in chosen or chosen[reply.asks_for] in self._used
            if is_free and find_request_for(answer, reply.asks_for, words):
                chosen[reply.asks_for] = index
        if self._prompts < self._max_turns:
            self._used.update(chosen.values())
        return [self._case.replies[index].say for index in chosen.values()]


async def converse(
    case: Case,
    context: RunContext,
    turn: Callable[[str], Awaitable[Trace]],
    turn_timeout: float | None,
    *,
    takes_decisions: bool = False,
) -> Trace:
    """Say what the user of a case says, one prompt at a time, and give the trace of it.

    This is how a target plays several turns: `turn` sends one prompt within the conversation of the case and gives the
    trace of the answer to it alone, or raises TargetError. What it sees as it goes it writes into `context.recorder`,
    which is empty when it is called: if a turn is cut short, that is what is known of it. It is first called with each
    setup prompt, of which the calls are kept; then with `prompt`, or with what each turn of the case says, or with what
    the scripted user answers. The first turn that breaks ends the conversation, and those before it stay judged.

    `takes_decisions`: `turn` looks at `context.decision`, which is there where a turn of the case approves, denies or
    edits calls; its prompt says that for people alone. For other targets such a turn is an ERROR.
    """
    before = await _set_up(case, context, turn, turn_timeout)
    if not case.is_conversation:
        context.begin_turn()
        answer = await _wait_within(turn(case.prompt), turn_timeout)
        return _with_setup(answer, case, before)
    user, recorder = ScriptedUser(case), context.recorder
    prompt: str | None = case.prompt
    while prompt is not None:
        number = len(recorder.turns) + 1
        decision = case.turns[number - 1].decision if number <= len(case.turns) else None
        context.begin_turn(prompt, decision)
        try:
            if decision is not None and not takes_decisions:
                raise TargetError("not-asked", TAKES_NONE)
            trace = structs.replace(await _wait_within(turn(prompt), turn_timeout), input=prompt)
            trace = mark_decision(trace, decision)
            if context.after_turn is not None:
                trace = await context.after_turn(number, trace)
        except TargetError as error:
            raise _error_of_turn(error, number, prompt, recorder) from error
        recorder.finish(trace)
        speak = context.next_prompt
        prompt = user.next(trace) if speak is None else await speak(merge_turns(recorder.turns))
    trace = _with_script_end(merge_turns(recorder.turns), user)
    return _with_setup(trace, case, before)


def _with_setup(trace: Trace, case: Case, calls: tuple[ToolCall, ...]) -> Trace:
    """The trace with what was said and called before the judged turns."""
    if not case.setup_prompts:
        return trace
    return structs.replace(trace, setup_calls=calls, setup_prompts=case.setup_prompts)


async def _set_up(
    case: Case, context: RunContext, turn: Callable[[str], Awaitable[Trace]], turn_timeout: float | None
) -> tuple[ToolCall, ...]:
    """Send the setup prompts, and give the calls that they brought about."""
    calls: list[ToolCall] = []
    if context.world is not None:
        context.world.in_setup = True
    for number, prompt in enumerate(case.setup_prompts, 1):
        context.begin_turn()
        try:
            trace = await _wait_within(turn(prompt), turn_timeout)
            if context.after_setup is not None:
                context.after_setup(trace)
            calls += trace.tool_calls
        except TargetError as error:
            message = f"setup prompt {number} of {len(case.setup_prompts)}: {error.message}"
            kind = "timeout" if error.kind == "timeout" else "setup"  # after a time-out the agent may still be going on
            raise TargetError(kind, message, detail=error.detail, retry_after=error.retry_after) from error
    if context.world is not None:
        context.world.in_setup = False
    return tuple(calls)


def _error_of_turn(error: TargetError, number: int, prompt: str, recorder: Recorder) -> TargetError:
    """The error of a turn, with the conversation up to it."""
    prefix = f"turn {number}: "  # a recorded one has it already
    message = prefix + error.message.removeprefix(prefix)
    of_turn = TargetError(error.kind, message, detail=error.detail, retry_after=error.retry_after)
    if error.partial is not None:
        broken = structs.replace(error.partial, input=prompt, error=of_turn.error)
        broken = mark_decision(broken, recorder.decision)
        of_turn.partial = merge_turns([*recorder.turns, broken], of_turn.error)
    return of_turn


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


@asynccontextmanager
async def timeout(seconds: float | None) -> AsyncIterator[None]:
    """Raise TimeoutError after so long, which `asyncio.timeout` does not in a cancelled task before Python 3.11.3."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except asyncio.CancelledError as error:
        if not limit.expired():
            raise
        raise TimeoutError from error


def to_trace(short: Short, case: Case, recorder: Recorder | None = None) -> Trace:
    """The trace of a case. Raises TargetError for an answer to another case, and for an error."""
    if short.case_id not in (None, case.id):
        raise TargetError("bad-answer", f"the answer is for case {short.case_id!r}, not {case.id!r}")
    trace = build_turn(short, case.id, case.prompt, recorder)
    if short.error is not None:
        raise failure_of(short.error, trace)
    return trace


def failure_of(error: str | ShortError, partial: Trace | None = None) -> TargetError:
    """What an answer says went wrong; it may ask to wait for as long as a run can."""
    failure = read_error(error)
    wait = None if failure.retry_after is None else min(failure.retry_after, FOREVER)
    return TargetError(failure.kind, failure.message, detail=failure.detail, partial=partial, retry_after=wait)
