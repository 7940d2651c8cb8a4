"""Calling graders: code of users in a process of its own, programs, and suites of Carob in this process.

A grader that hangs is killed with everything that it started, and gets a new process for the next trace.
"""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, Final

import msgspec
from msgspec import Struct

from carob.checks.catalog import CheckCatalog, catalog_for
from carob.engine.rescoring import load_in
from carob.errors import ConfigError, UsageError
from carob.features.audit.judging import NOTHING_ALLOWED, Allowance, PassingTrace
from carob.features.audit.operators.base import Subject
from carob.features.graders.base import TEXT_CAP, BadVerdictError, Grade, Grader, GradeRequest, read_grade
from carob.features.graders.catalog import GraderKind, parse_spec
from carob.features.graders.forms import messages_of
from carob.features.graders.worker import SIZE, GraderStart, Question, Refusal
from carob.model.suite import Case, judged_part
from carob.model.trace import Trace
from carob.model.verdict import ACCEPTED, CaseStatus
from carob.plugins.project import Project
from carob.system.process_tree import kill, start

START_SECONDS: Final = 180.0
"""So long may it take to import a grader: packages of judges are large."""
OUTPUT_CAP: Final = 1 << 20
WORKER: Final = "carob.features.graders.worker"


class GraderSettings(Struct, frozen=True):
    """How a grader is called."""

    timeout: float = 60.0
    threshold: float | None = None


def open_grader(
    spec: str, settings: GraderSettings, project: Project, path: Sequence[Path], allowance: Allowance = NOTHING_ALLOWED
) -> Grader:
    """The grader that a spec names, ready to be called. Raises CarobError for one that cannot be."""
    kind, name = parse_spec(spec)
    if kind.name == "command":
        return CommandGrader(name, settings)
    if kind.name == "carob":
        return SuiteGrader(name, project, allowance)
    return ProcessGrader(kind, name, settings, Path(project.folder), path)


