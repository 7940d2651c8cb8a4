"""Criteria that only a reader can judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict

from msgspec import Meta, Struct, structs

from carob.checks.base import Check, CheckRequest, Phrase, own_field
from carob.checks.sample_traces import says
from carob.criteria.decide import NOT_LABELLED, AskedCriterion, LabelReader, agent_of, decide
from carob.criteria.identity import DEFAULT_PARTS, Part, criterion_id, evidence_of
from carob.model.check import CheckProblem, Example, Expected
from carob.model.suite import MEETS
from carob.model.trace import Channel, Trace
from carob.model.verdict import CheckResult, Group, Reading, Status

LONGEST = 2_000
DOUBLED = (CheckProblem("duplicate-criterion", "this criterion is in the list already. Remove one."),)
PARTS: tuple[Part, ...] = ("user", "answer", "calls", "page")


class CriterionRule(TypedDict):
    """A criterion, and what it is judged by."""

    says: Annotated[Phrase, Meta(description="The criterion.")]
    sees: NotRequired[
        Annotated[
            list[Part],
            Meta(
                min_length=1,
                description="What a reader is shown: `user`, `answer`, `calls`, `page`. The first two if not given.",
            ),
        ]
    ]
    family: NotRequired[
        Annotated[Phrase, Meta(description="Criteria of one family share labels when a judge is tested.")]
    ]
    absence: NotRequired[
        Annotated[
            Literal[True], Meta(description="The criterion says what must be missing, so a judge need not quote.")
        ]
    ]


class Meets(Check, Struct, frozen=True):
    """The answer meets a criterion that only a reader can judge: by people's labels, else a judge with a licence."""

    name: ClassVar = MEETS
    group: ClassVar = Group.MEANING
    channels: ClassVar[frozenset[Channel]] = frozenset(
        {"input", "messages", "final_message", "tools", "tool_results", "page"}
    )
    shows: ClassVar = frozenset({Status.UNJUDGED, Status.UNKNOWN})
    field: ClassVar = own_field(
        Annotated[list[Phrase | CriterionRule], Meta(min_length=1)],
        "Criteria in words, one check per entry: decided by people's labels, or by a judge that has earned it.",
    )
    examples: ClassVar = (
        Example({"says": "offers a refund"}, says("You get it back.", input="It broke."), Status.UNJUDGED),
        Example(
            {"says": "offers a refund"},
            says("", input="It broke.", unobserved={"final_message": "the page moved on"}),
            Status.UNKNOWN,
        ),
    )
    says: str
    sees: tuple[Part, ...] = DEFAULT_PARTS
    family: str = ""
    absence: bool = False

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        seen: set[str] = set()
        for index, entry in enumerate(expected.get(cls.name) or ()):
            args: dict[str, Any] = {"says": entry} if isinstance(entry, str) else dict(entry)
            criterion = criterion_id(args["says"])
            yield CheckRequest(args, (cls.name, index), DOUBLED if criterion in seen else ())
            seen.add(criterion)

    @property
    def description(self) -> str:
        return " ".join(self.says.split())

    def validate(self) -> Iterator[CheckProblem]:
        if not any(character.isalpha() for character in self.says):
            yield CheckProblem("empty-expectation", "a criterion without a letter says nothing. Write what must hold.")
        elif len(self.says) > LONGEST:
            why = f"the criterion has {len(self.says):,} characters, more than {LONGEST:,}. Split it."
            yield CheckProblem("invalid-value", why)
        if len({*self.sees}) < len(self.sees):
            yield CheckProblem("invalid-value", "`sees` names a part twice. Remove one.", ("sees",))

    def question(self, trace: Trace) -> AskedCriterion | str:
        """What a reader is asked of this trace; why it cannot be asked."""
        evidence = evidence_of(trace, self.sees)
        if isinstance(evidence, str):
            return evidence
        return AskedCriterion(criterion_id(self.says), evidence, self.family, self.absence)

    def judge(self, trace: Trace) -> CheckResult:
        question = self.question(trace)
        if isinstance(question, str):
            return self.unknown(question)
        result = CheckResult(self.name, self.group, Status.UNJUDGED, self._expected, NOT_LABELLED)
        return structs.replace(result, reading=Reading(*question.pair))


class ReadCriterion(Check, Struct, frozen=True):
    """A criterion together with the labels of its project."""

    name: ClassVar = Meets.name
    group: ClassVar = Meets.group
    channels: ClassVar = Meets.channels
    fields: ClassVar = Meets.fields
    inner: Meets
    labels: LabelReader

    @property
    def description(self) -> str:
        return self.inner.description

    def validate(self) -> Iterator[CheckProblem]:
        return self.inner.validate()

    def judge(self, trace: Trace) -> CheckResult:
        question = self.inner.question(trace)
        if isinstance(question, str):
            return self.inner.unknown(question)
        status, found, reading = decide(question, agent_of(trace, self.labels.target), self.labels.index())
        return CheckResult(self.name, self.group, status, self.description, found, reading=reading)
