"""Which calls come before which. Calls that ran side by side have no order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from karat.checks.base import Phrase, Phrases, ToolCheck, own_field, read_members, read_with
from karat.checks.sample_traces import UNSEEN_TOOLS, calls, performs
from karat.checks.tools.names import describe_calls, nameless, not_ruled_out, why_unseen
from karat.model.check import CheckProblem, Example
from karat.model.trace import ToolCall, Trace
from karat.model.verdict import CheckResult, EvidenceLocation, Status
from karat.text.tool_names import is_named, is_same_tool

SIDE_BY_SIDE = performs(
    ToolCall("find", success=True, started_at=1.0, ended_at=3.0),
    ToolCall("book", success=True, started_at=2.0, ended_at=4.0),
)


def is_ended_before(first: ToolCall, second: ToolCall) -> bool:
    """Whether the second, which comes later in the trace, did not begin while the first was running."""
    return first.ended_at is None or second.started_at is None or second.started_at >= first.ended_at


class ToolOrder(ToolCheck, Struct, frozen=True):
    """These tools were called in this order, each after the one before it had ended; others may stand between."""

    name: ClassVar = "tool_order"
    failure: ClassVar = ("", "did not call in this order: ")
    field: ClassVar = own_field(
        Annotated[list[Phrase], Meta(min_length=2)], "These calls were made in this order; others may come between."
    )
    examples: ClassVar = (
        Example({"tools": ["find", "book"]}, calls("find log book"), Status.PASSED),
        Example({"tools": ["find", "book"]}, calls("book find"), Status.FAILED),
        Example({"tools": ["find", "book", "find"]}, calls("find book"), Status.FAILED),
        Example({"tools": ["find", "book"]}, calls("find:refused book"), Status.FAILED),
        Example({"tools": ["find", "book"]}, SIDE_BY_SIDE, Status.FAILED),
        Example({"tools": ["find", "book"]}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tools: tuple[str, ...]

    read = read_with("tools")

    @property
    def description(self) -> str:
        return f"{', then '.join(self.tools)}"

    def validate(self) -> Iterator[CheckProblem]:
        return nameless(*self.tools)

    def judge(self, trace: Trace) -> CheckResult:
        reached = self._find_reached(trace.tool_calls)
        if len(reached) == len(self.tools):
            return self.passed(describe_calls(trace), EvidenceLocation("tool_calls", index=reached[-1]))
        if why := why_unseen(trace, self.tools):
            return self.unknown(why)
        missing = f"no {self.tools[len(reached)]}{f' after {self.tools[len(reached) - 1]}' if reached else ''}"
        return self.failed(
            f"{missing}: {describe_calls(trace)}",
            EvidenceLocation("tool_calls", index=reached[-1]) if reached else None,
        )

    def _find_reached(self, tool_calls: tuple[ToolCall, ...]) -> list[int]:
        """The first call that can be each of the tools, as far as the order goes."""
        reached: list[int] = []
        earlier: list[int] | None = None
        for tool in self.tools:
            now = [
                i
                for i, call in enumerate(tool_calls)
                if call.called and is_named(tool, call.name) and _follows(i, earlier, tool_calls)
            ]
            if not now:
                break
            reached.append(now[0])
            earlier = now
        return reached


def _follows(index: int, earlier: list[int] | None, tool_calls: tuple[ToolCall, ...]) -> bool:
    return earlier is None or any(
        before < index and is_ended_before(tool_calls[before], tool_calls[index]) for before in earlier
    )


class ToolRequires(ToolCheck, Struct, frozen=True):
    """Each call of the tool, even one that was only asked for, comes after a success of each of the others."""

    name: ClassVar = "tool_requires"
    failure: ClassVar = ("a ", "no ")
    prohibits: ClassVar = True
    field: ClassVar = own_field(
        Annotated[dict[Phrase, Phrases], Meta(min_length=1)],
        "Preconditions: each call to a tool comes after a successful call to every tool that is listed for it.",
        in_defaults="add",
    )
    examples: ClassVar = (
        Example({"tool": "pay", "first": ["verify"]}, calls("verify:ok log pay"), Status.PASSED),
        Example({"tool": "pay", "first": ["verify"]}, calls("log"), Status.PASSED),
        Example({"tool": "pay", "first": ["verify"]}, calls("pay verify:ok"), Status.FAILED),
        Example({"tool": "pay", "first": ["verify"]}, calls("verify:failed pay"), Status.FAILED),
        Example({"tool": "pay", "first": ["verify", "find"]}, calls("verify:ok pay"), Status.FAILED),
        Example({"tool": "pay", "first": ["verify"]}, calls("functions.Pay:refused"), Status.FAILED),
        Example({"tool": "book", "first": ["find"]}, SIDE_BY_SIDE, Status.FAILED),
        Example({"tool": "pay", "first": ["verify"]}, calls("verify:pending pay"), Status.UNKNOWN),
        Example({"tool": "pay", "first": ["verify"]}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tool: str
    first: tuple[str, ...]

    read = read_members("tool", "first")

    @property
    def description(self) -> str:
        return f"a successful {' and '.join(self.first)} before each {self.tool}"

    def validate(self) -> Iterator[CheckProblem]:
        yield from nameless(self.tool, *self.first)
        if self.tool in self.first:
            message = f"the first call to {self.tool!r} cannot come after another call to it. Remove it."
            yield CheckProblem("never-passes", message)

    def judge(self, trace: Trace) -> CheckResult:
        tool_calls = trace.tool_calls
        before = [call for turn in trace.earlier for call in turn.tool_calls]
        unsure: str | None = None
        for index, call in enumerate(tool_calls):
            if not is_same_tool(self.tool, call.name):
                continue
            for needed in self.first:
                preceding = (*before, *tool_calls[:index])
                earlier = [c for c in preceding if c.called and is_named(needed, c.name) and is_ended_before(c, call)]
                if any(c.success is True for c in earlier):
                    continue
                if not any(c.has_unknown_outcome for c in earlier):
                    turns = (trace, *trace.earlier)
                    doubts = (why_unseen(turn, (needed,)) for turn in turns)
                    why = next((doubt for doubt in doubts if doubt), None)
                    detail = f"call {index + 1}, {call}, without {needed} before it: {describe_calls(trace)}"
                    return (
                        self.unknown(why) if why else self.failed(detail, EvidenceLocation("tool_calls", index=index))
                    )
                unsure = f"it is unknown whether {needed} succeeded"
        return self.passed_unless(unsure or not_ruled_out(trace, self.tool), describe_calls(trace))
