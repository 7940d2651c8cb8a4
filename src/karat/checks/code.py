"""Code that a suite holds: it is run only where the user trusts it, in a process of its own with a deadline."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from msgspec import Meta, Struct

from karat.checks.base import ANSWER, Check, Phrase, excerpt, unreadable
from karat.checks.reading import read_each
from karat.checks.sample_traces import says
from karat.model.check import CheckProblem, Example, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group, Status

SECONDS = 10.0
MOST_SAID = 1 << 20
UNTRUSTED = "the suite's code was not run: add --trust-code if you trust it"
_FOLDER = Path(__file__).parent / "code_runners"
_KEPT = ("PATH", "HOME", "LANG", "SYSTEMROOT", "TMPDIR")
"""What the code sees of the environment: keys and tokens are none of its business."""


class CodeRule(TypedDict, total=False):
    """Code that judges the answer, and what it is given."""

    language: Annotated[Literal["javascript", "python"], Meta(description="The language of the code.")]
    code: Annotated[Phrase, Meta(description="An expression, or the body of a function of `output` and `context`.")]
    file: Annotated[Phrase, Meta(description="The file that contains the function.")]
    function: Annotated[Phrase, Meta(description="The name of the function in the file.")]
    context: Annotated[dict[str, Any], Meta(description="Additional data for the code.")]
    threshold: Annotated[float, Meta(description="The lowest score that passes, if the code returns a number.")]
    negated: Annotated[Literal[True], Meta(description="Invert the check: it must fail.")]


class Code(Check, Struct, frozen=True):
    """Code of the suite accepts the answer; without `--trust-code` it is not run, and the check is unknown."""

    name: ClassVar = "code"
    group: ClassVar = Group.QA
    channels: ClassVar = ANSWER
    shows: ClassVar = frozenset({Status.UNKNOWN})
    fields: ClassVar = (
        Field(
            "code",
            Annotated[list[CodeRule], Meta(min_length=1)],
            "Code that judges the answer, one check per entry; it is run only with `--trust-code`.",
            since="1",
        ),
    )
    examples: ClassVar = (Example({"language": "python", "code": "'Hi' in output"}, says("Hi"), Status.UNKNOWN),)
    language: Literal["javascript", "python"]
    code: str = ""
    file: str = ""
    function: str = ""
    context: dict[str, Any] = {}
    threshold: float | None = None
    negated: bool = False

    read = read_each()

    @property
    def description(self) -> str:
        what = f"{self.file}{f':{self.function}' if self.function else ''}" if self.file else excerpt(self.code)
        return f"{'not: ' if self.negated else ''}{self.language} accepts it: {what}"

    def validate(self) -> Iterator[CheckProblem]:
        if bool(self.code.strip()) == bool(self.file):
            yield CheckProblem("invalid-value", "give either code or file.")

    def judge(self, trace: Trace) -> CheckResult:
        return self.unknown(UNTRUSTED)


class TrustedCode(Code, frozen=True):
    """The same, where the user trusts the code."""

    def judge(self, trace: Trace) -> CheckResult:
        if why := unreadable(trace):
            return self.unknown(why)
        program = sys.executable if self.language == "python" else shutil.which("node")
        if program is None:
            return self.unknown("node is not installed, and JavaScript cannot be run without it")
        given = {"output": trace.final_message, "context": self.context, "code": self.code}
        given |= {"file": os.path.abspath(self.file) if self.file else "", "function": self.function}
        runner = _FOLDER / ("run.py" if self.language == "python" else "run.mjs")
        return self._read_result(run_job([program, str(runner)], given))

    def _read_result(self, answer: dict[str, Any]) -> CheckResult:
        result, error = answer.get("result"), answer.get("error")
        if error is not None:
            return CheckResult(self.name, self.group, Status.ERROR, self.description, excerpt(str(error)))
        graded = result if isinstance(result, dict) else {}
        reason = excerpt(str(graded.get("reason", graded.get("comment", json.dumps(result)))))
        if isinstance(result, dict):
            result = graded.get("pass", graded.get("pass_", graded.get("score")))
        if isinstance(result, str) and result.lower() in ("true", "false"):
            result = result.lower() == "true"
        if isinstance(result, bool):
            held = result
        elif isinstance(result, int | float):
            held = result > 0 if self.threshold is None else result >= self.threshold
        else:
            why = f"the code returned {reason}, which is not true, false, a number or an object with `pass`"
            return CheckResult(self.name, self.group, Status.ERROR, self.description, why)
        return self.passed(reason) if held is not self.negated else self.failed(reason)


def run_job(command: list[str], given: dict[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """What the code gave: `result`, or `error`. It and all that it started end with the deadline."""
    import subprocess  # late, as is what ends processes: few suites hold code

    from karat.system.process_tree import kill_group

    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept,
            start_new_session=True,
        )
    except OSError as error:
        return {"error": f"it cannot be started: {error.strerror}"}
    with process:  # which closes its pipes and reaps it
        try:
            out, _ = process.communicate(json.dumps(given).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            return {"error": f"it took longer than {seconds:g} s"}
        finally:
            kill_group(process.pid)
    try:
        answer = json.loads(out[-MOST_SAID:] or b"null")
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {"error": f"it ended with code {process.returncode} and no result"}
