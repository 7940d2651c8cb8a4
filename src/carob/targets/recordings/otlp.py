"""`replay:spans.jsonl` of OTLP: a file as collectors write it, one request as JSON on a line, in the place of traces.

A case's spans are known by a `carob.case` attribute, by a conversation with the case's id for a name, or by the prompt,
which the spans must carry then. What is kept of the file is where each trace is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BufferedReader
from urllib.parse import unquote

from msgspec import structs

from carob.errors import Diagnostic
from carob.evidence.merge import TurnEvidence
from carob.evidence.short_form import NO_TELEMETRY
from carob.evidence.span_receiver import CONVERSATION_KEYS
from carob.evidence.spans.facts import read_facts
from carob.evidence.spans.otlp import SpanBatch, SpanRecord
from carob.evidence.spans.reading import is_of_a_turn, read_turn, span_trees
from carob.evidence.spans.trace_context import CASE_ENTRY
from carob.model.suite import Case
from carob.model.trace import Message, Trace
from carob.providers.messages import find_prompts
from carob.targets.base import RunContext, TargetError
from carob.targets.conversation import converse
from carob.targets.wrappers.telemetry import plugins_left_out, without_plugins
from carob.text.wording import pluralize

NO_ANSWER = "no span of the turn carries the answer"
BEGINNING = 4096


NAME_IT = "record it with the case id as the attribute carob.case, gen_ai.conversation.id or session.id of a span"


class RecordedTrace:
    """One trace of the file: where it is, when it started, and what it says of whose it is."""

    __slots__ = ("began", "conversations", "entry", "offsets", "prompts")

    def __init__(self) -> None:
        self.began = float("inf")
        self.offsets: dict[int, None] = {}
        self.entry = ""
        self.conversations: set[str] = set()
        self.prompts: set[str] = set()

    def add(self, record: SpanRecord, offset: int) -> None:
        self.began = min(self.began, record.started)
        self.offsets[offset] = None
        entry = record.attributes.get(CASE_ENTRY) or record.resource.get(CASE_ENTRY)
        self.entry = self.entry or (entry if isinstance(entry, str) else "")
        self.conversations |= {v for key in CONVERSATION_KEYS if isinstance(v := record.attributes.get(key), str)}
        if (facts := read_facts(record)) is not None:
            self.prompts |= set(find_prompts(facts.input or (), facts.output_tools)[-1:])

    @property
    def case_id(self) -> str:
        return unquote(self.entry.rpartition("/")[0] or self.entry)


class OtlpRecording:
    """The traces of a file of OTLP JSON."""

    def __init__(self, path: str, file: BufferedReader) -> None:
        self._path = path
        self._file = file
        self._traces: dict[str, RecordedTrace] = {}
        self._by_prompt: dict[str, str] = {}
        """The cases that traces were given to by their prompt alone."""

    def __bool__(self) -> bool:
        return bool(self._traces)

    def index(self) -> Iterator[Diagnostic]:
        """Find every trace; what cannot be read is a problem with its line."""
        self._file.seek(0)
        return index_lines(self._path, self._file, self._add)

    def _add(self, data: bytes, offset: int) -> None:
        for record in SpanBatch(data, json=True).records() if data.strip() else ():
            self._traces.setdefault(record.trace_id, RecordedTrace()).add(record, offset)

    async def run(self, case: Case, context: RunContext) -> Trace:
        """The trace of one run of a case. Raises TargetError if the file does not hold it."""
        runs, repeat = self._find_runs(case), context.repeat
        if len(runs) <= repeat:
            missing = f"no repeat {repeat} of this case" if runs else "no span of this case"
            raise TargetError("not-recorded", f"{self._path} contains {missing}")
        turns = [unit for unit in span_trees(list(self._records(runs[repeat]))) if is_of_a_turn(unit)]
        if not (case.is_conversation or case.setup_prompts):
            turns = [[record for unit in turns for record in unit]]

        async def turn(prompt: str) -> Trace:
            if not turns:
                raise TargetError("not-recorded", f"{self._path} contains no further turn of this case")
            records = turns.pop(0)
            reading = read_turn(records)
            calls = without_plugins(reading.calls, plugins_left_out(reading.plugins, case))
            return _trace(case, prompt, structs.replace(reading, calls=calls), records)

        trace = await converse(case, context, turn, None, takes_decisions=True)
        if turns:
            raise TargetError("not-recorded", f"{self._path} contains more turns than this case has", partial=trace)
        return trace

    def _find_runs(self, case: Case) -> list[set[str]]:
        """The traces of each run of a case, in the order of time."""
        matches = {key: trace for key, trace in self._traces.items() if trace.case_id == case.id}
        if not matches:
            matches = {key: trace for key, trace in self._traces.items() if case.id in trace.conversations}
        runs: dict[object, set[str]] = {}
        for key, trace in sorted(matches.items(), key=lambda item: item[1].began):
            runs.setdefault(trace.entry, set()).add(key)
        if runs:
            return list(runs.values())
        return [{key} for key in self._find_by_prompt(case)]

    def _find_by_prompt(self, case: Case) -> list[str]:
        """The trace with the prompt of a case, where none names the case. Raises TargetError if several may be it."""
        keys = [key for key, trace in self._traces.items() if not trace.entry and case.prompt in trace.prompts]
        if len(keys) > 1:
            found = f"{pluralize(len(keys), 'trace')} of {self._path} have the prompt of this case"
            raise TargetError("not-recorded", f"{found}, and none names a case: {NAME_IT}")
        for key in keys:
            owner = self._by_prompt.setdefault(key, case.id)
            if owner != case.id:
                found = f"the only trace of {self._path} with the prompt of this case is also that of case {owner!r}"
                raise TargetError("not-recorded", f"{found}: {NAME_IT}")
        return keys

    def _records(self, trace_ids: set[str]) -> Iterator[SpanRecord]:
        for offset in sorted({offset for key in trace_ids for offset in self._traces[key].offsets}):
            self._file.seek(offset)
            try:
                yield from (r for r in SpanBatch(self._file.readline(), json=True).records() if r.trace_id in trace_ids)
            except ValueError as error:
                raise TargetError("not-recorded", f"{self._path} changed while it was replayed: {error}") from error


LIST = "a JSON list, and a recording has one JSON object on each line. Write it with jq -c '.[]'"


def index_lines(path: str, file: BufferedReader, add: Callable[[bytes, int], None]) -> Iterator[Diagnostic]:
    """Hand on every line with its offset; what cannot be read is a problem with its line."""
    number, offset = 0, file.tell()
    if file.peek(BEGINNING)[:BEGINNING].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        yield Diagnostic(path, 1, 1, "", LIST, "replay")
        return
    while data := file.readline():
        number, start, offset = number + 1, offset, offset + len(data)
        try:
            add(data, start)
        except ValueError as error:
            torn = "" if data.endswith(b"\n") else "the line is cut off: "
            yield Diagnostic(path, number, 1, "", f"{torn}{error}", "replay")


def is_otlp(file: BufferedReader) -> bool:
    """Whether a file begins as a collector writes it: a request on a line. A pretty-printed one is another export."""
    beginning = file.peek(BEGINNING)[:BEGINNING].lstrip(b"\xef\xbb\xbf \t\r\n")
    return beginning.startswith(b"{") and beginning[1:].lstrip(b" \t").startswith(b'"resourceSpans"')


def _trace(case: Case, prompt: str, reading: TurnEvidence, records: list[SpanRecord]) -> Trace:
    unobserved = {"telemetry": NO_TELEMETRY, "tools": reading.unproved}
    unobserved["final_message"] = "" if reading.answer else NO_ANSWER
    began, ended = min(r.started for r in records), max(r.ended for r in records)
    return Trace(
        case_id=case.id,
        input=prompt,
        final_message=reading.answer,
        messages=(Message("user", prompt), Message("assistant", reading.answer)),
        tool_calls=reading.calls,
        possible_calls=reading.possible_calls,
        unobserved={channel: why for channel, why in unobserved.items() if why},
        state=reading.state,
        tokens=reading.tokens,
        metadata=reading.costs,
        spans=reading.nodes,
        started_at=began,
        duration_ms=round((ended - began) * 1000, 3),
    )
