"""Cases, suites and expectations on one trace that are written in Python, in the words of a suite file."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Unpack

from msgspec import structs

from carob.checks.catalog import catalog_for
from carob.engine.rescoring import load_in
from carob.errors import SuiteError, UsageError
from carob.evidence.merge import merge_turns
from carob.evidence.recorder import Recorder
from carob.evidence.short_form import Short, read
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.trace import DECISION, Trace
from carob.model.verdict import CaseStatus, Status, Verdict
from carob.plugins.project import Project, find_project
from carob.reports.case_details import first_reason, why_not_passed
from carob.scoring import verdicts
from carob.targets.base import TargetError
from carob.targets.conversation import to_trace

if TYPE_CHECKING:
    from carob.checks._keywords import CaseKeywords, CheckKeywords, SuiteKeywords  # written by the build: `make setup`

OF_SUITE = ("effects", "words")
OF_CASE = frozenset(
    (
        *("category", "cluster", "faults", "max_turns", "override", "preconditions", "replies", "scoring"),
        *("setup_prompts", "skip", "stubs", "tags", "turns", "xfail"),
    )
)
"""The keywords of `carob.case` that are keys of the case itself; all others are keys of its `expected`."""
NAME = "check"
USER_ROLES = ("user", "human")
WHICH_TURN = (
    "`messages` hold several turns with calls of tools, so what the user had said before each call is not known: give "
    "the conversation as `turns`"
)


class ComparedValues(NamedTuple):
    """Two values that should be equal: where that was asked for, what was found, and what was wanted."""

    label: str
    found: object
    wanted: object


class ExpectationError(AssertionError):
    """A trace that is not as expected. The text is the evidence; `differences` are values that should be equal."""

    __module__ = "carob"  # the name under which it is caught, and which a failed test shows

    def __init__(self, record: CaseRecord, differences: tuple[ComparedValues, ...]) -> None:
        super().__init__("\n".join((f"{record.status}: {first_reason(record)}", *why_not_passed(record))))
        self.verdict = record.verdict
        self.trace = record.trace
        self.differences = differences


def case(id: str, prompt: str = "", /, **keywords: Unpack[CaseKeywords]) -> dict[str, object]:
    """A case: `carob.case("refund", "I want my money back.", tool_calls_none=["issue_refund"], tags=["money"])`.

    The keywords are the keys of `expected` in a suite, and those of a case. It is what a suite file would hold, for
    `carob.suite` and `carob.judge`; `prompt` is left out if `turns` are given. Raises a UsageError for a mistake in it.
    """
    case_keys = {key: value for key, value in keywords.items() if key in OF_CASE}
    expected = {key: value for key, value in keywords.items() if key not in OF_CASE}
    document = {"id": id, **({"prompt": prompt} if prompt else {}), **case_keys, "expected": expected}
    read_case(document, find_project())
    return document


def suite(name: str, cases: Iterable[Mapping[str, object]], /, **around: Unpack[SuiteKeywords]) -> dict[str, object]:
    """A suite of cases: `carob.suite("refunds", [carob.case(...), ...])`.

    It is what a suite file would hold, so everything that takes a suite takes it. Raises a SuiteError with every
    problem in it.
    """
    document: dict[str, object] = {"carob": 1, "name": name, **around, "cases": list(cases)}
    load_in(document, find_project())
    return document


def check(trace: Trace | Mapping[str, object], **expected: Unpack[CheckKeywords]) -> Verdict:
    """Assert what a trace must show: `carob.check(turn, tool_calls_none=["refund"], must_say_any=["sorry"])`.

    The keywords are the keys of `expected` in a suite, and `effects` and `words` of its top. Raises an
    ExpectationError, an AssertionError with the evidence of every check that failed or could not be decided.
    """
    __tracebackhide__ = True  # pytest shows the line that asks, not this one
    project = find_project()
    record = judge_expected(trace, dict(expected), project)
    if record.status is not CaseStatus.PASS:
        raise ExpectationError(record, find_differences(record, project))
    return record.verdict


def judge_expected(trace: object, expected: Mapping[str, object], project: Project) -> CaseRecord:
    """A trace and its verdict by keys of `expected`, and of the top of a suite, as the record of a case."""
    __tracebackhide__ = True
    requirements = dict(expected)
    around = {key: requirements.pop(key) for key in OF_SUITE if key in requirements}
    if not isinstance(trace, Trace | Mapping):
        raise _not_a_trace(trace)
    prompt = (trace.input if isinstance(trace, Trace) else str(trace.get("input") or "")) or NAME
    case = read_case({"id": NAME, "prompt": prompt, "expected": requirements}, project, **around)
    observed_trace = read_trace(trace if isinstance(trace, Trace) else {**trace, "case_id": None}, case)
    verdict = verdicts.judge_case(case, observed_trace, case.catalog or catalog_for(project))
    return CaseRecord(index=0, case=case, trace=observed_trace, verdict=verdict)


def find_differences(record: CaseRecord, project: Project) -> tuple[ComparedValues, ...]:
    """The values that failed checks of a case found to differ, for those checks that compare values."""
    checks = catalog_for(project).checks(record.case.checks)
    differences = []
    for spec, compiled, result in zip(record.case.checks, checks, record.verdict.checks, strict=False):
        if result.status is Status.FAILED and (pair := compiled.compared_values(record.trace)) is not None:
            differences.append(ComparedValues(spec.path, *pair))
    return tuple(differences)


def read_case(document: object, project: Project, **around: object) -> Case:
    """A case from a dict as a Carob 1 suite has it; `around` are keys of the top of the suite."""
    __tracebackhide__ = True
    if not isinstance(document, Mapping):
        fix = "Give carob.case(...), or a dict with the keys of a case; the case comes before the trace."
        raise UsageError(f"{type(document).__name__!r} is not a case.", fix=fix, slug="bad-case")
    case = {"id": NAME, **document}
    try:
        (case_read,) = load_in({"carob": 1, **around, "cases": [case]}, project).cases
    except SuiteError as error:
        problems = "; ".join(
            f"{problem.path.removeprefix('cases[0].')}: {problem.message}" for problem in error.problems
        )
        raise UsageError(problems, slug=error.problems[0].slug) from None
    except ValueError:
        raise UsageError("the case has several rows.", fix="Give one case, without `each`.", slug="bad-case") from None
    return case_read


def _not_a_trace(trace: object) -> UsageError:
    """The error for what is neither a trace nor a dict."""
    fix = "Give a carob.Trace, or a dict with `final_message` and `tool_calls`."
    if isinstance(trace, str):
        fix = "For an answer alone, give {'final_message': ANSWER}; with `tool_calls` if it made calls."
    elif isinstance(trace, list | tuple):
        fix = "For messages of a conversation, give carob.trace_from_messages(MESSAGES)."
    elif inspect.isawaitable(trace):
        fix = "It is still to be awaited: write `await`; for carob_agent there is ask_sync too."
    return UsageError(f"{type(trace).__name__!r} is not a trace.", fix=fix, slug="bad-trace")


def read_trace(trace: object, case: Case) -> Trace:
    """A trace, or one from a dict as a `python:` agent may return it."""
    __tracebackhide__ = True
    if isinstance(trace, Trace):
        return _hear_user(trace)
    if not isinstance(trace, Mapping):
        raise _not_a_trace(trace)
    try:
        short = read(dict(trace))
    except ValueError as error:
        raise UsageError(f"the dict is not a trace: {error}.", slug="bad-trace") from None
    if not short.turns:
        return _build_trace(short, case)
    return merge_turns([_build_trace(turn, case) for turn in short.turns])


def _build_trace(short: Short, case: Case) -> Trace:
    try:
        return _hear_user(
            to_trace(short, structs.replace(case, prompt=short.input or case.prompt), Recorder()), all_words=True
        )
    except TargetError as error:
        if error.partial is None:
            raise UsageError(f"the dict is not a trace of this case: {error.message}.", slug="bad-trace") from None
        return structs.replace(error.partial, error=error.error)


def _hear_user(trace: Trace, *, all_words: bool = False) -> Trace:
    """A trace with the words of the user that its messages hold: the last ones are its input, where it has none.

    `all_words`: what they said before counts next to an input as well.
    """
    if trace.turns or DECISION in trace.metadata or (trace.input and not all_words):
        return trace
    spoken = [number for number, message in enumerate(trace.messages) if message.role in USER_ROLES]
    first = last = spoken[-1] if spoken else 0
    while first - 1 in spoken:
        first -= 1
    said = [trace.messages[number].content for number in spoken if first <= number]
    if trace.input and spoken and trace.input.strip() not in ("\n".join(said).strip(), said[-1].strip()):
        first, said = last + 1, []
    before = tuple(trace.messages[number].content for number in spoken if number < first)
    unobserved = trace.unobserved
    if before and any(message.role == "tool" for message in trace.messages[:first]):
        unobserved = {**unobserved, "input": WHICH_TURN}
    return structs.replace(
        trace,
        input=trace.input or "\n".join(said),
        setup_prompts=(*trace.setup_prompts, *before),
        unobserved=unobserved,
    )
