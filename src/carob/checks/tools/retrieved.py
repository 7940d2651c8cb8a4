"""What was retrieved: the ids in the results of a tool, next to those that should be there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, NotRequired, TypedDict

import msgspec
from msgspec import Meta, Struct

from carob.checks.answer.json import path_problems, values_at
from carob.checks.base import Phrase, ToolCheck, own_field, read_object
from carob.checks.sample_traces import UNSEEN_TOOLS, performs
from carob.checks.tools.names import describe_calls, nameless, why_unseen
from carob.matchers.values import normalize_value
from carob.model.check import CheckProblem, Example
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import CheckResult, Status
from carob.text.tool_names import is_named
from carob.text.tool_results import parse_result

DIGITS = 9
MOST_SHOWN = 5


def find_documents(*ids: object, key: str = "hits") -> Trace:
    return performs(ToolCall("search", {"q": "fees"}, success=True, result={key: [{"id": each} for each in ids]}))


Share = Annotated[float, Meta(gt=0, le=1)]


class Retrieval(TypedDict):
    """The ids that a tool should find."""

    tool: NotRequired[Annotated[Phrase, Meta(description="The tool that retrieves; any tool if not given.")]]
    at: Annotated[Phrase, Meta(description="Where the ids are in its results, as a JSONPath: `$.hits[*].id`.")]
    ids: Annotated[list[str | int | float], Meta(min_length=1, description="The ids that are relevant.")]
    recall: NotRequired[Annotated[Share, Meta(description="The lowest share of `ids` that is found; 1 if not given.")]]
    precision: NotRequired[Annotated[Share, Meta(description="The lowest share of what is found that is in `ids`.")]]


class Retrieved(ToolCheck, Struct, frozen=True):
    """The tool retrieved enough of the ids that are relevant, and not too many others."""

    name: ClassVar = "retrieved"
    field: ClassVar = own_field(
        Retrieval,
        "The ids in the results of a tool, over all its calls: {tool, at, ids, recall, precision}. Unknown where a "
        "result has nothing at `at`.",
    )
    examples: ClassVar = (
        Example({"at": "$.hits[*].id", "ids": [7, "b"]}, find_documents("b", 7.0), Status.PASSED),
        Example({"at": "$.hits[*].id", "ids": [7, "b"]}, find_documents("b", "c"), Status.FAILED),
        Example({"at": "$.hits[*].id", "ids": [7, "b"], "recall": 0.5}, find_documents("b", "c"), Status.PASSED),
        Example({"at": "$.hits[*].id", "ids": ["b"], "precision": 0.6}, find_documents("b", "c"), Status.FAILED),
        Example({"at": "$.hits[*].id", "ids": ["b"]}, find_documents(), Status.FAILED),
        Example({"at": "$.hits[*].id", "ids": ["b"]}, find_documents("b", key="rows"), Status.UNKNOWN),
        Example({"tool": "look", "at": "$.hits[*].id", "ids": ["b"]}, find_documents("b"), Status.FAILED),
        Example({"at": "$.hits[*].id", "ids": ["b"]}, UNSEEN_TOOLS, Status.UNKNOWN),
    )
    at: str
    ids: tuple[str | int | float, ...]
    tool: str = "*"
    recall: float = 1.0
    precision: float | None = None

    read = read_object()

    @property
    def description(self) -> str:
        precise = "" if self.precision is None else f" and a precision of {self.precision:g}"
        return f"a recall of {self.recall:g}{precise} of {len(self.ids)} ids at {self.at} of {self.tool!r}"

    def validate(self) -> Iterator[CheckProblem]:
        yield from nameless(self.tool)
        yield from path_problems(self.at, "at")

    def judge(self, trace: Trace) -> CheckResult:
        retrieved: dict[bytes, object] = {}
        doubt = why_unseen(trace, (self.tool,)) or trace.cut("tool_results")
        calls = [call for call in trace.tool_calls if call.called and is_named(self.tool, call.full_name)]
        for call in calls:
            ids = None if call.result is None else _ids_at(self.at, parse_result(call.result))
            if ids is None and call.success is not False:
                doubt = doubt or f"the result of {call.name} has nothing at {self.at}"
            retrieved |= {_key(each): each for each in ids or ()}
        relevant = {_key(each): each for each in self.ids}
        missing = [str(each) for key, each in relevant.items() if key not in retrieved]
        recall = 1 - len(missing) / len(relevant)
        precision = (len(relevant) - len(missing)) / len(retrieved) if retrieved else 0.0
        enough = round(recall, DIGITS) >= round(self.recall, DIGITS)
        precise = self.precision is None or round(precision, DIGITS) >= round(self.precision, DIGITS)
        shown = f"recall {recall:.3g}, precision {precision:.3g} of {len(retrieved)}"
        shown += f", without {', '.join(missing[:MOST_SHOWN])}" if missing else ""
        if enough and precise:
            return self.passed_unless(doubt if self.precision is not None else None, shown)
        return self.failed_unless(doubt, shown if calls else describe_calls(trace))


def _ids_at(path: str, value: object) -> list[object] | None:
    """The ids that a result holds; None where it has no such place, which an empty list is."""
    ids = [each for _, each in values_at(path, value)]
    if len(ids) == 1 and isinstance(ids[0], list):
        return ids[0]
    before, wildcard, _ = path.partition("[*]")
    is_empty = wildcard and any(each == [] for _, each in values_at(before, value))
    return ids if ids or is_empty else None


def _key(value: object) -> bytes:
    return msgspec.json.encode(normalize_value(value), order="deterministic", enc_hook=str)
