"""What looks wrong in the traces, or is a question for a person: counted by what it is, with one example of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.analysis.draft.draft import Finding
from karat.checks.base import excerpt
from karat.model.trace import BY_ITSELF, Trace

if TYPE_CHECKING:
    from karat.analysis.draft.kinds import TraceGroup

MOST = 200
LOOP = 3
"""The same call so often in a row is a loop."""


class Findings:
    """Findings in the order in which they were first seen."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[str, int]] = {}

    def add(self, kind: str, what: str, example: str = "", count: int = 1) -> None:
        known, before = self._found.get((kind, what), (example, 0))
        if before or len(self._found) < MOST:
            self._found[kind, what] = known, before + count

    def all(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(kind, f"{what}, such as {example}" if example else what, count)
            for (kind, what), (example, count) in self._found.items()
        )

    def add_error(self, trace: Trace, user: tuple[str, ...]) -> None:
        if trace.error is not None:
            self.add("error", f"{trace.error.kind}: {excerpt(trace.error.message)}", _quoted(user))
        else:
            self.add("error", "no prompt was recorded, so the run cannot be repeated")

    def is_stuck(self, trace: Trace, user: tuple[str, ...]) -> bool:
        """Whether a run went round in a loop, or was cut off by a limit: nothing is learned from it."""
        same, before = 1, None
        for call in trace.tool_calls:
            now = (call.name, call.arguments)
            same = same + 1 if now == before else 1
            before = now
            if same == LOOP:
                self.add("loop", f"{call.name} was called with the same arguments again and again", _quoted(user))
                return True
        if trace.ended_by in ("", BY_ITSELF):
            return False
        self.add("loop", f"a limit cut the run off: {excerpt(trace.ended_by)}", _quoted(user))
        return True

    def rare(self, group: TraceGroup) -> None:
        self.add("rare", f"{_describe(group)}: is this intended?", _example(group), group.total)

    def add_left_out(self, group: TraceGroup) -> None:
        self.add("rare", f"{_describe(group)}: over --max-cases, not drafted", _example(group), group.total)

    def add_failed(self, group: TraceGroup) -> None:
        self.add(
            "failed", f"{_describe(group)}, and the answer does not say that it failed", _example(group), group.total
        )

    def add_odd(self, group: TraceGroup, total: int) -> None:
        what = f"{group.total} of {total} runs of {group.name}: {_describe(group)}. Is this intended?"
        self.add("odd", what, "", group.total)


def _describe(group: TraceGroup) -> str:
    kind = group.kinds[0]
    tools = ", ".join(kind.tools[:6]) + (" ..." if len(kind.tools) > 6 else "")
    turns = f" in {kind.turns} turns" if kind.turns != "1" else ""
    return f"{kind.outcome} with {tools or 'no tool'}{turns}"


def _example(group: TraceGroup) -> str:
    return _quoted(next(iter(group.learned.prompts), ()))


def _quoted(user: tuple[str, ...]) -> str:
    return repr(excerpt(user[0])) if user and user[0] else ""
