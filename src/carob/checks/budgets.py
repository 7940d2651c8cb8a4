"""What a turn may cost: calls, seconds, steps, tokens, money. What was not measured is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, TypedDict

from msgspec import Meta, Struct

from carob.checks.base import CALLS, Check, CheckRequest, Phrase, out_of_reach, own_field, read_members, read_with
from carob.checks.sample_traces import UNSEEN_TOOLS, calls, performs
from carob.checks.tools.names import describe_calls, nameless, not_ruled_out, why_unseen
from carob.model.check import CheckProblem, Example, Expected
from carob.model.cost import COST, cost_usd
from carob.model.trace import Tokens, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.plugins.project import Project
from carob.text.tool_names import is_same_tool

Number = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(gt=0)]

FIRST_TOKEN = "first_token_ms"
NO_PRICES = "no price is known: add [prices] with input and output, in USD per million tokens, to carob.toml"


class Budget(Check):
    """A measure of the turn, and the most that it may be."""

    __slots__ = ()
    group: ClassVar = Group.BUDGET
    description_format: ClassVar = "at most {self.limit:g}{self.unit}"
    argument: ClassVar[str] = "most"
    """The argument that is the limit."""
    unit: ClassVar[str] = ""
    unmeasured: ClassVar[str] = "the target did not measure it"
    far: ClassVar[tuple[float, str]]
    """From where on no turn comes near the limit, and that in words."""

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        if cls.name in expected:
            yield CheckRequest({cls.argument: expected[cls.name]}, (cls.name,))

    @property
    def limit(self) -> float:
        limit: float = getattr(self, self.argument)
        return limit

    def measure(self, trace: Trace) -> float | None:
        """How much it was; None where it was not measured."""
        raise NotImplementedError

    @property
    def why_always_passes(self) -> str:
        return out_of_reach(self.limit, *self.far)

    def judge(self, trace: Trace) -> CheckResult:
        measured = self.measure(trace)
        if measured is None:
            return self.unknown(self.unmeasured)
        amount = f"{measured:.6g}{self.unit}"
        return self.failed(amount) if measured > self.limit else self.passed(amount)


class _CallBudget(Check):
    """The most calls of a turn, made or asked for."""

    __slots__ = ()
    group: ClassVar = Group.BUDGET
    channels: ClassVar = CALLS
    most: int

    @property
    def why_always_passes(self) -> str:
        return out_of_reach(self.most, 1000, "a thousand calls")


class MaxToolCalls(_CallBudget, Struct, frozen=True):
    """No more tools were called, or asked for, than that."""

    name: ClassVar = "max_tool_calls"
    description_format: ClassVar = "at most {self.most} tool calls"
    field: ClassVar = own_field(Number, "The maximum number of tool calls, over all tools.", in_defaults="smaller")
    examples: ClassVar = (
        Example({"most": 2}, calls("find book"), Status.PASSED),
        Example({"most": 1}, calls("find book:refused"), Status.FAILED),
        Example({"most": 1}, UNSEEN_TOOLS, Status.UNKNOWN),
        Example({"most": 1}, calls("find", telemetry=("12:00 tool call: book",)), Status.UNKNOWN),
    )
    most: int

    read = read_with("most")

    def judge(self, trace: Trace) -> CheckResult:
        tool_calls = trace.tool_calls
        if len(tool_calls) > self.most:
            return self.failed(
                f"{len(tool_calls)}: {describe_calls(trace)}", EvidenceLocation("tool_calls", index=self.most)
            )
        return self.passed_unless(why_unseen(trace), f"{len(tool_calls)}: {describe_calls(trace)}")


class MaxCalls(_CallBudget, Struct, frozen=True):
    """No more calls of one tool, made or asked for under any spelling of its name."""

    name: ClassVar = "max_calls"
    description_format: ClassVar = "at most {self.most} calls to {self.tool!r}"
    field: ClassVar = own_field(
        Annotated[dict[Phrase, Number], Meta(min_length=1)],
        "The maximum number of calls, by tool.",
        in_defaults="smaller",
    )
    examples: ClassVar = (
        Example({"tool": "find", "most": 1}, calls("find book book"), Status.PASSED),
        Example({"tool": "book", "most": 1}, calls("book functions.book:refused"), Status.FAILED),
        Example({"tool": "book", "most": 1}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    tool: str
    most: int

    read = read_members("tool", "most")

    def validate(self) -> Iterator[CheckProblem]:
        return nameless(self.tool)

    def judge(self, trace: Trace) -> CheckResult:
        positions = [index for index, call in enumerate(trace.tool_calls) if is_same_tool(self.tool, call.full_name)]
        if len(positions) > self.most:
            return self.failed(
                f"{len(positions)} calls: {describe_calls(trace)}",
                EvidenceLocation("tool_calls", index=positions[self.most]),
            )
        return self.passed_unless(not_ruled_out(trace, self.tool), f"{len(positions)} calls")


class MaxSeconds(Budget, Struct, frozen=True):
    """The turn took no longer."""

    name: ClassVar = "max_seconds"
    channels: ClassVar = frozenset({"duration_ms"})
    argument: ClassVar = "seconds"
    unit: ClassVar = " s"
    far: ClassVar = (3600, "an hour")
    field: ClassVar = own_field(Amount, "The maximum time for the turn.", in_defaults="smaller")
    examples: ClassVar = (
        Example({"seconds": 2}, performs(duration_ms=2000.0), Status.PASSED),
        Example({"seconds": 2}, performs(duration_ms=2001.0), Status.FAILED),
        Example({"seconds": 2}, performs(), Status.UNKNOWN),
    )
    seconds: float

    def measure(self, trace: Trace) -> float | None:
        return None if trace.duration_ms is None else trace.duration_ms / 1000


class MaxFirstTokenSeconds(Budget, Struct, frozen=True):
    """The first word of the answer came no later."""

    name: ClassVar = "max_first_token_seconds"
    channels: ClassVar = frozenset({"timings"})
    argument: ClassVar = "seconds"
    unit: ClassVar = " s"
    unmeasured: ClassVar = (
        f"the target did not measure it: it does not stream its answer and gives no `timings.{FIRST_TOKEN}`"
    )
    far: ClassVar = (600, "ten minutes")
    field: ClassVar = own_field(Amount, "The maximum time to the first word of the answer.", in_defaults="smaller")
    examples: ClassVar = (
        Example({"seconds": 1}, performs(timings={FIRST_TOKEN: 900.0}), Status.PASSED),
        Example({"seconds": 1}, performs(timings={FIRST_TOKEN: 1100.0}), Status.FAILED),
        Example({"seconds": 1}, performs(), Status.UNKNOWN),
    )
    seconds: float

    def measure(self, trace: Trace) -> float | None:
        waited = trace.timings.get(FIRST_TOKEN)
        return None if waited is None else waited / 1000


class MaxSteps(Budget, Struct, frozen=True):
    """The agent took no more steps, as its target counts them."""

    name: ClassVar = "max_steps"
    channels: ClassVar = frozenset({"steps"})
    unit: ClassVar = " steps"
    unmeasured: ClassVar = "the target does not count steps"
    far: ClassVar = (1000, "a thousand steps")
    field: ClassVar = own_field(
        Annotated[int, Meta(ge=1)],
        "The maximum number of steps, for instance of a LangGraph graph.",
        in_defaults="smaller",
    )
    examples: ClassVar = (
        Example({"most": 3}, performs(steps=3), Status.PASSED),
        Example({"most": 3}, performs(steps=4), Status.FAILED),
        Example({"most": 3}, performs(), Status.UNKNOWN),
    )
    most: int

    def measure(self, trace: Trace) -> float | None:
        return trace.steps


class TokenLimits(TypedDict, total=False):
    """The most tokens."""

    input: Annotated[int, Meta(ge=1, description="The maximum number of input tokens.")]
    output: Annotated[int, Meta(ge=1, description="The maximum number of output tokens.")]
    total: Annotated[int, Meta(ge=1, description="The maximum of both together.")]


class MaxTokens(Budget, Struct, frozen=True):
    """The models of the turn read and wrote no more."""

    name: ClassVar = "max_tokens"
    description_format: ClassVar = "at most {self.most} {self.of} tokens"
    channels: ClassVar = frozenset({"tokens"})
    unit: ClassVar = " tokens"
    unmeasured: ClassVar = "the target did not count these tokens"
    far: ClassVar = (100_000_000, "a hundred million tokens")
    field: ClassVar = own_field(
        Annotated[TokenLimits | Annotated[int, Meta(ge=1)], Meta(min_length=1)],
        "The maximum number of tokens: {input, output, total}, or a number for the total.",
        in_defaults="smaller",
    )
    examples: ClassVar = (
        Example({"most": 50, "of": "total"}, performs(tokens=Tokens(30, 20)), Status.PASSED),
        Example({"most": 49, "of": "total"}, performs(tokens=Tokens(30, 20)), Status.FAILED),
        Example({"most": 29, "of": "input"}, performs(tokens=Tokens(30, 20)), Status.FAILED),
        Example({"most": 20, "of": "output"}, performs(tokens=Tokens(30, 20)), Status.PASSED),
        Example({"most": 50, "of": "total"}, performs(tokens=Tokens(30)), Status.UNKNOWN),
        Example({"most": 50, "of": "input"}, performs(), Status.UNKNOWN),
    )
    most: int
    of: Literal["input", "output", "total"]

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        limits = expected.get("max_tokens", {})
        for of, most in limits.items() if isinstance(limits, dict) else [("total", limits)]:
            yield CheckRequest(
                {"most": most, "of": of}, ("max_tokens", of) if isinstance(limits, dict) else ("max_tokens",)
            )

    def measure(self, trace: Trace) -> float | None:
        input_tokens, output_tokens = (trace.tokens.input, trace.tokens.output) if trace.tokens else (None, None)
        if self.of != "total":
            return input_tokens if self.of == "input" else output_tokens
        return None if input_tokens is None or output_tokens is None else input_tokens + output_tokens


class MaxCostUsd(Budget, Struct, frozen=True):
    """The turn cost no more, as it reported itself, else at the prices of the project when the suite was read."""

    name: ClassVar = "max_cost_usd"
    channels: ClassVar = frozenset({"tokens", "metadata"})
    argument: ClassVar = "usd"
    unit: ClassVar = " USD"
    far: ClassVar = (1000, "a thousand dollars")
    field: ClassVar = own_field(
        Amount,
        "The maximum cost of the turn: as reported by spans or a service, otherwise from its tokens and [prices].",
        in_defaults="smaller",
    )
    examples: ClassVar = (
        Example({"usd": 0.01, "prices": [1, 4]}, performs(tokens=Tokens(2000, 2000)), Status.PASSED),
        Example({"usd": 0.009, "prices": [1, 4]}, performs(tokens=Tokens(2000, 2000)), Status.FAILED),
        Example({"usd": 0.01, "prices": [1, 4]}, performs(tokens=Tokens(2000)), Status.UNKNOWN),
        Example({"usd": 0.01}, performs(tokens=Tokens(2000, 2000)), Status.UNKNOWN),
        Example({"usd": 0.01}, performs(metadata={COST: 0.01}), Status.PASSED),
        Example({"usd": 0.01, "prices": [1, 4]}, performs(tokens=Tokens(1, 1), metadata={COST: 0.02}), Status.FAILED),
    )
    usd: float
    prices: tuple[float, float] | None = None

    @classmethod
    def read_in(cls, project: Project, expected: Expected) -> Iterator[CheckRequest]:
        if "max_cost_usd" in expected:
            price_list = project.prices
            prices = {} if price_list is None else {"prices": [price_list.input, price_list.output]}
            yield CheckRequest({"usd": expected["max_cost_usd"], **prices}, ("max_cost_usd",))

    @property
    def unmeasured(self) -> str:  # type: ignore[override]
        return NO_PRICES if self.prices is None else "the target did not count these tokens"

    def measure(self, trace: Trace) -> float | None:
        return cost_usd(trace.metadata, trace.tokens, self.prices)
