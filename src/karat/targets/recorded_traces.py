"""Every trace of a recording, in its order, without the cases that would ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader

from karat.errors import ConfigError, Diagnostic, SuiteError
from karat.evidence.merge import merge_turns
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.targets.otlp.recording import OtlpRecording, is_otlp
from karat.targets.recordings.base import RecordedCase
from karat.targets.recordings.catalog import read_results
from karat.targets.replay import parse
from karat.targets.short_form import Short, read, to_trace


class RecordedTraces:
    """The traces of a file that `replay:` reads: lines of traces, OTLP JSON, results of other tools.

    They are read anew each time, one after the other.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Trace]:
        try:
            file = open(self._path, "rb")  # noqa: SIM115 - it is closed below, once the last trace was taken
        except OSError as error:
            raise ConfigError(f"the recording cannot be read: {error.strerror}.", where=self._path) from error
        with file:
            yield from self._spans(file) if is_otlp(file) else self._lines(file)

    def _spans(self, file: BufferedReader) -> Iterator[Trace]:
        recording = OtlpRecording(self._path, file)
        for problem in recording.index():
            raise SuiteError((problem,))
        yield from recording.traces()

    def _lines(self, file: BufferedReader) -> Iterator[Trace]:
        try:
            results = read_results(file)
        except ValueError as error:
            raise SuiteError((self._problem(1, str(error)),)) from None
        if results is not None:
            yield from (trace for one in results if (trace := _of_result(one)) is not None)
            return
        for number, data in enumerate(file, 1):
            try:
                recorded = parse(data)
            except ValueError as error:
                raise SuiteError((self._problem(number, str(error)),)) from None
            if recorded is not None:
                yield _build_trace(recorded.form, recorded.case_id)

    def _problem(self, line: int, message: str) -> Diagnostic:
        return Diagnostic(self._path, line, 1, "", message, "replay")


def _of_result(one: RecordedCase) -> Trace | None:
    """What a result file of another tool holds of a case; nothing where it holds no answer."""
    try:
        return _build_trace(read(one.form), one.case_id, input=one.case_id if one.by_prompt else "")
    except ValueError:
        return None


def _build_trace(form: Trace | Short, case_id: str, input: str = "") -> Trace:
    if isinstance(form, Trace):
        return form
    if form.turns:
        return merge_turns([_build_trace(turn, case_id) for turn in form.turns])
    case = Case(id=case_id, prompt=form.input or input, checks=())
    return to_trace(form, case, has_page=True)
