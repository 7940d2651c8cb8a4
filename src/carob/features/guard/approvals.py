"""Where a rule asks for a person: each framework asks in its own way, and what was approved is checked again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

from carob.features.guard.conversation import GuardedConversation
from carob.features.guard.decision import Decision
from carob.rules.events import read_full_name

APPROVED: Final = ("approve", "approved", "accept", "yes")
OTHER_CALL: Final = "a person approved a call with other arguments, or one that the guard had not asked about"


class ApprovalAnswer:
    """What a middleware was answered about a call that it hands on now."""

    def __init__(self, conversation: GuardedConversation, decision: Decision) -> None:
        self.conversation = conversation
        self.decision = decision
        self.is_taken = False
        """Whether the call came where frameworks make it: what it gave is reported there."""


_answer: ContextVar[ApprovalAnswer | None] = ContextVar("carob_guard_answer", default=None)


@contextmanager
def hold_answer(conversation: GuardedConversation, decision: Decision) -> Iterator[ApprovalAnswer]:
    """While the call is handed on, it is not asked about again."""
    answer = ApprovalAnswer(conversation, decision)
    token = _answer.set(answer)
    try:
        yield answer
    finally:
        _answer.reset(token)


def has_answer(tool: str) -> bool:
    """Whether another guard let this call through just now."""
    answer = _answer.get()
    return answer is not None and not answer.is_taken and answer.decision.tool == read_full_name(tool)["tool"]


def take_answer(conversation: GuardedConversation, tool: str, arguments: object) -> Decision | None:
    """The decision about this very call, if it was asked about on its way here; it counts once."""
    answer = _answer.get()
    if answer is None or answer.is_taken or answer.conversation is not conversation:
        return None
    if (answer.decision.tool, answer.decision.arguments) != (read_full_name(tool)["tool"], arguments):
        return None
    answer.is_taken = True
    return answer.decision


class FrameworkApproval(Protocol):
    """What a framework knows of the approval of one call."""

    @property
    def is_given(self) -> bool: ...

    @property
    def ask(self) -> Any:
        """Raises what makes the framework ask a person, with these words; None: it cannot be made to here."""
        ...


def ask_framework(
    conversation: GuardedConversation,
    tool: str,
    arguments: Mapping[str, Any],
    call: str,
    approval: FrameworkApproval | None = None,
    **about: Any,
) -> Decision:
    """Decide about a call; where a rule asks for a person, have the framework ask one.

    A framework that goes on after an approval comes here again, with the call that it is about to make.
    """
    was_offered = conversation.was_offered(tool, arguments)
    decision = conversation.ask(tool, arguments, call=call, **about)
    if decision.verdict != "ask":
        return decision
    if approval is not None and approval.is_given:
        is_approved = True
    elif approval is not None and approval.ask is not None:
        approval.ask(decision.message)
        return decision
    elif _is_in_graph():
        is_approved = _interrupt_graph(decision)
    else:
        return decision
    if not is_approved:
        conversation.deny(tool, arguments)
        return decision
    if not was_offered:
        return conversation.refuse(tool, decision.arguments, OTHER_CALL, call)
    return conversation.allow(tool, arguments, call=call, approval=decision.approval, **about)


def _interrupt_graph(decision: Decision) -> bool:
    """Interrupt LangGraph with a request as LangChain's own middleware for approvals makes it."""
    types: Any = sys.modules["langgraph.types"]
    action = {"name": decision.tool, "args": decision.arguments, "description": decision.message}
    review = {"action_name": decision.tool, "allowed_decisions": ["approve", "reject"]}
    return _approves(types.interrupt({"action_requests": [action], "review_configs": [review]}))


def _approves(answer: object) -> bool:
    """Whether what a graph was resumed with is a yes, bare or as LangChain's middleware has it."""
    if isinstance(answer, dict):
        decisions = answer.get("decisions")
        answer = decisions[0] if isinstance(decisions, list) and len(decisions) == 1 else answer
        answer = answer.get("type") if isinstance(answer, dict) else answer
    return answer is True or (isinstance(answer, str) and answer.strip().lower() in APPROVED)


def _is_in_graph() -> bool:
    """Whether this call is made by a graph that can be interrupted."""
    config: Any = sys.modules.get("langgraph.config")
    try:
        is_in_graph = config is not None and bool(config.get_config().get("configurable", {}).get(SCRATCHPAD))
    except RuntimeError:
        return False
    return is_in_graph and "langgraph.types" in sys.modules


SCRATCHPAD: Final = "__pregel_scratchpad"
"""Under this key a graph that runs keeps what belongs to the step."""
