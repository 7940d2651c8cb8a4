"""Goldens of DeepEval: JSON, JSON lines or CSV, single turns and conversations, in snake or camel case.

A golden says what to ask, and not which metric judges the answer. The tools that it expects are judged as the tool
correctness metric does with all of its score. A text is compared by a model, and is not judged, unless carob.toml says
under [evaluators.expected_output] what it asks for: `answer_text = [{ equals = "{{expected_output}}" }]`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Required, TypedDict

from carob.features.importers.evaluators import Evaluators, add_fields, fill
from carob.suites.diagnostics import Document, Path, PathDiagnostic, RefusedError, refuse
from carob.suites.documents.json import JsonLinesDocument
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import SuiteBuilder, TextPlaces
from carob.suites.shapes.foreign import snake_case

_SINGLE = (
    "id", "input", "actual_output", "expected_output", "context", "retrieval_context", "additional_metadata",
    "comments", "tools_called", "expected_tools", "source_file", "name", "custom_column_key_values", "multimodal",
    "images_mapping",
)  # fmt: skip
_CONVERSATION = ("scenario", "expected_outcome", "user_description", "persona", "turns")
_KNOWN = tuple(dict.fromkeys((*_SINGLE, *_CONVERSATION)))
_MARKS = (
    "actual_output", "expected_output", "retrieval_context", "expected_tools", "tools_called", "context",
    "source_file",
)  # fmt: skip
_JUDGED_OF_TOOL = ("name", "input_parameters", "description", "reasoning")
"""What is compared of a tool, or only explains it."""
_LONGEST = 300


class _Tool(TypedDict, total=False):
    name: Required[str]
    input_parameters: dict[str, Any]


class _Turn(TypedDict, total=False):
    role: Required[str]
    content: str


class _Golden(TypedDict, total=False):
    id: str | int
    name: str
    input: str
    scenario: str
    expected_outcome: str
    expected_tools: _Tool | str | list[_Tool | str]
    turns: list[_Turn]


class DeepEval(Format):
    """What to ask, and what a good answer would be."""

    name = "deepeval"
    title = "DeepEval goldens"
    description = "goldens with 'input' and 'expected_output' or 'expected_tools', or with 'scenario' (DeepEval)"

    def recognizes(self, file: SuiteFile) -> bool:
        if file.name.endswith(".csv"):
            columns = {snake_case(name) for name in next(csv.reader(io.StringIO(file.text[:65_536])), [])}
        else:
            rows, _ = _read_json(file)
            first = next(iter(rows), None)
            columns = {snake_case(name) for name in first} if isinstance(first, dict) else set()
        return ("input" in columns and not columns.isdisjoint(_MARKS)) or (
            "scenario" in columns and not columns.isdisjoint(("expected_outcome", "turns", "user_description"))
        )

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        rows, document = _read_csv(file) if file.name.endswith(".csv") else _read_json(file)
        suite = SuiteBuilder(file, catalog, document)
        suite.require(rows, list[_Golden])
        goldens = [_read_golden(row, (index,), suite) for index, row in enumerate(rows)]
        suite.require(goldens, list[_Golden])  # what was in them as text, too
        names = [golden.get("name") or "" for golden in goldens]
        has_names = all(names) and len(set(names)) == len(names)
        for index, golden in enumerate(goldens):
            name = names[index] if has_names else f"golden-{index + 1}"
            _add_case(suite, golden, name, (index,), catalog.declared.evaluators)
        return suite.build()


def _read_json(file: SuiteFile) -> tuple[Sequence[Any], Document | None]:
    if file.name.endswith(".jsonl"):
        document = JsonLinesDocument(file.data)
        if document.diagnostics:
            raise RefusedError(*document.diagnostics)
        return document.rows, document
    tree = file.tree
    return (tree, None) if isinstance(tree, Sequence) and not isinstance(tree, str) else ([], None)


def _read_csv(file: SuiteFile) -> tuple[Sequence[Any], Document]:
    """Rows of a table. Lists are written with `|`, tools as JSON or with `;`."""
    document = TextPlaces()
    reader = csv.reader(io.StringIO(file.text, newline=""), strict=True)
    rows: list[Any] = []
    try:
        head = [snake_case(name) for name in next(reader, [])]
        at = reader.line_num + 1
        for cells in reader:
            document.places[(len(rows),)] = (at, 1)
            at = reader.line_num + 1
            if len(cells) > len(head):
                message = f"the row has {len(cells)} cells, the header {len(head)}."
                document.diagnostics.append(PathDiagnostic((len(rows),), message, "syntax"))
            if cells:
                rows.append({name: _cell(name, text) for name, text in zip(head, cells, strict=False) if text})
    except csv.Error as error:
        raise refuse(f"not a table: {error}.", "syntax", (reader.line_num or 1, 1)) from None
    return rows, document


def _cell(name: str, text: str) -> Any:
    if name in ("context", "retrieval_context"):
        return text.split("|")
    if name in ("expected_tools", "tools_called") and not text.lstrip().startswith("["):
        return [{"name": tool.strip()} for tool in text.split(";") if tool.strip()]
    return text


def _read_golden(row: Any, path: Path, suite: SuiteBuilder) -> dict[str, Any]:
    """A golden in snake case; columns that a team added are notes of its own."""
    golden = {snake_case(name): value for name, value in row.items()}
    suite.refuse_unknown_keys(golden, _KNOWN, path, only_near=True)
    for name in ("expected_tools", "tools_called", "turns"):
        if isinstance(text := golden.get(name), str):
            try:
                golden[name] = json.loads(text)
            except ValueError:
                suite.problem((*path, name), f"'{name}' is not JSON.", "wrong-type")
                golden[name] = []
    return golden


def _add_case(suite: SuiteBuilder, golden: Mapping[str, Any], name: str, path: Path, evaluators: Evaluators) -> None:
    key = "expected_outcome" if "scenario" in golden else "expected_output"
    fields: dict[str, Any] = {}
    places: dict[str, Path] = {}
    if tools := golden.get("expected_tools"):
        fields |= {"outcome": "completed", "trajectory": _tools(tools, (*path, "expected_tools"), suite)}
        if unjudged := [*_unjudged_parts(tools)]:
            fields["unjudged"] = unjudged
        places |= dict.fromkeys(("trajectory", "unjudged"), (*path, "expected_tools"))
    if (text := golden.get(key)) is not None:
        mapped = fill(evaluators[key], {key: text}) if key in evaluators else {"unjudged": [f"{key}: {_short(text)}"]}
        add_fields(fields, mapped)
        places |= dict.fromkeys(mapped, (*path, key))
    if not fields:
        fields["unjudged"] = ["a metric of DeepEval: the golden itself expects nothing"]
    if "outcome" not in fields and set(fields) == {"unjudged"}:
        fields["outcome"] = "completed"
    prompts = [turn.get("content") or "" for turn in golden.get("turns") or () if turn["role"] == "user"]
    notes = {key: value for key, value in golden.items() if key not in _KNOWN}
    if prompts and "scenario" in golden:
        notes["scenario"] = golden["scenario"]
    case = suite.case(name, golden.get("input") or golden.get("scenario") or "", path, metadata=notes)
    case.expect(fields, path, places)
    for prompt in prompts:
        case.turn(prompt, path)


def _short(text: Any) -> str:
    words = " ".join(str(text).split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def _unjudged_parts(tools: Any) -> Iterator[str]:
    """What the golden says of its tools besides their names and parameters, such as MCP or FUNCTION as their type."""
    for tool in tools if isinstance(tools, list) else [tools]:
        for key, value in tool.items() if isinstance(tool, dict) else ():
            if snake_case(key) not in _JUDGED_OF_TOOL and value is not None:
                yield f"{snake_case(key)} of the tool {tool.get('name', '')}: {_short(value)}"


def _tools(tools: Any, path: Path, suite: SuiteBuilder) -> dict[str, Any]:
    """All of these were called, others too; with the same parameters where the golden has them."""
    calls = []
    for index, tool in enumerate(tools if isinstance(tools, list) else [tools]):
        about = {snake_case(key): value for key, value in tool.items()} if isinstance(tool, dict) else {"name": tool}
        if not about["name"].strip():
            suite.problem((*path, index), "an expected tool has a 'name'.", "wrong-type")
            continue
        parameters = about.get("input_parameters")
        calls.append(
            {"tool": about["name"], **({"arguments": {"$eq": parameters}} if isinstance(parameters, dict) else {})}
        )
    return {"calls": calls, "match": "superset"}
