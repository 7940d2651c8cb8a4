"""Which sources the final message speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from msgspec import Struct

from karat.checks.base import ANSWER, Check, CheckRequest, Phrase, Phrases, quoted
from karat.checks.sample_traces import says
from karat.checks.says import unfailable
from karat.model.check import CheckProblem, Example, Expected, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status
from karat.text import phrases


class RequiredSource(Check, Struct, frozen=True):
    """One of the source's phrases is in the final message as whole words, a plural `s` allowed."""

    name: ClassVar = "required_sources"
    failure: ClassVar = ("", "did not name the source ")
    group: ClassVar = Group.SYNTHESIS_COVERAGE
    channels: ClassVar = ANSWER
    metric: ClassVar = "sources"
    fields: ClassVar = (
        Field("required_sources", Phrases, "The final message mentions each of these sources.", since="0.2"),
        Field(
            "source_patterns",
            dict[Phrase, Phrases],
            "Phrases that count as a mention of a source of `required_sources`, instead of its name.",
            since="0.2",
        ),
    )
    examples: ClassVar = (
        Example({"source": "github", "phrases": ["GitHub", "PR"]}, says("3 PRs were merged."), Status.PASSED),
        Example({"source": "github", "phrases": ["GitHub", "PR"]}, says("A new approach."), Status.FAILED),
    )
    source: str
    phrases: tuple[str, ...]

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        patterns = expected.get("source_patterns", {})
        for index, source in enumerate(expected.get("required_sources", ())):
            yield CheckRequest(
                {"source": source, "phrases": patterns.get(source, [source])}, ("required_sources", index)
            )

    @classmethod
    def unused_fields(cls, expected: Expected) -> Iterator[CheckProblem]:
        for source in expected.get("source_patterns", {}):
            if source not in expected.get("required_sources", ()):
                message = (
                    f"{source!r} is not in required_sources, so its phrases are never used. Leave it out, or add it."
                )
                yield CheckProblem("no-effect", message, ("source_patterns", source))

    @classmethod
    def lack(cls, args: Mapping[str, object]) -> str:
        return str(args.get("source", ""))

    @property
    def description(self) -> str:
        return f"{self.source}: {quoted(self.phrases)}"

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(*self.phrases)

    def judge(self, trace: Trace) -> CheckResult:
        found = phrases.find_any_word(trace.final_message, self.phrases)
        return self.present(trace, found, f"no mention of {self.source}")
