"""Which effects are permitted: by their tools, or exactly those that `tool_calls` wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from msgspec import Struct

from carob.checks.base import CheckRequest, Phrase, ToolCheck, own_field
from carob.checks.effects.claims import lines_to_add
from carob.checks.sample_traces import UNSEEN_TOOLS, calls
from carob.checks.tools.calls import is_wanted
from carob.checks.tools.names import describe_calls, nameless, why_unseen
from carob.checks.tools.patterns import CallPattern, WantedCall, assign, success_of
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.text.tool_names import effect_tools, is_same_tool

EXACTLY = "exactly"


class OnlyEffects(ToolCheck, Struct, frozen=True):
    """No other tool of `effects` started than those listed; none has to. Or their calls are exactly those wanted."""

    name: ClassVar = "only_effects"
    failure: ClassVar = ("no ", "an ")
    prohibits: ClassVar = True
    field: ClassVar = own_field(
        list[Phrase] | Literal["exactly"],
        "No tool of `effects` started except these; `[]` means none. These may be called, but need not be. `exactly`: "
        "the calls that succeeded are those of `tool_calls`, each as often as it says there, and no others.",
    )
    examples: ClassVar = (
        Example({"tools": ["refund"], "effects": ["book_*", "refund"]}, calls("find refund"), Status.PASSED),
        Example({"tools": ["refund"], "effects": ["book_*", "refund"]}, calls("find"), Status.PASSED),
        Example({"tools": ["refund"], "effects": ["book_*", "refund"]}, calls("refund book_slot"), Status.FAILED),
        Example({"tools": [], "effects": ["book_*", "refund"]}, calls("functions.Refund:failed"), Status.FAILED),
        Example({"tools": [], "effects": ["book_*", "refund"]}, calls("refund:refused"), Status.PASSED),
        Example({"tools": [], "effects": ["book_*"]}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"tools": []}, calls("find"), Status.UNKNOWN),
        Example({"exactly": [{"tool": "refund"}], "effects": ["refund"]}, calls("refund find"), Status.PASSED),
        Example({"exactly": [{"tool": "refund"}], "effects": ["refund"]}, calls("refund refund"), Status.FAILED),
        Example({"exactly": [{"tool": "find"}], "effects": ["refund"]}, calls("refund:pending"), Status.UNKNOWN),
    )
    tools: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    exactly: tuple[WantedCall, ...] | None = None

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if "only_effects" in expected:
            effects = effect_tools(expected.get("effects", {}))
            permitted = {"tools": expected["only_effects"]}
            if expected["only_effects"] == EXACTLY:
                permitted = {
                    "tools": [],
                    "exactly": [call for call in expected.get("tool_calls", ()) if is_wanted(call)],
                }
            yield CheckRequest(permitted | ({"effects": effects} if effects else {}), ("only_effects",))

    @classmethod
    def unused_fields(cls, expected: Expected) -> Iterator[CheckProblem]:
        if "only_effects" in expected and not expected.get("effects"):
            yield CheckProblem("no-effects", f"{lines_to_add()}.", ("only_effects",))

    @property
    def description(self) -> str:
        if self.exactly:
            return "no effect except the calls of 'tool_calls'"
        return f"no effect except {', '.join(self.tools)}" if self.tools else "no effect"

    def validate(self) -> Iterator[CheckProblem]:
        return nameless(*self.tools)

    def judge(self, trace: Trace) -> CheckResult:
        if not self.effects:
            return self.unknown(lines_to_add())
        if self.exactly is not None:
            return self._judge_exactly(trace, self.exactly)
        for index, call in enumerate(trace.tool_calls):
            if call.called and _is_any(self.effects, call.name) and not _is_any(self.tools, call.name):
                return self.failed(str(call), EvidenceLocation("tool_calls", index=index))
        return self.passed_unless(why_unseen(trace, self.effects), describe_calls(trace))

    def _judge_exactly(self, trace: Trace, wanted: Sequence[WantedCall]) -> CheckResult:
        """Each effect that succeeded, or may have, is one of the wanted calls, which are given to one effect each."""
        patterns = [CallPattern.of(call) for call in wanted]
        doubt = trace.cut("tool_results")
        done = [
            (index, call)
            for index, call in enumerate(trace.tool_calls)
            if call.called and _is_any(self.effects, call.name) and success_of(call) is not False
        ]
        places = [number for number, call in enumerate(wanted) for _ in range(_most(call, len(done)))]
        fits = [[patterns[number].fits(call, doubt) for number in places] for _, call in done]
        sure = assign([[place for place, fit in enumerate(row) if fit] for row in fits])
        possible = assign([[place for place, fit in enumerate(row) if fit is not False] for row in fits])
        doubtful = ""
        for (index, call), place, other in zip(done, sure, possible, strict=True):
            if place is None and other is None and success_of(call):
                return self.failed(str(call), EvidenceLocation("tool_calls", index=index))
            if place is None:
                doubtful = doubtful or f"it is unknown whether {call} is one of 'tool_calls', or succeeded"
        return self.passed_unless(doubtful or why_unseen(trace, self.effects), describe_calls(trace))


def _most(call: WantedCall, all_calls: int) -> int:
    """How many calls an expectation allows: one, unless it says how often."""
    if call.times is None:
        return 1
    return all_calls if call.most is None else min(call.most, all_calls)


def _is_any(tools: Sequence[str], name: str) -> bool:
    return any(is_same_tool(tool, name) for tool in tools)
