"""Which skills a coding agent used: it loaded them, or read their file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, TypedDict

from msgspec import Meta, Struct

from carob.checks.base import CALLS, CheckRequest, Phrases, own_field
from carob.checks.sample_traces import performs
from carob.checks.tools.names import why_unseen
from carob.features.coding.checks.base import WorkspaceCheck, deeds_of, list_shown
from carob.features.coding.checks.samples import UNSEEN_WORK, log_trace
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.text.tool_names import is_named

LOADED = performs(ToolCall("Skill", {"skill": "fix-calc"}, success=True))


class ExpectedSkills(TypedDict, total=False):
    """Which skills were used."""

    used: Annotated[Phrases, Meta(description="Each of these skills was used; `*` is any part of a name.")]
    not_used: Annotated[Phrases, Meta(description="None of these skills was used.")]


class Skills(WorkspaceCheck, Struct, frozen=True):
    """The skill was used, or was not."""

    name: ClassVar = "skills"
    channels: ClassVar = CALLS | {"processes"}
    failure: ClassVar = ("", "expected: ")
    field: ClassVar = own_field(
        Annotated[ExpectedSkills, Meta(min_length=1)],
        "Skills that were `used` and `not_used`, by their names.",
        in_defaults=(("not_used", "add"),),
    )
    examples: ClassVar = (
        Example({"skill": "fix-calc"}, LOADED, Status.PASSED),
        Example({"skill": "fix-calc"}, log_trace("cat .agents/skills/fix-calc/SKILL.md=0"), Status.PASSED),
        Example({"skill": "fix-calc"}, log_trace("ls=0"), Status.FAILED),
        Example({"skill": "fix-*", "never": True}, LOADED, Status.FAILED),
        Example({"skill": "deploy", "never": True}, LOADED, Status.PASSED),
        Example({"skill": "deploy", "never": True}, UNSEEN_WORK, Status.UNKNOWN),
    )
    skill: str
    never: bool = False

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        for how, names in expected.get("skills", {}).items():
            never = {"never": True} if how == "not_used" else {}
            for index, name in enumerate(names):
                yield CheckRequest({"skill": name, **never}, ("skills", how, index))

    @property
    def prohibits(self) -> bool:
        return self.never

    @property
    def description(self) -> str:
        return f"skill {self.skill} {'not used' if self.never else 'used'}"

    def validate(self) -> Iterator[CheckProblem]:
        if not self.skill.strip():
            yield CheckProblem("empty-expectation", "a blank name is that of no skill.")

    def judge(self, trace: Trace) -> CheckResult:
        used = deeds_of(trace).skills()
        hits = [name for name in used if is_named(self.skill.casefold(), name.casefold())]
        shown = list_shown(used, "no skill was used")
        index = used[hits[0]] if hits else None
        at = None if index is None else EvidenceLocation("tool_calls", index=index)
        if hits:
            return self.failed(shown, at) if self.never else self.passed(shown, at)
        why = why_unseen(trace) or next(
            filter(None, (call.unobserved.get("arguments") for call in trace.tool_calls)), ""
        )
        return self.passed_unless(why, shown) if self.never else self.failed_unless(why, shown)
