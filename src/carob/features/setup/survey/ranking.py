"""Which of several agents answers users: how it is called, what it is part of, and why it is thought to be the one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_ASIDE = re.compile(
    r"(?i)title|summar|classif|guardrail|judge|eval|rewrit|extract|rerank|moderat|suggest|scorer|critic|review"
)
_MAIN = re.compile(
    r"(?i)^(?:root|main|triage|supervisor|orchestrator|coordinator|assistant|agent|graph|app|workflow|crew)(?:_|$|[A-Z])"
)


class AgentCandidate(NamedTuple):
    """An agent that a file makes, and what is known of its use."""

    path: str
    line: int
    name: str
    text: str
    """How it is made."""
    is_part: bool = False
    """Whether another agent hands over to it, or has it as a tool."""
    gets_history: bool = False
    """Whether it is called with what was said before."""
    route: str = ""
    """The route that calls it."""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def is_aside(self) -> bool:
        """Whether it makes titles, judges, or does another thing that no user asks for."""
        return _ASIDE.search(self.name) is not None

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, bool]:
        is_main = _MAIN.search(self.name) is not None
        return self.is_aside, self.is_part, not self.route, not (self.gets_history or is_main), "tools" not in self.text

    @property
    def reason(self) -> str:
        """Why it is thought to be the one that answers users."""
        if self.route:
            return f"{self.route} calls it"
        if self.gets_history:
            return "it is called with what was said before"
        return "no other agent calls it" if not self.is_part else ""


def sort_candidates(candidates: Sequence[AgentCandidate]) -> list[tuple[AgentCandidate, str]]:
    """The candidates, the likeliest first; it alone comes with why, where there are others."""
    ordered = sorted(candidates, key=lambda candidate: candidate.rank)
    reason = ordered[0].reason if len(ordered) > 1 else ""
    return [(each, f" ({reason})" if reason and not number else "") for number, each in enumerate(ordered)]
