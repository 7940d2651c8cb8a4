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
from collections.abc import Iterator
from io import BufferedReader

from msgspec import Struct, structs

from carob.errors import ConfigError, Diagnostic, SuiteError
from carob.evidence.exports.carob_records import Recorded, parse
from carob.evidence.exports.record import RecordedCase
from carob.evidence.merge import merge_turns
from carob.evidence.short_form import Short
from carob.model.suite import Case
from carob.model.trace import Trace, move_attachments, way
from carob.targets.base import RunContext, TargetError
from carob.targets.capabilities import ALL
from carob.targets.config import TargetConfig, read_options
from carob.targets.conversation import converse, to_trace
from carob.targets.recordings.exports import ExportRecording, is_export
from carob.targets.recordings.otlp import OtlpRecording, index_lines, is_otlp
from carob.targets.user_code import DaemonThreads
from carob.text.clean import loads
from carob.text.file_names import suggest_file
from carob.text.wording import did_you_mean, join_words, pluralize, quoted

PROBLEMS_CAP = 20
MOST_NAMED = 3
OTHER_PROMPT = "the trace was recorded with another prompt: record it again"
_CASE_ID = re.compile(rb'(?<!\\)"case_id"\s*:\s*("(?:[^"\\]|\\.)*")')


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
            self._load_export()
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
        if found or not (self._offsets or self._spans or self._export):
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
        if self._export is not None and self._export.has_results:
            found = self._export.find_result(case, context.repeat)
            if found is None:
                raise self._not_recorded(case.id, context.repeat)
            return await _play_result(*found, case, context)
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

    def _load_export(self) -> None:
        self._export = ExportRecording(self._path, self._provider)
        self._export.load()

    def _index(self, file: BufferedReader) -> Iterator[Diagnostic]:
        """Find every case; what cannot be read is a problem with its line."""
        if is_export(self._path):
            self._load_export()
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
        export = self._export
        case_ids = [key for key in self._offsets if isinstance(key, str)] + (export.case_ids if export else [])
        if repeat and case_id in case_ids:
            return TargetError("not-recorded", f"{self._path} contains no repeat {repeat} of this case")
        few = case_ids if len(case_ids) <= 1_000 else []
        named = join_words(map(quoted, few[:MOST_NAMED]), "and") if few else ""
        near = did_you_mean(case_id, few) or (f"It has {named}." if named else "")
        unread = f"{pluralize(len(self._unread), 'line')} cannot be read: {self._unread[0]}" if self._unread else near
        unread = export.why_unread.removeprefix(". ") or unread if export else unread
        return TargetError("not-recorded", f"{self._path} contains no trace of this case. {unread}".rstrip())


def _unreadable(error: OSError, path: str) -> ConfigError:
    fix = suggest_file(path) if isinstance(error, FileNotFoundError) else ""
    return ConfigError(f"the recording cannot be read: {error.strerror}.", where=path, fix=fix)


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


async def _play_result(result: RecordedCase, recorded: Recorded, case: Case, context: RunContext) -> Trace:
    """What a result file of another tool holds of the case."""
    if result.simulated and recorded.turns:
        return merge_turns([_build_simulated_turn(turn, case) for turn in recorded.turns])
    return await _play(recorded, case, context) if recorded.turns else _one_turn(recorded.form, case, case.prompt)


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
