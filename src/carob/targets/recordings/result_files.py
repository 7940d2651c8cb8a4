"""Result files of other tools that can be replayed: the answers of their cases, in the short form of a trace."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import islice
from typing import Any, ClassVar, NamedTuple, TypedDict

import jiter
import msgspec

from carob.errors import ConfigError
from carob.model.suite import Case
from carob.plugins.features import all_features, load
from carob.suites.diagnostics import Document, RefusedError, refuse
from carob.suites.documents.json import JsonDocument, JsonLinesDocument
from carob.suites.documents.source import utf8
from carob.suites.formats.builder import TextPlaces
from carob.suites.shapes.foreign import require_shape
from carob.text.wording import did_you_mean, join_words

LARGEST = 1 << 30
_OURS = frozenset({"case_id", "trace", "kind"})
POSITIONAL = "positional"
"""Values of arguments without a name, until it is known which case the call belongs to."""


class RecordedCase(NamedTuple):
    """What an agent did in a case, in the short form. `repeat`: the number of the trial.

    With `simulated` the user was a program: the case has one prompt, its script, and the turns are those of the two.
    """

    case_id: str
    form: dict[str, Any]
    repeat: int = 0
    simulated: bool = False
    said: tuple[str, ...] = ()
    """What the user said, in a file that does not name its cases."""
    identity: Mapping[str, object] = {}
    """What else such a file says of the case: it distinguishes cases in which the user said the same."""
    provider: str = ""
    """Who answered, in a file that holds the answers of several."""
    is_numbered: bool = False
    """Whether the file has the number of its test: otherwise its place in the file says nothing."""


class TableRow(TypedDict):
    """A row of a file of comma-separated values."""

    columns: list[str]
    cells: list[str]


IDENTITY = "identity"
"""The key of a case's metadata that distinguishes it from cases in which the user says the same."""
ALIKE = "alike"
"""Of an identity: which of so many cases it is that nothing else distinguishes, from 0. Their results are in order."""


class RecordedAnswers:
    """The results of a file that does not name its cases, by what the user said."""

    def __init__(self, results: Sequence[RecordedCase], provider: str | None) -> None:
        """Those of one provider. Raises ConfigError if it is not clear of which."""
        providers = sorted({result.provider for result in results})
        if provider is None and len(providers) > 1:
            fix = f"Choose one in carob.toml: `options.provider = {json.dumps(providers[0])}` next to `use`."
            raise ConfigError(f"the results are of {len(providers)} providers: {', '.join(providers)}.", fix=fix)
        if provider is not None and provider not in providers:
            near = did_you_mean(provider, providers) or f"Known: {', '.join(providers)}."
            raise ConfigError(f"no result is of the provider {provider!r}.", fix=near)
        self._found: dict[tuple[str, ...], list[RecordedCase]] = {}
        for result in results:
            if provider in (None, result.provider):
                self._found.setdefault(normalize_said(result.said), []).append(result)

    def find(self, case: Case, repeat: int) -> RecordedCase | None:
        """What was recorded of a case. Raises ValueError if several results may be it."""
        if not case.turns:
            return self._pick(case, [(*case.setup_prompts, case.prompt), (case.prompt,)], repeat)
        prompts = [turn.prompt for turn in case.turns]
        forms = []
        for number, prompt in enumerate(prompts):
            # Said again in one conversation, it was answered again: the results are in the order of the turns.
            place = repeat * prompts.count(prompt) + prompts[:number].count(prompt)
            result = self._pick(case, [tuple(prompts[: number + 1]), (prompt,)], place)
            if result is None:
                return None
            forms.append(result.form)
        return RecordedCase(case.id, {"turns": forms}, repeat)

    def _pick(self, case: Case, said: Sequence[tuple[str, ...]], place: int) -> RecordedCase | None:
        candidates: list[RecordedCase] = next(
            (found for one in said if (found := self._found.get(normalize_said(one)))), []
        )
        known = case.metadata.get(IDENTITY)
        if isinstance(known, dict):
            known = dict(known)
            number, count = known.pop(ALIKE, (0, 1))
            if len(candidates) > 1 and not all(known.keys() <= one.identity.keys() for one in candidates):
                raise ValueError(f"several results have its prompt, and do not all name {join_words([*known], 'and')}")
            candidates = [one for one in candidates if all(one.identity.get(key, v) == v for key, v in known.items())]
            if len(candidates) % count or (count > 1 and not all(one.is_numbered for one in candidates)):
                raise ValueError(
                    f"{count} cases are the same, and which of {len(candidates)} results is whose is unknown"
                )
            own = len(candidates) // count
            candidates = candidates[number * own :][:own]
        elif not case.turns and any(one.identity != candidates[0].identity for one in candidates):
            raise ValueError("several results have its prompt, and differ otherwise")
        return candidates[place] if place < len(candidates) else None


