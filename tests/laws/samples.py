"""Each key of `expected` with values, an answer that meets it and one that does not: what the laws are tried on.

They are those that the seeds' tests hold every field to, so that a new key is under the laws at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from carob.checks.base import Check
from carob.checks.catalog import OWN, CheckCatalog
from carob.engine.authoring import read_trace
from carob.model.check import CheckSpec, Example
from carob.model.suite import Case
from carob.model.trace import SpanNode, ToolCall, Trace
from carob.model.verdict import CaseStatus, CheckResult, Verdict
from carob.plugins.project import Prices, Project
from carob.scoring.verdicts import judge_case
from carob.suites import loads
from seeds import test_fields as seeds

HERE = Path(__file__).parent
EFFECTS = {"book": ["booked"]}
CLAIMS = {"tests": {"words": ["tests pass"], "run": "^pytest"}}
PROJECT = Project(prices=Prices(1.0, 4.0))
CATALOG = CheckCatalog(PROJECT)

Expected = Mapping[str, Any]


class Sample(NamedTuple):
    """A key of `expected`, with what else its value needs, a trace that meets it and one that does not."""

    key: str
    expected: Expected
    passing: Trace
    failing: Trace
    check: str

    @property
    def name(self) -> str:
        return json.dumps(self.expected)


CASE = Case(id="A", prompt="p", checks=())

WITHOUT_SAMPLE = {
    "unjudged": "it holds what only another tool can judge, so that no answer passes or fails",
    "meets": "its text is judged by people, for exactly one answer each: tests/criteria holds what they decide",
    "code": "it runs nothing unless the user trusts it; then its verdict is that of the code",
}
"""Keys that no answer can pass or fail."""

SPAN = SpanNode(id="1", name="chat gpt", kind="model")
_DONE = Trace(case_id="A", final_message="Done.", tool_calls=(), spans=(SPAN,))
_OWN = (
    Sample(
        "spans",
        {"spans": [{"pattern": "chat *", "max": 1}]},
        _DONE,
        structs.replace(_DONE, spans=(SPAN, structs.replace(SPAN, id="2"))),
        "spans",
    ),
)
"""Samples of keys that no recording holds evidence for."""


def build_trace(short: Mapping[str, Any]) -> Trace:
    """The trace of a recording in its short form."""
    return read_trace(dict(seeds.observed(dict(short))), CASE)


def _read_samples() -> Iterator[Sample]:
    for name, row in seeds.ROWS.items():
        key = seeds.field(name)
        yield Sample(key, row.expected, build_trace(row.passing), build_trace(row.failing), row.check or key)
    yield from _OWN


SAMPLES = tuple(_read_samples())
KEYS = tuple(dict.fromkeys(sample.key for sample in SAMPLES))

EXAMPLES: tuple[tuple[type[Check], Example], ...] = tuple((cls, one) for cls in OWN.values() for one in cls.examples)
"""Every example of every check: how it passes, fails and is unknown."""


def build_check(cls: type[Check], args: Mapping[str, object]) -> Check:
    (check,) = CATALOG.checks((CheckSpec(cls.name, json_raw(args)),))
    return check


def json_raw(value: object) -> Any:
    return msgspec.Raw(msgspec.json.encode(value))


def read_suite(*cases: Mapping[str, Any], **top: Any) -> tuple[Case, ...]:
    """The cases of a Carob 1 suite."""
    tree = {"carob": 1, **top, "cases": [{"prompt": "p", **case} for case in cases]}
    return loads(json.dumps(tree).encode(), str(HERE / "s.json"), CATALOG).cases


def read_case(expected: Expected, effects: Mapping[str, Any] | None = EFFECTS, **top: Any) -> Case:
    """The case of a suite with these expectations."""
    around = {"effects": effects, **top} if effects else top
    (case,) = read_suite({"id": "A", "expected": expected}, **around)
    return case


POLICY = {"policy.md": (HERE / "policy.md").read_text()}


def build_case(expected: Expected) -> Case:
    """The same case, without the way through a file."""
    files = {"grounded_in": POLICY} if "grounded_in" in expected else {}
    asked = CATALOG.read({"effects": EFFECTS, "claim_words": CLAIMS, **expected, **files})
    return Case(id="A", prompt="p", checks=tuple(one.spec for one in asked))


def describe(trace: Trace) -> str:
    return f"{trace.final_message!r} after {', '.join(map(str, trace.tool_calls)) or 'no call'}"


def judge(case: Case, trace: Trace) -> Verdict:
    return judge_case(case, trace, CATALOG)


def status(expected: Expected, trace: Trace, **how: Any) -> CaseStatus:
    """The status of a case with these expectations."""
    return judge(read_case(expected, **how), trace).status


def results(expected: Expected, trace: Trace, check: str) -> list[CheckResult]:
    """The results of the checks of this name."""
    return [result for result in judge(read_case(expected), trace).checks if result.name == check]


TEXTS = (
    "Done.", "Sure, the PIN of Bo is 4711.", "I may not do that.", "It failed.", "Which day?", "Booked.", "",
    "It is unavailable.", "Have a nice day.", "I have booked it.",
)  # fmt: skip
SCRIPTS = (
    "", "book+", "book-", "book!", "book", "find+", "find-", "find!", "book+ book-", "book- book+", "find- book+",
    "find+ book-", "find! book+ book-", "find+ book+",
)  # fmt: skip
"""What an agent may have called: `+` succeeded, `-` failed, `!` broke."""


def played(script: str, text: str) -> Trace:
    return build_trace(seeds.calls(*script.split(), text=text))


POOL: tuple[Trace, ...] = (
    *(played(script, text) for script in SCRIPTS for text in TEXTS),
    *(trace for sample in SAMPLES for trace in (sample.passing, sample.failing)),
)
"""Traces that differ in what was called and said."""


def swap_tools(expected: Any) -> Any:
    """The same expectations of another tool."""
    names = {"book": "find", "find": "book"}
    if isinstance(expected, dict):
        return {names.get(key, key): swap_tools(value) for key, value in expected.items()}
    if isinstance(expected, list):
        return [swap_tools(value) for value in expected]
    return names.get(expected, expected) if isinstance(expected, str) else expected


VARIANTS: tuple[tuple[str, Expected], ...] = tuple(
    (key, json.loads(text))
    for key, text in dict.fromkeys(
        (sample.key, json.dumps(expected))
        for sample in SAMPLES
        for expected in (sample.expected, swap_tools(sample.expected))
    )
)
"""Every key with its values, also for another tool."""


def called(*calls: ToolCall, text: str = "Done.", **more: Any) -> Trace:
    return Trace(case_id="A", final_message=text, tool_calls=calls, **more)
