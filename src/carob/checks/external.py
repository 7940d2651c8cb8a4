"""Checks that the code or tools of others decide: code of a suite, a team's function, another tool."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypedDict, get_type_hints

import msgspec
from msgspec import Meta, Struct, structs

from carob.checks import base
from carob.checks.sample_traces import says
from carob.errors import ConfigError
from carob.model.check import CheckProblem, Example, Expected, Field
from carob.model.suite import UNJUDGED
from carob.model.trace import Trace
from carob.model.verdict import CheckResult, Group, Status
from carob.suites.shapes.containers import KnownKeys
from carob.suites.shapes.types import shape_of

SECONDS = 10.0
MOST_SAID = 1 << 20
UNTRUSTED = "the suite's code was not run: add --trust-code if you trust it"
_FOLDER = Path(__file__).parent / "code_runners"
_KEPT = ("PATH", "HOME", "LANG", "SYSTEMROOT", "TMPDIR")
"""What the code sees of the environment: keys and tokens are none of its business."""


class CheckOfCode(TypedDict):
    """A check of what code makes of the answer."""

    check: Annotated[base.Phrase, Meta(description="The name of the check; `carob help checks` has them.")]
    args: Annotated[dict[str, Any], Meta(description="Its arguments.")]


class CodeRule(TypedDict, total=False):
    """Code that judges the answer, and what it is given."""

    language: Annotated[Literal["javascript", "python"], Meta(description="The language of the code.")]
    code: Annotated[
        base.Phrase, Meta(description="An expression, or the body of a function of `output` and `context`.")
    ]
    file: Annotated[base.Phrase, Meta(description="The file that contains the function.")]
    function: Annotated[base.Phrase, Meta(description="The name of the function in the file.")]
    context: Annotated[dict[str, Any], Meta(description="Additional data for the code.")]
    threshold: Annotated[float, Meta(description="The lowest score that passes, if the code returns a number.")]
    then: Annotated[
        CheckOfCode, Meta(description="A check that judges what the code returns, as if it were the answer.")
    ]
    negated: Annotated[Literal[True], Meta(description="Invert the check: it must fail.")]


class JudgedOutput(Struct, frozen=True):
    """The check of what the code returns."""

    check: str
    args: dict[str, Any] = {}


class Code(base.AnswerCheck, Struct, frozen=True, dict=True):
    """Code of the suite accepts the answer, or makes what another check accepts; unknown unless it is trusted."""

    name: ClassVar = "code"
    group: ClassVar = Group.QA
    shows: ClassVar = frozenset({Status.UNKNOWN})
    field: ClassVar = base.own_field(
        Annotated[list[CodeRule], Meta(min_length=1)],
        "Code that judges the answer, one check per entry; it is run only with `--trust-code`. With `then` it prepares "
        "the answer for another check.",
    )
    examples: ClassVar = (
        Example({"language": "python", "code": "'Hi' in output"}, says("Hi"), Status.UNKNOWN),
        Example(
            {"language": "python", "code": "output[1:]", "then": {"check": "answer_text", "args": {"equals": "i"}}},
            says("Hi"),
            Status.UNKNOWN,
        ),
    )
    classes: ClassVar[Mapping[str, type[base.Check]]]
    """The checks that `then` may name. The catalog gives them to it: it is one of them."""
    language: Literal["javascript", "python"]
    code: str = ""
    file: str = ""
    function: str = ""
    context: dict[str, Any] = {}
    threshold: float | None = None
    negated: bool = False
    then: JudgedOutput | None = None

    read = base.read_each()

    @cached_property
    def inner(self) -> base.Check | None:
        """The check of what the code returns."""
        if self.then is None:
            return None
        kind, raw = self.classes[self.then.check], msgspec.json.encode(self.then.args)
        return base.modify(msgspec.json.decode(raw, type=type(self) if kind is Code else kind), raw)

    @property
    def description(self) -> str:
        if self.inner is not None:
            return f"{self.inner.description}, of what {self.language} makes of the answer: {self._source}"
        return f"{'not: ' if self.negated else ''}{self.language} accepts it: {self._source}"

    @property
    def _source(self) -> str:
        return f"{self.file}{f':{self.function}' if self.function else ''}" if self.file else base.excerpt(self.code)

    def validate(self) -> Iterator[CheckProblem]:
        if bool(self.code.strip()) == bool(self.file):
            yield CheckProblem("invalid-value", "give either code or file.")
        if self.then is None:
            return
        if self.negated:
            yield CheckProblem("no-effect", "negate the check in 'then' instead.", ("negated",))
        if self.then.check not in self.classes:
            yield CheckProblem("unknown-check", f"no check is called {self.then.check!r}.", ("then", "check"))
            return
        try:
            inner = self.inner
        except msgspec.ValidationError as error:
            yield CheckProblem("invalid-value", f"{self.then.check}: {error}.", ("then", "args"))
            return
        for problem in inner.validate() if inner else ():
            yield problem._replace(path=("then", "args", *problem.path))

    def judge(self, trace: Trace) -> CheckResult:
        return self.unknown(UNTRUSTED)


class TrustedCode(Code, frozen=True, dict=True):
    """The same, where the user trusts the code."""

    def judge(self, trace: Trace) -> CheckResult:
        why = base.unreadable(trace)
        return self.unknown(why) if why else self._judge(trace, trace.final_message)

    def _judge(self, trace: Trace, output: object) -> CheckResult:
        program = sys.executable if self.language == "python" else shutil.which("node")
        if program is None:
            return self.unknown("node is not installed, and JavaScript cannot be run without it")
        job = {"output": output, "context": self.context, "code": self.code}
        job |= {"file": os.path.abspath(self.file) if self.file else "", "function": self.function}
        runner = _FOLDER / ("run.py" if self.language == "python" else "run.mjs")
        answer = run_job([program, str(runner)], job)
        made = answer.get("result")
        if self.inner is None or made is None or answer.get("error") is not None:
            return self._read_result(answer)
        if isinstance(self.inner, TrustedCode):
            result = self.inner._judge(trace, made)
        else:
            result = self.inner.judge(
                structs.replace(trace, final_message=made if isinstance(made, str) else json.dumps(made))
            )
        return structs.replace(result, name=self.name, group=self.group, expected=self.description, at=None)

    def _read_result(self, answer: dict[str, Any]) -> CheckResult:
        result, error = answer.get("result"), answer.get("error")
        if error is not None:
            return CheckResult(self.name, self.group, Status.ERROR, self.description, base.excerpt(str(error)))
        graded = result if isinstance(result, dict) else {}
        reason = base.excerpt(str(graded.get("reason", graded.get("comment", json.dumps(result)))))
        if isinstance(result, dict):
            passed, score = graded.get("pass", graded.get("pass_")), graded.get("score")
            is_whole = isinstance(score, int | float) and isinstance(graded.get("reason"), str)
            result = passed if is_whole and isinstance(passed, bool) else None
        if isinstance(result, str) and result.lower() in ("true", "false"):
            result = result.lower() == "true"
        if isinstance(result, bool):
            accepted = result
        elif isinstance(result, int | float):
            accepted = result > 0 if self.threshold is None else result >= self.threshold
        else:
            what = "which is not true, false, a number or an object with `pass`, `score` and `reason`"
            why = f"the code returned {base.excerpt(json.dumps(answer.get('result')))}, {what}"
            return CheckResult(self.name, self.group, Status.ERROR, self.description, why)
        return self.passed(reason) if accepted is not self.negated else self.failed(reason)


def run_job(command: list[str], job: dict[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """What the code gave: `result`, or `error`. It and all that it started end with the deadline."""
    import subprocess  # late, as is what ends processes: few suites hold code

    from carob.system.process_tree import kill_group, start

    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        process = start(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
    except OSError as error:
        return {"error": f"it cannot be started: {error.strerror}"}
    with process:  # which closes its pipes and reaps it
        try:
            out, _ = process.communicate(json.dumps(job).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            return {"error": f"it took longer than {seconds:g} s"}
        finally:
            kill_group(process.pid)
    try:
        answer = json.loads(out[-MOST_SAID:] or b"null")
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {"error": f"it ended with code {process.returncode} and no result"}


GROUP = "team"
STATUSES = {True: Status.PASSED, False: Status.FAILED, None: Status.UNKNOWN}
ANSWERS = "True, False, a CheckResult, or a tuple of (True, False or None) and what was found"


class FunctionCheck(base.Check, Struct, frozen=True):
    """What a function of the team says of a trace and of the value that a suite gives it."""

    function: ClassVar[Callable[[Trace, object], object]]
    value: object

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[base.CheckRequest]:
        if cls.name in expected:
            yield base.CheckRequest({"value": expected[cls.name]}, (cls.name,))

    @property
    def description(self) -> str:
        return f"{self.name}: {base.excerpt(msgspec.json.encode(self.value).decode())}"

    def judge(self, trace: Trace) -> CheckResult:
        answer = type(self).function(trace, deepcopy(self.value))
        if isinstance(answer, CheckResult):
            expected = answer.expected or self.description
            return structs.replace(answer, name=self.name, group=self.group, expected=expected)
        status, detail = (
            answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, base.quote_answer(trace))
        )
        if not (isinstance(detail, str) and (isinstance(status, bool) or (status is None and answer is not None))):
            raise TypeError(f"{self.name} returned {base.excerpt(repr(answer))}, not {ANSWERS}")
        return CheckResult(self.name, self.group, STATUSES[status], self.description, base.excerpt(detail))


def from_function(name: str, function: Callable[..., object]) -> type[base.Check]:
    """The check that a function is. Raises ConfigError if it cannot be one."""
    about = (inspect.getdoc(function) or f"What {name} says about the answer.").split("\n")[0]
    attributes = {
        "__doc__": about,
        "name": name,
        "group": getattr(function, "group", GROUP),
        "fields": (Field(name, _value_type(function), f"{about.rstrip('.')}."),),
        "examples": tuple(_example(example) for example in getattr(function, "examples", ())),
        "function": staticmethod(function),
    }
    return types.new_class(name, (FunctionCheck,), {"frozen": True}, exec_body=lambda body: body.update(attributes))


def _value_type(function: Callable[..., object]) -> object:
    if inspect.iscoroutinefunction(function):
        raise ConfigError("it is async.", fix="A check must not be async: write it as a plain function.")
    try:
        signature = inspect.signature(function)
        signature.bind(None, None)
    except (TypeError, ValueError) as error:
        why = f"it cannot be called with the trace and the value: {error}."
        raise ConfigError(why, fix="Give it the parameters `trace` and `value`; others need a default.") from error
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # annotations are the user's code
        raise ConfigError(f"its types cannot be read: {type(error).__name__}: {error}.") from error
    second = list(signature.parameters.values())[1:2]
    hint = hints.get(second[0].name, object) if second and second[0].kind is not second[0].VAR_POSITIONAL else object
    shape_of(hint, KnownKeys())
    return hint


def _example(example: object) -> Example:
    """`(value, answer or trace, True, False or None)`, with a Status in place of those if that is clearer."""
    value, trace, status = example if isinstance(example, tuple) and len(example) == 3 else (None, None, "")
    example_trace = Trace(case_id="example", final_message=trace, tool_calls=()) if isinstance(trace, str) else trace
    example_status = STATUSES[status] if isinstance(status, bool | None) else status
    if not isinstance(example_trace, Trace) or example_status not in (*STATUSES.values(), Status.ERROR):
        fix = "Write each as (value, answer or Trace, True, False or None)."
        raise ConfigError(f"{base.excerpt(repr(example))} is not an example.", fix=fix)
    return Example({"value": value}, example_trace, Status(example_status))


class Unjudged(base.Check, Struct, frozen=True):
    """An expectation that only another tool can judge: counted and reported, never a pass and never a failure."""

    name: ClassVar = UNJUDGED
    description_format: ClassVar = "{self.what}"
    group: ClassVar = Group.QA
    shows: ClassVar = frozenset({Status.UNJUDGED})
    fields: ClassVar = (
        Field(
            "unjudged",
            Annotated[list[base.Phrase], Meta(min_length=1)],
            "Something that only another tool can judge, such as a rubric: reported as not judged, one per entry.",
            since="1",
        ),
    )
    examples: ClassVar = (Example({"what": "llm-rubric: is polite"}, says("Gladly."), Status.UNJUDGED),)
    what: str
    error: bool = False
    """Whether no tool can judge it: what it asks for does not exist."""

    @classmethod
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        return base.each("unjudged", "what", expected)

    def judge(self, trace: Trace) -> CheckResult:
        return CheckResult(self.name, self.group, Status.ERROR if self.error else Status.UNJUDGED, self.what)
