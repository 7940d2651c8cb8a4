"""What a guard decides about a call: which rules stop it, why, and what would make it legal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from carob.rules.clauses import AtMost, Before, ClausePlan, Last, LastUser, NeverAfter, NeverBefore, Same
from carob.rules.contract import Mode
from carob.rules.events import ConversationEvent, read_full_name
from carob.rules.monitor import Foreseen
from carob.rules.patterns import Occurrence, Scope
from carob.rules.sources import Sources
from carob.text.wording import shorten, visible

Verdict: TypeAlias = Literal["allow", "ask", "block"]
LONGEST: Final = 600
"""So much of a reason is shown: it may quote values of others."""
GUARD: Final = "guard"
"""Named in place of a rule where the guard itself could not decide."""


class Reason(Struct, frozen=True, omit_defaults=True):
    """A rule that speaks against a call, or for which it is not known whether it does."""

    rule: str
    mode: Mode
    is_broken: bool
    """False: it is not known whether the call would break it."""
    evidence: str
    why: str = ""
    """The reason of the rule, as its author wrote it."""
    fix: str = ""
    """What would make the call legal."""
    events: tuple[int, ...] = ()

    def __str__(self) -> str:
        doubt = (
            "" if self.is_broken or self.rule == GUARD else "It is not known whether the call would break the rule. "
        )
        words = " ".join(filter(None, (self.why, f"{doubt}{self.evidence}.".replace("..", "."), self.fix)))
        return f"{self.rule}: {shorten(visible(words), LONGEST)}"


class Decision(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Whether a call may be made. A decision that allows it is true."""

    verdict: Verdict
    tool: str
    arguments: Any = None
    """As they were judged: only a call with these is allowed."""
    call: str = ""
    """By which its result is reported."""
    reasons: tuple[Reason, ...] = ()
    """The rules that stop it, first the one that decided."""
    observed: tuple[Reason, ...] = ()
    """Those that would, but only watch."""
    approval: str = ""
    """What an approval of this very call is given for; it counts once."""
    is_unnamed: bool = False
    """Whether no rule looked at the call, since none names its tool."""

    def __bool__(self) -> bool:
        return self.verdict == "allow"

    @property
    def rule(self) -> str:
        return self.reasons[0].rule if self.reasons else ""

    @property
    def why(self) -> str:
        return self.reasons[0].why if self.reasons else ""

    @property
    def fix(self) -> str:
        return self.reasons[0].fix if self.reasons else ""

    @property
    def message(self) -> str:
        """What the agent is given in place of a result."""
        if self.verdict == "allow":
            return ""
        what = "was not made: it needs the approval of a person" if self.verdict == "ask" else "was not made"
        return "\n".join((f"The call of {shorten(visible(self.tool))} {what}.", *map(str, self.reasons)))


class CallRefusedError(Exception):
    """A call that a guard did not let through. Its text is for the agent; `decision` has the rule and the evidence."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.message)
        self.decision = decision


def decide(foreseen: Sequence[Foreseen], call: ConversationEvent, approved: frozenset[str]) -> Decision:
    """The decision on a call, from what it would do. `approved`: rules whose approval a person gave for this call."""
    if not foreseen:
        return Decision(verdict="allow", tool=call.tool, arguments=call.arguments, call=call.call)
    by_mode: dict[Mode, list[Reason]] = {"block": [], "ask": [], "observe": []}
    occurrence = Occurrence(call, call.index)
    scopes = {id(rule): rule.each.bind(occurrence) for rule, _ in foreseen}
    for rule, finding in foreseen:
        may_pass = not finding.broken and rule.allow_unknown
        mode: Mode = "observe" if may_pass or (rule.mode == "ask" and rule.id in approved) else rule.mode
        fix = " ".join(dict.fromkeys(_find_fixes(rule.clauses, scopes[id(rule)])))
        evidence = finding.why.removeprefix(f"{occurrence}: ")
        reason = Reason(rule.id, mode, finding.broken, evidence, rule.why, fix, finding.events)
        if all(reason.rule != other.rule for other in by_mode[mode]):
            by_mode[mode].append(reason)
    verdict: Verdict = "block" if by_mode["block"] else "ask" if by_mode["ask"] else "allow"
    return Decision(
        verdict=verdict,
        tool=call.tool,
        arguments=call.arguments,
        call=call.call,
        reasons=(*by_mode["block"], *by_mode["ask"]),
        observed=tuple(by_mode["observe"]),
    )


def refuse(tool: str, arguments: Any, why: str, call: str = "") -> Decision:
    """The refusal of a call that the guard cannot decide about."""
    reason = Reason(GUARD, "block", is_broken=False, evidence=why)
    return Decision(
        verdict="block", tool=read_full_name(tool)["tool"], arguments=arguments, call=call, reasons=(reason,)
    )


def _find_fixes(clauses: Sequence[ClausePlan], scope: Scope | str) -> Iterator[str]:
    """What would make a call legal, in words for the agent."""
    for plan in clauses:
        if plan.clause in (Before, Last):
            pattern = plan.patterns[0]
            is_bound = not isinstance(scope, str) and all(place.name in scope for place in pattern.sames)
            words = pattern.wanted_words(scope) if is_bound and not isinstance(scope, str) else pattern.words
            where = f", such that `{plan.where.words}`" if plan.where is not None else ""
            yield f"There must be an earlier {words}{where}, in a message before this call."
        elif plan.clause is LastUser and plan.consent is not None:
            yield f"Ask the user first, and wait for {plan.consent.words}."
        elif plan.clause is Sources:
            listed = " or ".join(source.name for _, sources in plan.sources for source in sources)
            yield f"Use a value that comes from: {listed}."
        elif plan.clause is AtMost:
            yield f"At most {plan.most:f} allowed in this conversation." if plan.most else "It is never allowed."
        elif plan.clause is Same and plan.path is not None:
            yield f"Use the same {plan.path.words} as before."
        elif plan.clause in (NeverAfter, NeverBefore):
            yield "It is no longer possible in this conversation."
        elif plan.where is not None:
            yield f"`{plan.where.words}` must hold."
