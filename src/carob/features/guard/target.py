"""`carob run --guard`: an agent under test whose calls are held to rules before they are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from carob.errors import ConfigError
from carob.model.trace import Trace, TraceError
from carob.proxy.faults.world import CaseWorld
from carob.targets.base import RunContext, TargetError
from carob.targets.catalog import find_kind
from carob.targets.wrappers.base import WrappedTarget

if TYPE_CHECKING:
    from carob.features.guard.conversation import GuardedConversation
    from carob.features.guard.decision import Decision
    from carob.features.guard.policy import GuardPolicy
    from carob.model.suite import Case
    from carob.rules.events import ConversationEvent
    from carob.targets.base import Target

PASSED_BY: Final = "guard-passed-by"
"""The kind of error of a case in which a call ran that the guard was not asked about."""
UNREACHABLE: Final = "guard-unreachable"
METADATA: Final = "guard"
"""What a trace says of the calls that were refused."""


def guard_target(target: Target, policy: str, kind: str) -> Target:
    """The target with its calls held to the rules of a file. Raises ConfigError where its tools run elsewhere."""
    known = find_kind(kind)
    if known is None or not known.in_process:
        message = f"--guard holds calls of tools in Carob's own process, and those of {kind!r} run elsewhere."
        fix = "Put `carob guard mcp` or `carob guard serve` in front of its tools instead: see `carob help guard`."
        raise ConfigError(message, fix=fix, slug=UNREACHABLE)
    return GuardedTarget(target, Path(policy))


class _Decisions:
    """What was decided in one case."""

    def __init__(self) -> None:
        self.all: list[Decision] = []

    def write(
        self, conversation: str, event: ConversationEvent | None = None, decision: Decision | None = None
    ) -> None:
        if decision is not None:
            self.all.append(decision)


class GuardedTarget(WrappedTarget):
    """Asks before each call of a tool in this process, and reports what was refused and what ran unasked."""

    def __init__(self, target: Target, policy_file: Path) -> None:
        super().__init__(target)
        from carob.features.guard.policy import load_policy  # few runs have a guard

        self._policy: GuardPolicy = load_policy(policy_file)
        self._policy.refuse_seam("python")

    async def run(self, case: Case, context: RunContext) -> Trace:
        from carob.features.guard.conversation import GuardedConversation
        from carob.features.guard.frameworks import GuardedWorld
        from carob.rules.events import Facts

        decisions = _Decisions()
        facts = Facts(case.tags)
        conversation = GuardedConversation(self._policy, case.id, facts=facts, journal=decisions)
        context.world = context.world or CaseWorld()  # it knows what the suite calls the tools
        context.guard_world = lambda inner: GuardedWorld(lambda: conversation, inner)
        context.on_turn = _Listener(conversation, case, context).hear

        async def settle(trace: Trace, ended: bool) -> Trace:
            return self._settle(trace, decisions, context)

        trace = await self.run_joined(case, context, settle)
        if (error := self._find_unasked(trace, decisions)) is not None:
            raise TargetError(error.kind, error.message, partial=structs.replace(trace, error=error))
        return trace

    def _settle(self, trace: Trace, decisions: _Decisions, context: RunContext) -> Trace:
        refused = [{"tool": one.tool, "rule": one.rule, "verdict": one.verdict} for one in decisions.all if not one]
        if refused and METADATA not in trace.metadata:
            listed = ", ".join(dict.fromkeys(f"{one['tool']} ({one['rule']})" for one in refused))
            context.notices.append(f"{trace.case_id}: the guard refused {listed}")
        return structs.replace(trace, metadata={**trace.metadata, METADATA: {"refused": refused}})

    def _find_unasked(self, trace: Trace, decisions: _Decisions) -> TraceError | None:
        """What is wrong if a call ran that a rule names and that was not asked about."""
        allowed = Counter(decision.tool for decision in decisions.all if decision)
        ran = Counter(call.name for call in (*trace.setup_calls, *trace.tool_calls) if call.called)
        for tool, times in ran.items():
            if times > allowed[tool] and self._policy.names(tool):
                message = f"{tool} ran {times} times, and the guard allowed it {allowed[tool]} times: it was passed by"
                return TraceError(PASSED_BY, f"{message}. `carob help guard` says which tools a guard can reach")
        return None


class _Listener:
    """Lets the guard hear what the user says as each turn begins, and what the agent answered before."""

    def __init__(self, conversation: GuardedConversation, case: Case, context: RunContext) -> None:
        self._conversation = conversation
        self._context = context
        self._prompts: Iterator[str] = iter((*case.setup_prompts, case.prompt))

    def hear(self, prompt: str | None) -> None:
        turns = self._context.recorder.turns
        if turns and turns[-1].final_message:
            self._conversation.says(turns[-1].final_message)
        if words := next(self._prompts, "") if prompt is None else prompt:
            self._conversation.user(words)
