"""Commands that a coding agent ran: with which exit code, how often, after the last edit, or never."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal, NotRequired, TypedDict

from msgspec import Meta, Struct

from carob.checks.base import own_field, read_each, regex_problems
from carob.checks.tools.calls import CallTimes, Often
from carob.checks.tools.names import not_understood
from carob.checks.tools.patterns import Times
from carob.evidence.deeds import Deed, Deeds
from carob.features.coding.checks.base import DEEDS, WorkspaceCheck, deeds_of, list_deeds, place_of
from carob.features.coding.checks.samples import UNSEEN_WORK, log_trace, workspace_trace
from carob.model.check import CheckProblem, Example
from carob.model.trace import Trace
from carob.model.verdict import CheckResult, Status

RUN = "A regex that finds the command: in its words, without quotes and the folder of its program, or in its line."
FIXED = workspace_trace("pytest=1", "edit:calc.py", "pytest=0")
LIED = workspace_trace("pytest=0", "edit:calc.py")
RAN = {"run": "^pytest", "exit": 0, "after_last_edit": True}


class ExpectedCommand(TypedDict):
    """A command that was run."""

    run: Annotated[str, Meta(min_length=1, description=RUN)]
    exit: NotRequired[
        Annotated[int, Meta(ge=-64, le=255, description="Its exit code: of the last one; with `times`, of each.")]
    ]
    after_last_edit: NotRequired[
        Annotated[Literal[True], Meta(description="Nothing in the workspace was changed after it began.")]
    ]
    times: NotRequired[
        Annotated[Often | CallTimes, Meta(description="How many such commands were run: a number, or {min, max}.")]
    ]
    never: NotRequired[Annotated[Literal[True], Meta(description="No such command was run, or was to be.")]]


class CommandRuns(WorkspaceCheck, Struct, frozen=True):
    """The command was run, and came out like this; or it was not even tried."""

    name: ClassVar = "commands"
    channels: ClassVar = DEEDS
    failure: ClassVar = ("", "expected: ")
    field: ClassVar = own_field(
        Annotated[list[ExpectedCommand], Meta(min_length=1)],
        "Commands that were run: {run, exit, after_last_edit, times}; with {never: true} neither run nor tried.",
        in_defaults="add_never",
    )
    examples: ClassVar = (
        Example(RAN, FIXED, Status.PASSED),
        Example(RAN, LIED, Status.FAILED),
        Example(RAN, workspace_trace("edit:calc.py", "pytest=1"), Status.FAILED),
        Example(RAN, workspace_trace("edit:calc.py"), Status.FAILED),
        Example({"run": "^pytest", "times": 2}, FIXED, Status.PASSED),
        Example({"run": "^pytest", "exit": 0, "times": 2}, FIXED, Status.FAILED),
        Example({"run": "^git push", "never": True}, FIXED, Status.PASSED),
        Example({"run": "^git push", "never": True}, workspace_trace("git push=1"), Status.FAILED),
        Example({"run": "^git push", "never": True}, workspace_trace("refused:git push"), Status.FAILED),
        Example({"run": "^git push", "never": True}, workspace_trace("pytest", logged=False), Status.UNKNOWN),
        Example({"run": "^pytest", "exit": 0}, log_trace("cd x && pytest=0"), Status.PASSED),
        Example({"run": "^pytest", "exit": 0}, log_trace("pytest; true=0"), Status.UNKNOWN),
        Example({"run": "^pytest", "exit": 0}, log_trace("pytest"), Status.UNKNOWN),
        Example(RAN, log_trace("pytest=0", "edit:calc.py"), Status.FAILED),
        Example(RAN, log_trace("pytest=0", "make=0"), Status.UNKNOWN),
        Example(RAN, workspace_trace("pytest --co=0"), Status.UNKNOWN),
        Example(RAN, workspace_trace("pytest=1", "pytest --help=0"), Status.FAILED),
        Example(RAN, log_trace("PYTEST_ADDOPTS=--co pytest=0"), Status.UNKNOWN),
        Example({**RAN, "run": "^pytest --co"}, workspace_trace("pytest --co=0"), Status.PASSED),
        Example(RAN, UNSEEN_WORK, Status.UNKNOWN),
    )
    run: str
    exit: int | None = None
    after_last_edit: bool = False
    times: int | Times | None = None
    never: bool = False

    read = read_each()

    @property
    def prohibits(self) -> bool:
        return self.never

    @property
    def description(self) -> str:
        if self.never:
            return f"no command {self.run!r}, not even tried"
        code = "" if self.exit is None else f" with exit code {self.exit}"
        when = " after the last edit" if self.after_last_edit else ""
        least, most = self._bounds
        often = (
            "" if self.times is None else f", {least} times" if least == most else f", {least} to {most or 'any'} times"
        )
        return f"command {self.run!r}{code}{when}{often}"

    @property
    def _bounds(self) -> tuple[int, int | None]:
        if isinstance(self.times, Times):
            return self.times.min, self.times.max
        return (1, None) if self.times is None else (self.times, self.times)

    def validate(self) -> Iterator[CheckProblem]:
        yield from regex_problems(self.run, "run", is_forbidden=self.prohibits)
        for key in ("exit", "after_last_edit", "times") if self.never else ():
            if getattr(self, key) not in (None, False):
                yield CheckProblem("no-effect", f"'{key}' has no effect next to 'never'.", (key,))
        least, most = self._bounds
        if most is not None and least > most:
            yield CheckProblem("out-of-range", f"min {least} is greater than max {most}.", ("times",))
        if self.times is not None and least == 0 and most is None:
            message = "any number of commands passes. Give 'max', or a higher 'min'."
            yield CheckProblem("empty-expectation", message, ("times",))

    def judge(self, trace: Trace) -> CheckResult:
        deeds = deeds_of(trace)
        if self.never:
            return self._judge_never(trace, deeds)
        found = [deed for deed in deeds.find(self.run) if not deed.refused]
        return self._judge_times(deeds, found) if self.times is not None else self._judge_last(deeds, found)

    def _judge_never(self, trace: Trace, deeds: Deeds) -> CheckResult:
        tried = deeds.find_attempts(self.run)
        for deed in tried:
            if deed.refused or not deed.why_maybe:
                return self.failed(list_deeds(tried), place_of(deed))
        why = tried[0].why_maybe if tried else deeds.why_unseen(attempts=True) or not_understood(trace)
        return self.passed_unless(why, list_deeds(tried))

    def _judge_last(self, deeds: Deeds, found: list[Deed]) -> CheckResult:
        if not found:
            return self.failed_unless(deeds.why_unseen(), list_deeds(found))
        last = last_that_counts(found) if self.exit is not None or self.after_last_edit else found[-1]
        fits, why = fit(deeds, last, self.exit, after_last_edit=self.after_last_edit)
        shown = list_deeds(found)
        if fits is None:
            return self.unknown(why)
        at = place_of(last)
        return self.passed(shown, at) if fits else self.failed(f"{why}: {shown}", at)

    def _judge_times(self, deeds: Deeds, found: list[Deed]) -> CheckResult:
        fits = [fit(deeds, deed, self.exit, after_last_edit=self.after_last_edit) for deed in found]
        sure = sum(1 for holds, _ in fits if holds)
        possible = sure + sum(1 for holds, _ in fits if holds is None)
        least, most = self._bounds
        unseen = deeds.why_unseen()
        shown = f"{sure} of them: {list_deeds(found)}"
        if sure >= least and (most is None or (possible <= most and not unseen)):
            return self.passed(shown)
        if (possible < least and not unseen) or (most is not None and sure > most):
            return self.failed(shown)
        return self.unknown(next((why for holds, why in fits if holds is None), "") or unseen)


def last_that_counts(found: Sequence[Deed]) -> Deed:
    """The last of these, rehearsals left out if there are others."""
    return next((deed for deed in reversed(found) if not deed.is_rehearsal), found[-1])


def fit(deeds: Deeds, deed: Deed, code: int | None, *, after_last_edit: bool) -> tuple[bool | None, str]:
    """Whether a command came out with this exit code, and after the last edit; None if that is not known, and why."""
    doubts = [deed.why_maybe]
    if code is not None:
        if deed.exit_code not in (code, None):
            return False, f"its exit code is {deed.exit_code}"
        doubts += [deed.why_no_exit if deed.exit_code is None else "", deed.why_empty]
    if after_last_edit:
        order = deeds.is_after_last_edit(deed)
        if order.holds is False:
            return False, order.why
        doubts.append(order.why if order.holds is None else "")
    doubt = next(filter(None, doubts), "")
    return (None, doubt) if doubt else (True, "")
