"""`replay:traces.jsonl`: recorded traces instead of an agent.

A line is a trace in the short form, with `case_id` and, for the second and later runs of a case, `repeat` (1, 2, ...).
Or it is a whole trace, which says in `unobserved` what was not seen; or holds one under `trace`, as the lines of a
journal do: a journal can be replayed as it is, and of several attempts at a case the last one counts. A line that
cannot be read is an error of its case, and of those that no line is of. What is kept of the file is where each case is
in it, so a large file costs little memory. A file of OTLP JSON, as collectors write it, is replayed too, and so are
result files of other tools that hold answers, and exports of platforms and sessions of coding agents (`recordings/`),
in a file or a folder.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from io import BufferedReader
from typing import get_args

import msgspec
from msgspec import Raw, Struct, UnsetType, structs

from carob.errors import ConfigError, Diagnostic, SuiteError
from carob.evidence.exports.record import unread_conversation
from carob.evidence.merge import merge_turns
from carob.model.suite import Case
from carob.model.trace import Channel, Message, SpanNode, Tokens, ToolCall, Trace, TraceError, move_attachments, way
from carob.suites.diagnostics import RefusedError, problems
from carob.targets.base import RunContext, TargetError
from carob.targets.capabilities import ALL
from carob.targets.config import TargetConfig, read_options
from carob.targets.conversation import converse
from carob.targets.recordings.exports import ExportedTraces, ExportRecording, is_export
from carob.targets.recordings.otlp import OtlpRecording, index_lines, is_otlp
from carob.targets.recordings.result_files import RecordedAnswers, RecordedCase, read_results, restore_names
from carob.targets.short_form import Short, read, to_trace
from carob.targets.user_code import DaemonThreads
from carob.text.clean import loads, table
from carob.text.file_names import suggest_file
from carob.text.key_names import suggest_keys
from carob.text.wording import did_you_mean, join_words, pluralize, quoted

PROBLEMS_CAP = 20
MOST_NAMED = 3
OTHER_PROMPT = "the trace was recorded with another prompt: record it again"
WHOLE_ONLY = frozenset({"unobserved", "cuts"})
"""A line with one of these keys is a whole trace: what it leaves out was observed to be empty."""

_trace = msgspec.json.Decoder(Trace)
_PARTS: dict[str, type[Struct]] = {
    "tool_calls": ToolCall,
    "messages": Message,
    "error": TraceError,
    "tokens": Tokens,
    "spans": SpanNode,
}


class _Line(Struct):
    """What distinguishes the lines of a journal from those of the short form."""

    kind: str | None = None
    trace: Raw | UnsetType = msgspec.UNSET
    repeat: int = 0


_line = msgspec.json.Decoder(_Line)
_CASE_ID = re.compile(rb'(?<!\\)"case_id"\s*:\s*("(?:[^"\\]|\\.)*")')


class Recorded(Struct, frozen=True):
    """One line, read: a whole trace or a short one."""

    case_id: str
    repeat: int
    form: Trace | Short

    @property
    def turns(self) -> Sequence[Trace | Short]:
        return self.form.turns or ()


class _Options(Struct, forbid_unknown_fields=True):
    provider: str | None = None


class ReplayTarget:
    """Traces of an earlier time."""

    reaches = ALL  # each trace says itself what landed when it was recorded

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self.options = config.identity
        self._config = config
        self._path = config.root / config.spec
        self._file: BufferedReader | None = None
        self._spans: OtlpRecording | None = None
        self._offsets: dict[str | tuple[str, int], int] = {}
        self._export: ExportRecording | None = None
        self._results: dict[tuple[str, int], RecordedCase] = {}
        self._answers: RecordedAnswers | None = None
        self._provider: str | None = None
        self._unread: list[Diagnostic] = []
        self._unread_of: dict[str, Diagnostic] = {}
        """What was wrong with the line of a case."""

    async def open(self) -> None:
        self._provider = read_options(self._config, _Options).provider
        reader = DaemonThreads("carob-recording")  # a large file, or a pipe, must not hold up limits and interrupts
        try:
            await reader.call(self._load)
        except BaseException:
            await self.close()
            raise
        finally:
            reader.close()

    def _load(self) -> None:
        if self._path.is_dir():
            self._export = ExportRecording(self._path)
            self._export.load()
            if not self._export:
                raise ConfigError("no file of the folder contains a conversation.", where=str(self._path))
            return
        try:
            self._file = self._path.open("rb")
        except OSError as error:
            raise _unreadable(error, str(self._path)) from error
        if not self._file.seekable():
            raise ConfigError("a pipe cannot be replayed.", where=str(self._path), fix="Save it to a file first.")
        self._spans = OtlpRecording(str(self._path), self._file) if is_otlp(self._file) else None
        diagnostics = self._index(self._file) if self._spans is None else self._spans.index()
        for problem in diagnostics:
            self._unread.append(problem)
            if len(self._unread) >= PROBLEMS_CAP and not self._offsets:
                break
        found = () if self._offsets else tuple(self._unread[:PROBLEMS_CAP])
        if found or not (self._offsets or self._spans or self._export or self._results or self._answers):
            raise (
                SuiteError(found) if found else ConfigError("the recording contains no trace.", where=str(self._path))
            )

    async def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    async def run(self, case: Case, context: RunContext) -> Trace:
        if self._spans is not None:
            return await self._spans.run(case, context)
        if self._results or self._answers:
            return await self._run_result(case, context)
        if self._export is not None:
            recorded = Recorded(case.id, context.repeat, self._export.find(case, context.repeat))
        else:
            recorded = self._read(case, context.repeat)
        along = way(str(self._path), str(context.attachments)) if context.attachments is not None else ""
        if case.is_conversation != bool(recorded.turns) and not recorded.form.error:
            forms = ("a conversation", "one prompt")[:: 1 if recorded.turns else -1]
            message = f"the trace is of {forms[0]}, and the case has {forms[1]}: record it again"
            raise TargetError("not-recorded", message)
        if recorded.turns:
            return move_attachments(await _play(recorded, case, context), along)
        return move_attachments(_one_turn(recorded.form, case, case.prompt), along)

    async def _run_result(self, case: Case, context: RunContext) -> Trace:
        """What a result file of another tool holds of the case."""
        try:
            answer = self._answers.find(case, context.repeat) if self._answers else None
        except ValueError as error:
            raise TargetError("not-recorded", f"{self._path}: {error}") from None
        result = answer or self._results.get((case.id, context.repeat))
        if result is None:
            raise self._not_recorded(case.id, context.repeat)
        try:
            recorded = Recorded(case.id, context.repeat, read(restore_names(result.form, case)))
        except ValueError as error:
            raise TargetError("not-recorded", f"{self._path}: its trace of this case cannot be read: {error}") from None
        if result.simulated and recorded.turns:
            return merge_turns([_build_simulated_turn(turn, case) for turn in recorded.turns])
        return await _play(recorded, case, context) if recorded.turns else _one_turn(recorded.form, case, case.prompt)

    def _index(self, file: BufferedReader) -> Iterator[Diagnostic]:
        """Find every case; what cannot be read is a problem with its line."""
        try:
            results = read_results(file)
        except RefusedError as refused:
            yield from problems(str(self._path), refused.diagnostics, None)
            return
        if results is not None:
            self._results = {(result.case_id, result.repeat): result for result in results if not result.said}
            if answers := [result for result in results if result.said]:
                self._answers = RecordedAnswers(answers, self._provider)
            return
        if is_export(self._path):
            self._export = ExportRecording(self._path)
            self._export.load()
            return
        unread_of: list[str] = []

        def add(data: bytes, offset: int) -> None:
            try:
                self._add(data, offset)
            except ValueError:
                unread_of[:] = [loads(found) for found in _CASE_ID.findall(data)[:1]]
                raise

        for problem in index_lines(str(self._path), file, add):
            self._unread_of.update(dict.fromkeys(unread_of, problem))
            yield problem

    def _add(self, data: bytes, offset: int) -> None:
        recorded = parse(data)
        if recorded is None:
            return
        key = _key(recorded.case_id, recorded.repeat)
        if isinstance(recorded.form, Short) and key in self._offsets:
            raise ValueError(f'case {recorded.case_id!r} is recorded twice. Number its repeats: "repeat": 1')
        if isinstance(recorded.form, Trace):
            self._unread_of.pop(recorded.case_id, None)
        self._offsets[key] = offset

    def _read(self, case: Case, repeat: int) -> Recorded:
        if problem := self._unread_of.get(case.id):
            raise TargetError("not-recorded", f"its recording cannot be read: {problem}")
        offset = self._offsets.get(_key(case.id, repeat))
        if self._file is None or offset is None:
            raise self._not_recorded(case.id, repeat)
        self._file.seek(offset)
        try:
            recorded = parse(self._file.readline())
        except ValueError as error:
            raise TargetError("not-recorded", f"{self._path} changed while it was replayed: {error}") from error
        if recorded is None or recorded.case_id != case.id:
            raise TargetError("not-recorded", f"{self._path} changed while it was replayed")
        return recorded

    def _not_recorded(self, case_id: str, repeat: int) -> TargetError:
        case_ids = [key for key in self._offsets if isinstance(key, str)] + [
            name for name, n in self._results if n == 0
        ]
        if repeat and case_id in case_ids:
            return TargetError("not-recorded", f"{self._path} contains no repeat {repeat} of this case")
        few = case_ids if len(case_ids) <= 1_000 else []
        named = join_words(map(quoted, few[:MOST_NAMED]), "and") if few else ""
        near = did_you_mean(case_id, few) or (f"It has {named}." if named else "")
        unread = f"{pluralize(len(self._unread), 'line')} cannot be read: {self._unread[0]}" if self._unread else near
        return TargetError("not-recorded", f"{self._path} contains no trace of this case. {unread}".rstrip())


def _unreadable(error: OSError, path: str) -> ConfigError:
    fix = suggest_file(path) if isinstance(error, FileNotFoundError) else ""
    return ConfigError(f"the recording cannot be read: {error.strerror}.", where=path, fix=fix)


def parse(data: bytes) -> Recorded | None:
    """One line of a recording; None if it is blank, or a header or footer. Raises ValueError with the reason."""
    data = data.removeprefix(BOM_UTF8).strip()
    if not data:
        return None
    if not data.startswith((b"{", b"[")):
        raise ValueError("not a recording, which has one JSON object on each line")
    try:
        line = _line.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        line = _Line()
    if line.kind in ("header", "footer"):
        return None
    if line.kind is None:  # not from a journal, so perhaps written by hand
        _refuse_twice(data)
    if isinstance(line.trace, Raw):
        trace = bytes(line.trace)
        if line.kind is None:
            _check_keys(loads(trace))
        return _read_trace(trace, line.repeat)
    value = loads(data)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object; a recording contains one object per line")
    repeat = value.pop("repeat", 0)
    if type(repeat) is not int or repeat < 0:
        raise ValueError("`repeat` is a whole number: 0, 1, 2, ...")
    if not WHOLE_ONLY.isdisjoint(value):
        _check_keys(value)
        return _read_trace(data, repeat)
    short = read(value)
    if not short.case_id:
        raise ValueError("it has no `case_id`")
    return Recorded(short.case_id, repeat, short)


def _refuse_twice(data: bytes) -> None:
    """Raise ValueError for a duplicate key: which of the two was meant is unknown."""
    import jiter

    try:
        jiter.from_json(data, catch_duplicate_keys=True)
    except ValueError as error:
        if "duplicate key" in str(error).lower():
            raise ValueError(f"{str(error).partition(' at line')[0].strip()}: keep one of the two") from error


def _read_trace(data: bytes, repeat: int) -> Recorded:
    try:
        trace = _trace.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"its trace cannot be read: {error}") from error
    return Recorded(trace.case_id, repeat, trace)


def _check_keys(value: object) -> None:
    """Refuse what no trace has: a whole trace says by leaving something out that it was observed to be empty."""
    if not isinstance(value, dict):
        return
    _only(value, Trace.__struct_fields__, "")
    turns = value.get("turns")
    for turn in turns if isinstance(turns, list) else ():
        _check_keys(turn)
    for name, form in _PARTS.items():
        part = value.get(name)
        for entry in part if isinstance(part, list) else [part]:
            _only(entry, form.__struct_fields__, f" in `{name}`")
    for name in ("unobserved", "cuts"):
        _only(value.get(name), get_args(Channel), f" in `{name}`")


def _only(value: object, keys: Sequence[str], where: str) -> None:
    if isinstance(value, dict):
        for key in value.keys() - set(keys):
            raise ValueError(f"unknown key {key!r}{where}. {suggest_keys(key, keys)}".rstrip())


def _key(case_id: str, repeat: int) -> str | tuple[str, int]:
    return (case_id, repeat) if repeat else case_id


def _one_turn(form: Trace | Short, case: Case, prompt: str) -> Trace:
    """A recorded turn, if it is the answer to this prompt."""
    if form.input and form.input != prompt:
        raise TargetError("not-recorded", OTHER_PROMPT)
    if isinstance(form, Short):
        return to_trace(form, case)
    if form.error is not None:
        raise TargetError(form.error.kind, form.error.message, detail=form.error.detail, partial=form)
    return form


def _build_simulated_turn(form: Trace | Short, case: Case) -> Trace:
    """A recorded turn of a simulated user, whose words are its own and not those of the case."""
    prompt = form.input or ""
    return structs.replace(_one_turn(form, case, prompt), input=prompt)


async def _play(recorded: Recorded, case: Case, context: RunContext) -> Trace:
    """A recorded conversation, if its user would say the same today."""
    turns = iter(recorded.turns)

    async def turn(prompt: str) -> Trace:
        form = next(turns, None)
        if form is None:
            message = f"the recording has {pluralize(len(recorded.turns), 'turn')}: record it again"
            raise TargetError("not-recorded", message)
        return _one_turn(form, case, prompt)

    played = await converse(structs.replace(case, setup_prompts=()), context, turn, None, takes_decisions=True)
    if next(turns, None) is not None:
        message = f"the recording goes on after turn {len(played.turns)}: record it again"
        raise TargetError("not-recorded", message, partial=played)
    return played if isinstance(recorded.form, Short) else _one_turn(recorded.form, case, played.input)


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
            raise _unreadable(error, self._path) from error
        with file:
            yield from ExportedTraces(self._path) if is_otlp(file) else self._lines(file)

    def _lines(self, file: BufferedReader) -> Iterator[Trace]:
        try:
            results = read_results(file)
        except RefusedError as refused:
            if not is_export(self._path):
                raise SuiteError(tuple(problems(self._path, refused.diagnostics, None))) from None
            results = None
        if results is not None:
            yield from (trace for result in results if (trace := _of_result(result)) is not None)
            return
        if is_export(self._path):
            yield from ExportedTraces(self._path)
            return
        unread: list[Diagnostic] = []
        has_read = False
        for number, data in enumerate(file, 1):
            try:
                recorded = parse(data)
            except ValueError as error:
                unread.append(Diagnostic(self._path, number, 1, "", str(error), "replay"))
            else:
                has_read = has_read or recorded is not None
                if recorded is not None:
                    yield _build_trace(recorded.form, recorded.case_id)
            if has_read:
                for problem in unread:
                    yield unread_conversation(problem.message, f"{problem.file}:{problem.line}").trace
                unread.clear()
        if unread:
            raise SuiteError(tuple(unread[:PROBLEMS_CAP]))


def _of_result(result: RecordedCase) -> Trace | None:
    """What a result file of another tool holds of a case; nothing where it holds no answer."""
    try:
        return _build_trace(read(result.form), result.case_id, input=result.said[-1] if result.said else "")
    except ValueError:
        return None


def read_short(value: dict[str, object]) -> Trace:
    """A trace in the short form. Raises ValueError."""
    short = read(value)
    return _build_trace(short, short.case_id or "")


def _build_trace(form: Trace | Short, case_id: str, input: str = "") -> Trace:
    if isinstance(form, Trace):
        return form
    if form.turns:
        whole = merge_turns([_build_trace(turn, case_id) for turn in form.turns])
        return structs.replace(whole, metadata={**whole.metadata, **table(form.metadata)}) if form.metadata else whole
    case = Case(id=case_id, prompt=form.input or input, checks=())
    try:
        return to_trace(form, case)
    except TargetError as error:  # the recording says that the turn broke
        partial = error.partial or Trace(case_id=case_id)
        return structs.replace(partial, error=TraceError(error.kind, error.message))
