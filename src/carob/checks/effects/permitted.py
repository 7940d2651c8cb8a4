"""Which effects are permitted: by their tools, or exactly those that `tool_calls` wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from msgspec import Struct

from carob.checks.base import CheckRequest, Phrase, ToolCheck, own_field
from carob.checks.effects.claims import lines_to_add
from carob.checks.effects.resilience import LOST, why_effective
from carob.checks.sample_traces import UNSEEN_TOOLS, calls, performs
from carob.checks.tools.calls import is_wanted
from carob.checks.tools.names import describe_calls, nameless, why_unseen
from carob.checks.tools.patterns import CallPattern, WantedCall, assign
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.text.tool_names import effect_tools, is_same_tool

EXACTLY = "exactly"


class OnlyEffects(ToolCheck, Struct, frozen=True):
    """No other tool of `effects` did anything than those listed; none has to. Or their calls are exactly those wanted.

    An attempt that failed changed nothing, unless only its answer was lost.
    """

    name: ClassVar = "only_effects"
    failure: ClassVar = ("no ", "an ")
    prohibits: ClassVar = True
    field: ClassVar = own_field(
        list[Phrase] | Literal["exactly"],
        "No tool of `effects` did anything except these; `[]` means none. These may be called, but need not be. "
        "`exactly`: the calls that succeeded are those of `tool_calls`, each as often as it says there, and no others. "
        "An attempt that failed is not an effect, unless only its answer was lost.",
    )
    examples: ClassVar = (
        Example({"tools": ["refund"], "effects": ["book_*", "refund"]}, calls("find refund"), Status.PASSED),
        Example({"tools": ["refund"], "effects": ["book_*", "refund"]}, calls("find"), Status.PASSED),
        Example({"tools": ["refund"], "effects": ["book_*", "refund"]}, calls("refund book_slot"), Status.FAILED),
        Example({"tools": [], "effects": ["book_*", "refund"]}, calls("functions.Refund:ok"), Status.FAILED),
        Example({"tools": [], "effects": ["refund"]}, calls("refund:failed"), Status.PASSED),
        Example({"tools": [], "effects": ["refund"]}, calls("refund"), Status.FAILED),
        Example({"tools": [], "effects": ["pay"]}, performs(LOST), Status.UNKNOWN),
        Example({"tools": [], "effects": ["book_*", "refund"]}, calls("refund:refused"), Status.PASSED),
        Example({"tools": [], "effects": ["book_*"]}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"tools": []}, calls("find"), Status.UNKNOWN),
        Example({"exactly": [{"tool": "refund"}], "effects": ["refund"]}, calls("refund find"), Status.PASSED),
        Example({"exactly": [{"tool": "refund"}], "effects": ["refund"]}, calls("refund refund"), Status.FAILED),
        Example({"exactly": [{"tool": "refund"}], "effects": ["refund"]}, calls("refund:failed"), Status.FAILED),
        Example({"exactly": [{"tool": "refund"}], "effects": ["refund"]}, calls("refund:pending"), Status.UNKNOWN),
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
        doubt = ""
        for index, call in enumerate(trace.tool_calls):
            if self._may_have_effect(call) and not _is_any(self.tools, call.full_name):
                if call.success is not False:
                    return self.failed(str(call), EvidenceLocation("tool_calls", index=index))
                doubt = doubt or f"{call.name} failed, and may have had its effect: {why_effective(call)}"
        return self.passed_unless(doubt or why_unseen(trace, self.effects), self._describe(trace))

    def _may_have_effect(self, call: ToolCall) -> bool:
        is_called = call.called and _is_any(self.effects, call.full_name)
        return is_called and (call.success is not False or bool(why_effective(call)))

    def _describe(self, trace: Trace) -> str:
        """The calls, and which of them were attempts alone."""
        tried = dict.fromkeys(
            call.name
            for call in trace.tool_calls
            if call.called and _is_any(self.effects, call.full_name) and not self._may_have_effect(call)
        )
        note = f". A failed attempt is not an effect: {', '.join(tried)}" if tried else ""
        return describe_calls(trace) + note

    def _judge_exactly(self, trace: Trace, wanted: Sequence[WantedCall]) -> CheckResult:
        """Each effect is one of the wanted calls, and each wanted call that has an effect had it."""
        patterns = [CallPattern.of(call) for call in wanted]
        doubt = trace.cut("tool_results")
        done = [(index, call) for index, call in enumerate(trace.tool_calls) if self._may_have_effect(call)]
        fits = [[pattern.fits(call, doubt) for pattern in patterns] for _, call in done]
        places = [number for number, call in enumerate(wanted) for _ in range(_most(call, len(done)))]
        rows = [[row[number] for number in places] for row in fits]
        sure = assign([[place for place, fit in enumerate(row) if fit] for row in rows])
        possible = assign([[place for place, fit in enumerate(row) if fit is not False] for row in rows])
        doubtful = ""
        for (index, call), place, other in zip(done, sure, possible, strict=True):
            if place is None and other is None and call.success:
                return self.failed(str(call), EvidenceLocation("tool_calls", index=index))
            if place is None or call.success is False:
                doubtful = doubtful or f"it is unknown whether {call} is one of 'tool_calls', or succeeded"
        needed = [n for n, call in enumerate(wanted) if self._is_effect(call) for _ in range(call.least)]
        had = assign([[d for d, row in enumerate(fits) if row[n] and done[d][1].success] for n in needed])
        may_have = assign([[d for d, row in enumerate(fits) if row[n] is not False] for n in needed])
        why = doubtful or why_unseen(trace, self.effects)
        for number, sure_one, possible_one in zip(needed, had, may_have, strict=True):
            if sure_one is None and possible_one is None:
                missing = f"{patterns[number].words} did not succeed: {self._describe(trace)}"
                return self.failed_unless(why_unseen(trace, self.effects), missing)
            if sure_one is None:
                why = why or f"it is unknown whether {patterns[number].words} succeeded"
        return self.passed_unless(why, self._describe(trace))

    def _is_effect(self, wanted: WantedCall) -> bool:
        """Whether a wanted call has an effect that is to succeed."""
        names = [call.tool for call in wanted.any_of] or [wanted.tool]
        are_effects = all(_is_any(self.effects, name) for name in names)
        return are_effects and wanted.success is not False and all(call.success is not False for call in wanted.any_of)


def _most(call: WantedCall, all_calls: int) -> int:
    """How many calls an expectation allows: one, unless it says how often."""
    if call.times is None:
        return 1
    return all_calls if call.most is None else min(call.most, all_calls)


def _is_any(tools: Sequence[str], name: str) -> bool:
    return any(is_same_tool(tool, name) for tool in tools)
