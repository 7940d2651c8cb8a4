"""Results of other tools: what agents did in the cases of suites, in the short form of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from carob.evidence.exports.base import CANNOT_READ, ExportFormat, ExportRow, KeySign, RowCollector, Table, explain
from carob.evidence.exports.record import ExportError, RecordedCase, RecordedConversation, unread_conversation
from carob.evidence.short_form import read, read_trace
from carob.plugins.features import RecordingFormat, load

POSITIONAL = "positional"
"""Values of arguments without a name, until it is known which case the call belongs to."""


def _keep_whole(row: Table) -> Iterable[Any]:
    return (row,)


def _is_any(row: Table) -> bool:
    return True


class ResultReader(NamedTuple):
    """How the results of a tool are read. `split`: the results that a row holds, each of which is read by itself."""

    read: Callable[[Any], Iterable[RecordedCase]]
    split: Callable[[Table], Iterable[Any]] = _keep_whole
    accepts: Callable[[Table], bool] = _is_any


class ResultCollector(RowCollector):
    """The cases of results. Several results of one case are its repeats."""

    def __init__(self, name: str, reader: ResultReader) -> None:
        self._name = name
        self._reader = reader
        self._found: list[tuple[RecordedCase, str]] = []
        self._unread: list[RecordedConversation] = []

    def add(self, row: ExportRow) -> None:
        """Add the results of a row. Raises ExportError if none of them can be read."""
        found: list[tuple[RecordedCase, str]] = []
        unread: list[ExportError] = []
        for number, result in enumerate(self._reader.split(row.value), 1):
            place = row.place if result is row.value else f"{row.place} [{number}]"
            try:
                found += [(_check_case(case), place) for case in self._reader.read(result)]
            except CANNOT_READ as error:
                unread.append(ExportError(explain(self._name, error), where=place, fix="Export it again."))
        if unread and not found:
            raise unread[0]
        self._found += found
        self._unread += [unread_conversation(error.message, error.where, self._name) for error in unread]

    def conversations(self) -> Iterator[RecordedConversation]:
        """Each case, in the order of their numbers where the file has them."""
        repeats: Counter[str] = Counter()
        for case, place in sorted(self._found, key=lambda found: found[0].number or (0, 0)):
            repeat = repeats[case.case_id]
            repeats[case.case_id] += not case.said
            name = place if case.said else f"{case.case_id} ({repeat})" if repeat else case.case_id
            prompt = case.said[-1] if case.said else ""
            trace = read_trace(read(restore_names(case.form, ())), name, prompt)
            yield RecordedConversation(
                id=name,
                trace=structs.replace(trace, case_id=name),
                format=self._name,
                source=place,
                model=case.provider,
                metadata=trace.metadata,
                result=case._replace(repeat=repeat),
            )
        yield from self._unread


def _check_case(case: RecordedCase) -> RecordedCase:
    read(restore_names(case.form, ()))
    return case


def format_of_results(declared: RecordingFormat) -> ExportFormat:
    """The format that a feature declares."""
    reader: ResultReader = load(declared.loads)
    signs = tuple(KeySign(keys, reader.accepts) for keys in declared.keys)
    return ExportFormat(name=declared.name, signs=signs, collect=lambda: ResultCollector(declared.name, reader))


def restore_names(form: dict[str, Any], expected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The calls by the names that are expected: many services take no dot, and `math.sqrt` is `math_sqrt` to them.

    Arguments without a name are those that are expected of the tool, in their order.
    """
    if "turns" in form:
        return {**form, "turns": [restore_names(turn, expected) for turn in form["turns"]]}
    if not form.get("tool_calls"):
        return form
    names = {check["tool"].replace(".", "_"): check["tool"] for check in expected if "." in check["tool"]}
    return {**form, "tool_calls": [_restore(call, names, expected) for call in form["tool_calls"]]}


def _restore(call: dict[str, Any], names: Mapping[str, str], expected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    name = names.get(call["name"], call["name"])
    restored = {key: value for key, value in call.items() if key != POSITIONAL} | {"name": name}
    if values := call.get(POSITIONAL):
        arguments: Mapping[str, Any] = next(
            (check["arguments"] for check in expected if check["tool"] == name and check.get("arguments")), {}
        )
        parameters = [*arguments.get("$eq", arguments.get("$only", arguments))]
        parameters += map(str, range(len(parameters), len(values)))
        restored["arguments"] = dict(zip(parameters, values, strict=False)) | call["arguments"]
    return restored
