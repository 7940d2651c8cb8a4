"""Commands of the suite itself that are run in the workspace once the agent is done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, NotRequired, TypedDict

from msgspec import UNSET, Meta, Struct

from carob.checks.base import Phrase, excerpt, own_field, read_each
from carob.features.coding.checks.base import WorkspaceCheck, evidence_of
from carob.features.coding.checks.samples import UNSEEN_WORK, workspace_trace
from carob.matchers.reading import MatchedValue, find_problems, matcher
from carob.matchers.values import format_value
from carob.model.check import CheckProblem, Example
from carob.model.trace import Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.model.workspace import AfterRun

NOT_RUN = "{!r} was not run in this run: run the case again"
PASSES = workspace_trace(after={"pytest -q": AfterRun(0, "2 passed"), "make": AfterRun(why="it took longer than 60 s")})


class ExpectedAfter(TypedDict):
    """A command of the suite, run in the workspace when the agent is done."""

    run: Annotated[str, Meta(min_length=1, description="The command line, for `/bin/sh`.")]
    exit: NotRequired[Annotated[int, Meta(ge=-64, le=255, description="Its exit code; 0 if not given.")]]
    output: NotRequired[Annotated[MatchedValue, Meta(description="The end of its output; matchers are allowed.")]]
    seconds: NotRequired[Annotated[float, Meta(gt=0, le=86_400, description="Its deadline; 60 if not given.")]]
    restore: NotRequired[
        Annotated[
            list[Phrase],
            Meta(description="The fixture's files that are put back before, in place of the published `test_files`."),
        ]
    ]


class AfterCommand(WorkspaceCheck, Struct, frozen=True):
    """A command of ours exits with this code, with the fixture's own tests and settings back in place."""

    name: ClassVar = "after"
    channels: ClassVar = frozenset({"after"})
    failure: ClassVar = ("", "expected: ")
    field: ClassVar = own_field(
        Annotated[list[ExpectedAfter], Meta(min_length=1)],
        "Commands that Carob runs in the workspace when the agent is done, with the fixture's own test and "
        "configuration files put back: {run, exit, output, seconds, restore}.",
    )
    examples: ClassVar = (
        Example({"run": "pytest -q"}, PASSES, Status.PASSED),
        Example({"run": "pytest -q", "exit": 1}, PASSES, Status.FAILED),
        Example({"run": "pytest -q", "output": {"$contains": "2 passed"}}, PASSES, Status.PASSED),
        Example({"run": "pytest -q", "output": {"$contains": "3 passed"}}, PASSES, Status.FAILED),
        Example({"run": "make"}, PASSES, Status.FAILED),
        Example({"run": "ruff check"}, PASSES, Status.UNKNOWN),
        Example({"run": "pytest -q"}, UNSEEN_WORK, Status.UNKNOWN),
    )
    run: str
    exit: int = 0
    output: Any = UNSET
    seconds: float | None = None
    restore: tuple[str, ...] | None = None

    read = read_each()

    @property
    def description(self) -> str:
        output = f" and the output {format_value(self.output)}" if self.output is not UNSET else ""
        return f"afterwards {self.run!r} exits with {self.exit}{output}"

    def validate(self) -> Iterator[CheckProblem]:
        if not self.run.strip():
            yield CheckProblem("empty-expectation", "a blank line runs nothing.", ("run",))
        if self.output is not UNSET:
            yield from find_problems(self.output, ("output",))

    def judge(self, trace: Trace) -> CheckResult:
        evidence, why = evidence_of(trace, "after")
        done = evidence.after.get(self.run)
        if why or done is None:
            return self.unknown(why or NOT_RUN.format(self.run))
        if done.exit_code is None:
            return self.failed(f"no exit code: {done.why}", EvidenceLocation("after"))
        shown = f"exit code {done.exit_code}: {excerpt(done.output[-400:])}"
        expected = None if self.output is UNSET else matcher(self.output)
        is_wrong = expected is not None and not (
            expected.holds(done.output) or expected.holds(done.output.removesuffix("\n"))
        )
        if done.exit_code != self.exit or is_wrong:
            return self.failed(shown, EvidenceLocation("after"))
        return self.passed(shown, EvidenceLocation("after"))