def normalize_said(said: tuple[str, ...]) -> tuple[str, ...]:
    """What the user said, however its white space was kept; where it is JSON, too."""
    return tuple(map(_normalize_text, said))


def _normalize_text(text: str) -> str:
    text = text.strip()
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(jiter.from_json(text.encode()), sort_keys=True)
    except ValueError:
        return text


class ResultFile:
    """A kind of result file: the values of its lines, or the one value that it is. `shape`: what is read of them."""

    shape: ClassVar[object]

    def recognizes(self, first: object) -> bool:
        """Whether a file is of this kind, by its first value."""
        raise NotImplementedError

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        """The cases of a file, whose values have the shape that is declared."""
        raise NotImplementedError


def read_results(file: BufferedReader) -> list[RecordedCase] | None:
    """What a result file of another tool holds; None if it is not one. Raises RefusedError with what is wrong."""
    file.seek(0)
    try:
        return _read(file)
    finally:
        file.seek(0)


def _read(file: BufferedReader) -> list[RecordedCase] | None:
    first = next((line for line in islice(file, 100) if line.strip()), b"").strip()
    if not file.name.endswith(".csv") and first.endswith(b"}") and _is_ours(first):
        return None
    document = _parse(first, file)
    if document is None:
        return None
    tree: Any = document.tree
    if isinstance(tree, str):  # ADK has written JSON within JSON
        tree = _read_inner(tree)
    elif isinstance(tree, Sequence):
        tree = [*tree]
    values = [tree] if isinstance(document, JsonDocument) else tree
    if not values:
        return None
    for place in (place for feature in all_features() for place in feature.recordings):
        result_file: ResultFile = load(place)()
        if result_file.recognizes(values[0]):
            require_shape(tree, result_file.shape, document)
            return list(result_file.read(values))
    return None


def _read_inner(text: str) -> object:
    try:
        return jiter.from_json(text.encode())
    except ValueError:
        return text


def _is_ours(line: bytes) -> bool:
    """Whether a line is of a recording or a journal of ours."""
    try:
        value = jiter.from_json(line, cache_mode="none")
    except ValueError:
        return False
    return isinstance(value, dict) and not _OURS.isdisjoint(value)


def _parse(first: bytes, file: BufferedReader) -> Document | None:
    """The values of the lines, or of the rows, or the one value that the whole file is; None if it is neither."""
    file.seek(0)
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        message = f"larger than {LARGEST >> 30} GiB, the most that is read of the results of other tools."
        raise refuse(message, "too-large")
    if file.name.endswith(".csv"):
        return _read_table(utf8(data).decode())
    if first.startswith(b"{") and first.endswith(b"}"):
        lines = JsonLinesDocument(data)
        return lines if lines.rows and not lines.diagnostics else None
    try:
        return JsonDocument(utf8(data))
    except RefusedError:
        return None


def _read_table(text: str) -> Document:
    document = TextPlaces()
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Any] = []
    try:
        columns = next(reader, [])
        at = reader.line_num + 1
        for cells in reader:
            document.places[(len(rows),)] = (at, 1)
            at = reader.line_num + 1
            if len(cells) != len(columns):
                raise csv.Error(f"the row has {len(cells)} cells, the header {len(columns)}")
            rows.append({"columns": columns, "cells": cells})
    except csv.Error as error:
        raise refuse(f"not a table: {error}.", "syntax", (reader.line_num or 1, 1)) from None
    document.tree = rows
    return document


def restore_names(form: dict[str, Any], case: Case) -> dict[str, Any]:
    """The calls by the names of the case: many services take no dot, and `math.sqrt` was asked for as `math_sqrt`.

    Arguments without a name are those that the case expects of the tool, in their order.
    """
    if "turns" in form:
        return {**form, "turns": [restore_names(turn, case) for turn in form["turns"]]}
    if not form.get("tool_calls"):
        return form
    expected = [msgspec.json.decode(spec.args) for _, spec in case.all_checks if spec.name == "tool_calls"]
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
