"""What the answer asks the user for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from karat.checks.base import ANSWER, Check, CheckRequest, Phrase, Phrases, each, quoted
from karat.checks.sample_traces import says
from karat.checks.says import unfailable
from karat.model.check import CheckProblem, Example, Expected, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status
from karat.text.prose.asking import find_request_for
from karat.text.words import WordLists

ORDER = {"things": ["order number"]}


class AsksFor(Check, Struct, frozen=True):
    """The answer asks for this, in a question or a request. It is not enough that it names it."""

    name: ClassVar = "asks_for"
    failure: ClassVar = ("asks for ", "did not ask for ")
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar = ANSWER
    fields: ClassVar = (
        Field(
            "asks_for",
            Annotated[list[Phrase | Phrases], Meta(min_length=1)],
            "The answer asks for each of these; a nested list gives several names for one thing.",
            since="0.3",
        ),
    )
    examples: ClassVar = (
        Example(ORDER, says("What is your order number?"), Status.PASSED),
        Example(ORDER, says("Please send me the number of your order."), Status.PASSED),
        Example({"things": ["order id", "order number"]}, says("I need your order number."), Status.PASSED),
        Example(ORDER, says("I need:\n- your name\n- your order number"), Status.PASSED),
        Example(ORDER, says("Your order number is A-17."), Status.FAILED),
        Example(ORDER, says("I do not need your order number. What is your name?"), Status.FAILED),
        Example(ORDER, says("I found your order number. Anything else?"), Status.FAILED),
        Example(ORDER, says("", unobserved={"final_message": "the page moved on"}), Status.UNKNOWN),
    )
    things: tuple[str, ...]
    words: dict[str, tuple[str, ...]] = {}

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        for one in each("asks_for", "things", expected, "words"):
            things = one.args["things"]
            yield CheckRequest({**one.args, "things": [things] if isinstance(things, str) else things}, one.path)

    @property
    def description(self) -> str:
        return f"asks for {quoted(self.things)}"

    def judge(self, trace: Trace) -> CheckResult:
        return self.present(trace, find_request_for(trace.final_message, self.things, WordLists.of(self.words)))

    def validate(self) -> Iterator[CheckProblem]:
        return unfailable(*self.things)