class ProcessGrader:
    """A grader in a process of its own, which is started anew after it hung or ended."""

    def __init__(self, kind: GraderKind, name: str, settings: GraderSettings, root: Path, path: Sequence[Path]) -> None:
        self._name = f"{kind.name}:{name}"
        self._settings = settings
        entries = [str(entry) for entry in path]
        self._start = GraderStart(kind.name, name, str(root), entries, settings.threshold, os.getpid())
        self._process: subprocess.Popen[bytes] | None = None
        self._reference = b""
        self.identity = f"{self._name} {settings.threshold} {_code_digest(name, root, path)}"
        self._launch()

    def find_case(self, trace: Trace) -> Case | None:
        return None

    def grade(self, request: GradeRequest) -> Grade:
        if self._process is None:
            self._launch()
        reference = request.reference_data
        question = Question(request.data, None if reference is self._reference else reference)
        self._reference = reference
        began = perf_counter()
        answer = self._ask(msgspec.msgpack.encode(question), self._settings.timeout)
        if isinstance(answer, bytes):
            return msgspec.msgpack.decode(answer, type=Grade)
        self.close()
        seconds = perf_counter() - began
        if answer is None:
            return Grade(error=f"no verdict within {self._settings.timeout:g} s", kind="hung", seconds=seconds)
        return Grade(error=f"its process ended with exit status {answer}", kind="ended", seconds=seconds)

    def close(self) -> None:
        if self._process is not None:
            kill(self._process.pid)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        self._process, self._reference = None, b""

    def _launch(self) -> None:
        """Start the process, and wait until it has loaded the grader. Raises ConfigError if it cannot."""
        self._process = start([sys.executable, "-P", "-m", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        answer = self._ask(msgspec.msgpack.encode(self._start), START_SECONDS)
        if isinstance(answer, bytes):
            refusal = msgspec.msgpack.decode(answer, type=Refusal)
            if not refusal.message:
                return
            self.close()
            raise ConfigError(refusal.message, fix=refusal.fix, slug=refusal.slug or "bad-grader")
        self.close()
        why = f"its process ended with exit status {answer}" if answer is not None else "it takes too long to import"
        raise ConfigError(f"{self._name}: {why}.", fix="Import it in a Python shell to see why.", slug="bad-grader")

    def _ask(self, frame: bytes, seconds: float) -> bytes | int | None:
        """The answer to a frame; the exit status if the process ended, None if it took too long."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(len(frame).to_bytes(SIZE, "big") + frame)
            process.stdin.flush()
        except OSError:
            return _exit_status(process)
        source, until, data = process.stdout.fileno(), monotonic() + seconds, bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            while len(data) < SIZE or len(data) < SIZE + int.from_bytes(data[:SIZE], "big"):
                if not selector.select(max(until - monotonic(), 0)):
                    return None
                part = os.read(source, OUTPUT_CAP)
                if not part:
                    return _exit_status(process)
                data += part
        return bytes(data[SIZE:])


def _exit_status(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(5)
    except subprocess.TimeoutExpired:
        return -1  # it closed its output and goes on; it is killed


def _code_digest(name: str, root: Path, path: Sequence[Path]) -> str:
    """The code of the file that a spec names, as far as it can be found without running it."""
    source = name.partition("::")[0] if "::" in name else name.rpartition(":")[0] or name
    relative = Path(source) if source.endswith(".py") else Path(*source.split(".")).with_suffix(".py")
    for folder in (root, *path):
        with suppress(OSError):
            return sha256((folder / relative).read_bytes()).hexdigest()
    return ""


class CommandGrader:
    """`command:./judge --strict`: a program that gets a JSON object and prints its verdict as JSON."""

    def __init__(self, command: str, settings: GraderSettings) -> None:
        self._words = shlex.split(command)
        self._settings = settings
        program = shutil.which(self._words[0]) if self._words else None
        if program is None:
            name = self._words[0] if self._words else command
            raise UsageError(f"there is no program {name!r}.", fix="Check its path.", slug="bad-grader")
        files = [Path(word) for word in (program, *self._words[1:]) if Path(word).is_file()]
        digest = sha256(b"".join(sha256(file.read_bytes()).digest() for file in files)).hexdigest()
        self.identity = f"command:{command} {settings.threshold} {digest}"

    def find_case(self, trace: Trace) -> Case | None:
        return None

    def grade(self, request: GradeRequest) -> Grade:
        question = {
            "trace": request.trace,
            "messages": messages_of(request.trace),
            "reference": request.reference,
            "metadata": request.reference.metadata,
        }
        began = perf_counter()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            given.write(msgspec.json.encode(question, enc_hook=str))
            given.seek(0)
            process = start(self._words, stdin=given, stdout=out, stderr=errors)
            try:
                status: int | None = process.wait(self._settings.timeout)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                kill(process.pid)
                process.wait()
            seconds = perf_counter() - began
            printed = _tail(errors)
            if status is None:
                error = f"no verdict within {self._settings.timeout:g} s"
                return Grade(error=error, kind="hung", printed=printed, seconds=seconds)
            if status:
                error = f"it ended with exit status {status}: {printed}"[:TEXT_CAP]
                return Grade(error=error, kind="ended", printed=printed, seconds=seconds)
            out.seek(0)
            grade = self._read(out.read(OUTPUT_CAP))
        return msgspec.structs.replace(grade, printed=printed, seconds=seconds)

    def _read(self, output: bytes) -> Grade:
        lines = output.strip().splitlines()
        try:
            value = msgspec.json.decode(lines[-1]) if lines else None
            return read_grade(value, self._settings.threshold)
        except msgspec.DecodeError as error:
            return Grade(error=f"its last line is not JSON: {error}"[:TEXT_CAP], kind="bad-verdict")
        except BadVerdictError as error:
            return Grade(error=str(error)[:TEXT_CAP], kind="bad-verdict")

    def close(self) -> None:
        return


def _tail(file: Any) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TEXT_CAP, 0))
    text: str = file.read().decode("utf-8", "replace").strip()
    return text


class SuiteGrader:
    """`carob:suite.yaml`: the checks of the case that has the id of the trace."""

    def __init__(self, suite: str, project: Project, allowance: Allowance) -> None:
        loaded = load_in(suite, project)
        self._cases: Mapping[str, Case] = {case.id: judged_part(case) for case in loaded.cases}
        self._catalog: CheckCatalog = catalog_for(project)
        self._allowance = allowance
        self._judge: PassingTrace | None = None
        self._reference: Trace | None = None
        self.identity = f"carob:{suite} {loaded.sha256} {allowance}"

    def find_case(self, trace: Trace) -> Case | None:
        case = self._cases.get(trace.case_id) or self._cases.get(trace.case_id.rpartition(" (")[0])
        if case is None:
            raise LookupError(f"the suite has no case {trace.case_id!r}")
        return case

    def grade(self, request: GradeRequest) -> Grade:
        began = perf_counter()
        if self._judge is None or self._reference is not request.reference:
            case = self.find_case(request.reference)
            assert case is not None
            self._judge = PassingTrace(Subject(case, request.reference), self._catalog, self._allowance)
            self._reference = request.reference
        results = self._judge.results(request.trace)
        status = self._judge.status(results)
        seconds = perf_counter() - began
        if status is CaseStatus.ERROR:
            return Grade(error="a check broke", kind="raised", seconds=seconds)
        is_green = self._judge.green(status, results)
        reason = "" if is_green else next((str(r) for r in results if r.status not in ACCEPTED), "")
        return Grade(is_green, printed=reason[:TEXT_CAP], seconds=seconds)

    def close(self) -> None:
        return
