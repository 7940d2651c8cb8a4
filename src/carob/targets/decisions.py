"""What a turn decides about the calls that wait for approval: each of them is approved, denied or edited, and once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from carob.model.suite import TurnDecision
from carob.suites.selection import is_meant
from carob.targets.base import TargetError
from carob.text.wording import join_words, quoted

NOTHING_WAITS = "the turn decides ({}), and nothing waits for it: the agent asked for no approval in the turn before"
NO_SUCH_CALL = "no call of {} waits for approval. What waits: {}"
UNANSWERED = "{} waits for approval too, and the turn does not say what becomes of it: approve, deny or edit it"
NO_CALL = "what the agent asks is about no call, so that there is nothing to edit: approve or deny it"
NO_ARGUMENTS = "the arguments of {} are not an object, so that they cannot be edited: approve or deny it"
A_QUESTION = "a question"


class WaitingCall(NamedTuple):
    """What waits for approval."""

    tool: str
    """Empty: a question that is about no call."""
    arguments: Any


class CallDecision(NamedTuple):
    """What becomes of one of them."""

    kind: Literal["approve", "deny", "edit"]
    arguments: Any
    """Those that it may run with."""
    reason: str = ""
    """Why it is denied, where the turn says so."""


def decide(decision: TurnDecision, waiting: Sequence[WaitingCall]) -> list[CallDecision]:
    """What becomes of each call that waits: exact names before those with `*`, then what denies before what edits.

    Raises TargetError where the decision and what waits do not fit each other: the conversation is then not the one
    that the case is about.
    """
    if not waiting:
        raise TargetError("not-asked", NOTHING_WAITS.format(decision))
    for name in (*decision.approve, *decision.deny, *decision.edit):
        if not any(is_meant(call.tool, name) for call in waiting):
            listed = join_words(list(dict.fromkeys(call.tool or A_QUESTION for call in waiting)), "and")
            raise TargetError("not-asked", NO_SUCH_CALL.format(quoted(name), listed))
    return [_decide_call(decision, call) for call in waiting]


def _decide_call(decision: TurnDecision, call: WaitingCall) -> CallDecision:
    names = (*decision.deny, *decision.edit, *decision.approve)
    name = call.tool if call.tool in names else next((name for name in names if is_meant(call.tool, name)), None)
    if name is None:
        raise TargetError("not-asked", UNANSWERED.format(call.tool or A_QUESTION))
    if name in decision.deny:
        return CallDecision("deny", call.arguments, decision.deny[name])
    if name not in decision.edit:
        return CallDecision("approve", call.arguments)
    if not call.tool:
        raise TargetError("not-asked", NO_CALL)
    if not isinstance(call.arguments, Mapping):
        raise TargetError("not-asked", NO_ARGUMENTS.format(call.tool))
    return CallDecision("edit", {**call.arguments, **decision.edit[name]})
