"""Laws 2, 3, 7 and 8 over every reader of exports: lost, foreign, dropped and mistyped rows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import settings

from carob.errors import CarobError
from carob.evidence.exports.reading import read_conversations
from carob.evidence.exports.record import RecordedConversation
from evidence.exports.sources import SOURCES, Source
from evidence.exports.test_sources import outcomes
from laws.coverage import Coverage, require
from laws.files import VALUES, Place, places, remove, replace
from laws.test_wrong_types import RAISED

BINARY = (".pb", ".db", ".parquet", ".csv")
READ_AS_ROWS = {"Parquet, CSV, SQLite, protobuf": "their rows reach the readers that are tried here"}
WHOLE_TRACES: dict[str, Place] = {"langfuse-api": ("observations",), "mlflow-json": ("data", "spans")}
"""Where a row is a trace, of which nothing is left behind without it, its spans are in it."""
SAMPLE = 97
"""One place of so many is tried in the gate."""


def _documents(folder: Path) -> Iterator[tuple[Source, list[Any]]]:
    """The rows of each source that is text: lines, or the elements of a document."""
    for source in SOURCES:
        (folder / source.name).mkdir(exist_ok=True)
        path = source.write(folder / source.name)
        if path.is_dir() or path.suffix in BINARY:
            continue
        text = path.read_text()
        rows = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)["data"]
        yield source, _split(rows)


def _split(rows: list[Any]) -> list[Any]:
    """Requests of OTLP with one span each, so that a row is a span."""
    if "resourceSpans" not in rows[0]:
        return rows
    split = []
    for row in rows:
        for group in row["resourceSpans"]:
            for scope in group["scopeSpans"]:
                split += [
                    {"resourceSpans": [{**group, "scopeSpans": [{**scope, "spans": [span]}]}]}
                    for span in scope["spans"]
                ]
    return split


def _read(path: Path, rows: list[Any]) -> dict[str, RecordedConversation]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {one.id: one for one in read_conversations([path])}


def _broken(read: dict[str, RecordedConversation]) -> list[set[str]]:
    """For each rule, its outcomes over all conversations."""
    return [set(column) for column in zip(*(outcomes(one.trace) for one in read.values()), strict=True)]


def _is_green(before: list[set[str]], after: list[set[str]]) -> bool:
    """Whether a rule that was broken is now neither broken nor unknown anywhere."""
    return any("broken" in was and not {"broken", "unknown"} & now for was, now in zip(before, after, strict=True))


def _places(row: Any) -> Iterator[Place]:
    every = [place for place in places(row) if place]
    step = SAMPLE // 7 if settings().max_examples > 100 else SAMPLE
    yield from every[random.Random(len(every)).randrange(step) :: step]


def _without_spans(rows: list[Any], place: Place) -> Iterator[tuple[str, list[Any]]]:
    for number, row in enumerate(rows):
        spans: Any = row
        for step in place:
            spans = spans[step]
        for at in range(len(spans)):
            yield f"span {number} {at}", [*rows[:number], remove(row, (*place, at)), *rows[number + 1 :]]


def find_greens_by_loss(folder: Path) -> Coverage:
    coverage = Coverage(2, "less of an export never makes green", formats=[], exceptions=READ_AS_ROWS)
    formats = []
    for source, rows in _documents(folder):
        if not source.runs_tools:
            continue  # a row is a conversation: nothing of it is left behind
        formats.append(source.name)
        before = _broken(_read(folder / "rows.jsonl", rows))
        less = [(f"row {n}", [*rows[:n], *rows[n + 1 :]]) for n in range(len(rows))]
        if source.name in WHOLE_TRACES:
            less = [*_without_spans(rows, WHOLE_TRACES[source.name])]
        for number, row in enumerate(rows):
            others = rows[:number], rows[number + 1 :]
            less += [(f"{number} {place}", [*others[0], remove(row, place), *others[1]]) for place in _places(row)]
        for what, left in less:
            try:
                after = _broken(_read(folder / "rows.jsonl", left))
            except CarobError:
                continue
            coverage.try_one(not _is_green(before, after), f"{source.name} without {what}: {before} {after}")
    coverage.formats = formats
    return coverage


def find_changes_by_foreign_rows(folder: Path) -> Coverage:
    coverage = Coverage(3, "rows doubled, in another order or of others change nothing", formats=[])
    formats = []
    for source, rows in _documents(folder):
        if not source.runs_tools:
            continue
        formats.append(source.name)
        expected = {name: one.trace for name, one in _read(folder / "rows.jsonl", rows).items()}
        foreign = json.loads(json.dumps(rows).replace("s-1", "s-8").replace("s-2", "s-9"))
        for number, row in enumerate(foreign):  # ids of their own
            text = json.dumps(row)
            for key in _ids(rows):
                text = text.replace(key, _other(key))
            foreign[number] = json.loads(text)
        for seed in range(3):
            for what, mixed in (("doubled", rows * 2), ("of others", [*rows, *foreign]), ("shuffled", [*rows])):
                random.Random(seed).shuffle(mixed)
                found = {name: one.trace for name, one in _read(folder / "rows.jsonl", mixed).items()}
                same = all(found.get(name) == trace for name, trace in expected.items())
                coverage.try_one(same, f"{source.name} {what}")
    coverage.formats = formats
    return coverage


def _ids(rows: list[Any]) -> set[str]:
    """The ids of traces and spans that rows have."""
    names = {"id", "trace_id", "span_id", "traceId", "spanId", "parentSpanId", "parent_id", "parent_span_id"}
    names |= {"parent_run_id", "parentObservationId"}
    found = set()
    for row in rows:
        for place in places(row):
            value: Any = row
            for step in place:
                value = value[step]
            if place and place[-1] in names and isinstance(value, str) and len(value) >= 12:
                found.add(value)
    return found


def _other(key: str) -> str:
    prefix, _, rest = key.rpartition("_")
    return f"{prefix}_{rest[::-1]}" if prefix else key[::-1]


def find_dropped(folder: Path) -> Coverage:
    coverage = Coverage(7, "every conversation of a folder is read, whatever is next to it", formats=[])
    formats = []
    for source, rows in _documents(folder):
        formats.append(source.name)
        root = folder / "all" / source.name
        root.mkdir(parents=True)
        _read(root / "a.jsonl", rows[::2])
        (root / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[1::2]))
        found = {one.id for one in read_conversations([root])}
        coverage.try_one(found == {"s-1", "s-2"}, f"{source.name} in two files: {found}")
        for torn in ('{"id": ', '{"unknown": 1}\n', "[1]\n", "5\n", '"text"\n'):
            (root / "c.jsonl").write_text(torn)
            is_told = bool(_refusal(root)) or any(one.unread for one in read_conversations([root]))
            coverage.try_one(is_told, f"{source.name} with {torn!r}")
        (root / "c.jsonl").unlink()
    coverage.formats = formats
    return coverage


def find_tracebacks(folder: Path) -> Coverage:
    coverage = Coverage(8, "a wrong type in an export has a place", formats=[], exceptions=READ_AS_ROWS)
    formats = []
    for source, rows in _documents(folder):
        formats.append(source.name)
        path = folder / "rows.jsonl"
        for number, row in enumerate(rows):
            for at, place in enumerate(_places(row)):
                value = VALUES[(number + at) % len(VALUES)]
                changed = replace(row, place, value)
                path.write_text(
                    "".join(json.dumps(one) + "\n" for one in [*rows[:number], changed, *rows[number + 1 :]])
                )
                problem = _complaint(path)
                coverage.try_one(not problem, f"{source.name} {place} = {value!r}: {problem}")
    coverage.formats = formats
    return coverage


def _refusal(path: Path) -> str:
    try:
        list(read_conversations([path]))
    except CarobError as error:
        return str(error)
    return ""


def _complaint(path: Path) -> str:
    """What is wrong with how a file was refused; nothing where it was read, or refused as it should be."""
    try:
        refusal = _refusal(path)
    except Exception as error:  # noqa: BLE001 - any other one is what is looked for
        return f"{type(error).__name__}: {error}"
    if refusal and (not refusal.startswith(f"{path}:") or any(name in refusal for name in RAISED)):
        return f"not for a person: {refusal}"
    return ""


def test_less_of_an_export_never_makes_green(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    require(find_greens_by_loss(tmp_path), record_property)


def test_foreign_rows_change_nothing(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    require(find_changes_by_foreign_rows(tmp_path), record_property)


def test_no_conversation_is_dropped(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    require(find_dropped(tmp_path), record_property)


def test_a_wrong_type_in_an_export_has_a_place(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    require(find_tracebacks(tmp_path), record_property)
