"""`max_exclamations`: how loud an answer may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from carob import Check, CheckRequest, CheckResult, EvidenceLocation, Example, Field, Status, Trace

NOT_SEEN = Trace(case_id="example", unobserved={"final_message": "the page moved on"})


@dataclass(frozen=True, slots=True)
class MaxExclamations(Check):
    """The final message has at most so many exclamation marks."""

    name: ClassVar = "max_exclamations"
    group: ClassVar = "manners"
    channels: ClassVar = frozenset({"final_message"})
    fields: ClassVar = (
        Field("max_exclamations", Annotated[int, Meta(ge=0)], "The final message has at most so many '!'."),
    )
    examples: ClassVar = (
        Example({"most": 1}, Trace(case_id="example", final_message="Done!"), Status.PASSED),
        Example({"most": 1}, Trace(case_id="example", final_message="Done!!"), Status.FAILED),
        Example({"most": 1}, NOT_SEEN, Status.UNKNOWN),
    )
    most: int

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[CheckRequest]:
        if "max_exclamations" in expected:
            yield CheckRequest({"most": expected["max_exclamations"]}, ("max_exclamations",))

    @property
    def description(self) -> str:
        return f"at most {self.most} '!'"

    def judge(self, trace: Trace) -> CheckResult:
        found = [index for index, letter in enumerate(trace.final_message) if letter == "!"]
        if len(found) > self.most:
            first = found[self.most]
            return self.failed(f"{len(found)} of them", EvidenceLocation("final_message", first, first + 1))
        why = trace.why_incomplete("final_message")
        return self.unknown(why) if why else self.passed(f"{len(found)} of them")
