"""BFCL, the Berkeley Function-Calling Leaderboard: questions, and next to them the answers that are right.

A file of questions has one object a line: `id`, `question` (turns of messages) and `function`, the tools. The answers
are in `possible_answer/` next to it, in a file of the same name. Questions of irrelevance and relevance need none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Required, TypedDict

from carob.suites.diagnostics import Path, RefusedError, refuse
from carob.suites.documents.json import JsonLinesDocument
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import CaseFields, SuiteBuilder
from carob.suites.shapes.foreign import require_shape
from carob.text.python_values import PythonCall, parse_calls
from carob.text.wording import quoted

ANSWERS = "possible_answer"
MORE_TOOLS = "I have updated some more functions you can choose from. What about now?"
"""What the user of the benchmark says in a turn without words, in which functions are added."""
_TOOLS = "multi_turn_func_doc"
_KNOWN = (
    "id", "question", "function", "initial_config", "path", "involved_classes", "missed_function",
    "excluded_function", "scenario", "execution_result_type", "ground_truth", "depends_on", "num_hops",
    "human_ground_truth", "source",
)  # fmt: skip
_IGNORED = r"[,./\-_*^()]*"


Expected = tuple[dict[str, Any], dict[str, Path]]


class _Message(TypedDict):
    role: str
    content: str


class _Items(TypedDict, total=False):
    type: str


class _Property(TypedDict, total=False):
    type: str
    items: _Items


class _Parameters(TypedDict, total=False):
    properties: dict[str, _Property]
    required: list[str]


class _Function(TypedDict, total=False):
    name: Required[str]
    parameters: _Parameters


Gold = str | list[str | list[str] | dict[str, dict[str, Any]]] | dict[str, dict[str, Any]]


class _Question(TypedDict, total=False):
    id: Required[str]
    question: str | list[list[_Message]]
    function: _Function | list[_Function]
    ground_truth: Gold


class _Answer(TypedDict):
    id: str
    ground_truth: Gold


class Bfcl(Format):
    """Questions, the tools that there are, and the calls that answer them."""

    name = "bfcl"
    title = "BFCL questions"
    description = "lines of objects with 'id' and 'question' (BFCL)"

    def recognizes(self, file: SuiteFile) -> bool:
        first = file.data.lstrip()[: 1 << 20].partition(b"\n")[0]
        if not first.startswith(b"{") or (b'"question"' not in first and b'"ground_truth"' not in first):
            return False
        try:
            row = json.loads(first)
        except ValueError:
            return False
        return "id" in row and not {"question", "ground_truth"}.isdisjoint(row)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        document = JsonLinesDocument(file.data)
        if document.diagnostics:
            raise RefusedError(*document.diagnostics)
        return _Reader(file, catalog, document).read()


class _Reader:
    def __init__(self, file: SuiteFile, catalog: SuiteCatalog, document: JsonLinesDocument) -> None:
        self._file = file
        self._document = document
        self._suite = SuiteBuilder(file, catalog, document)
        self._answers: dict[str, Any] | None = None
        self._source = next((name for name in ("javascript", "java") if name in file.name), "")
        self._tools: dict[str, list[str]] | None = None

    def read(self) -> ParsedSuite:
        self._suite.require(self._document.tree, list[_Question])
        for index, row in enumerate(self._document.rows):
            self._read_question(row, (index,))
        return self._suite.build(name=PurePath(self._file.name).stem)

    def _read_question(self, row: Any, path: Path) -> None:
        if row.get("question") is None:
            fix = f"Name the file with the questions: it has the same name, in the folder above '{ANSWERS}'."
            raise refuse(f"the file contains answers without their questions. {fix}", "no-questions")
        self._suite.refuse_unknown_keys(row, _KNOWN, path)
        turns = (
            row["question"] if isinstance(row["question"], list) else [[{"role": "user", "content": row["question"]}]]
        )
        if not turns:
            self._suite.problem((*path, "question"), "the question has no turns.", "empty-value")
            return
        category = row["id"].rsplit("_", 1)[0]
        user_messages = [[message["content"] for message in turn if message["role"] == "user"] for turn in turns]
        system = [message["content"] for turn in turns for message in turn if message["role"] == "system"]
        about: CaseFields = {"category": category}
        if system:
            about["metadata"] = {"system": "\n".join(system)}
        if "multi_turn" in category:
            prompts = [words[-1] if words else MORE_TOOLS for words in user_messages]
            self._read_conversation(row, prompts, path, about)
            return
        if user_messages[0][:-1]:
            about["setup_prompts"] = user_messages[0][:-1]
        if expected := self._read_expected(row, category, path):
            fields, places = expected
            self._suite.case(row["id"], user_messages[0][-1] if user_messages[0] else "", path, **about).expect(
                fields, path, places
            )

    def _read_expected(self, row: Mapping[str, Any], category: str, path: Path) -> Expected | None:
        """What is expected, in fields of Carob 1 with the place of each; None if it cannot be known."""
        if "irrelevance" in category:
            return ({"outcome": "completed", "tools_used": []}, {"tools_used": (*path, "id")})
        if "relevance" in category:
            return ({"outcome": "tool_started"}, {"outcome": (*path, "id")})
        gold = self._gold(row, path)
        if gold is None:
            return None
        if all(isinstance(answer, str) for answer in gold) and not row.get("function"):
            return ({"must_match_regex": [_says_any(gold)]}, {"must_match_regex": path})
        calls = [*self._calls(row, gold, path)]
        fields = {"outcome": "tool_started", "tool_calls": calls, "max_tool_calls": len(calls)}
        return (fields, dict.fromkeys(fields, path)) if calls else None

    def _calls(self, row: Mapping[str, Any], gold: Sequence[Any], path: Path) -> Iterator[dict[str, Any]]:
        functions = _as_list(row.get("function") or [])
        by_name = {function["name"]: function.get("parameters") or {} for function in functions}
        for call in gold:
            if not isinstance(call, dict) or len(call) != 1:
                self._suite.problem(path, f"the answer of {quoted(row['id'])} is not an object with one function.")
                continue
            ((name, answer),) = call.items()
            if name not in by_name:
                message = f"the answer of {quoted(row['id'])} names {quoted(name)}, which is not among its functions."
                self._suite.problem((*path, "function"), message, "unknown-tool")
                continue
            yield {"tool": name, "arguments": {"$only": self._arguments(by_name[name], answer)}}

    def _arguments(self, schema: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
        """What each parameter may be; one that is needed, and that the answer does not name, may be anything."""
        properties, required = schema.get("properties") or {}, schema.get("required") or []
        arguments: dict[str, Any] = {name: {"$absent": False} for name in required if name not in answer}
        for name, values in answer.items():
            about = properties.get(name)
            if about is None:
                arguments[name] = {"$absent": True}
            elif self._source:
                arguments[name] = source_argument(values, about, self._source, needed=name in required)
            else:
                arguments[name] = argument(values, about, needed=name in required)
        return arguments

    def _read_conversation(self, row: Mapping[str, Any], prompts: Sequence[str], path: Path, about: CaseFields) -> None:
        gold = self._gold(row, path)
        if gold is None:
            return
        if len(gold) != len(prompts):
            message = f"the answer of {quoted(row['id'])} has {len(gold)} turns, the question {len(prompts)}."
            self._suite.problem((*path, "question"), message)
            return
        case = self._suite.case(row["id"], prompts[0], path, **about)
        for number, (prompt, calls) in enumerate(zip(prompts, gold, strict=True)):
            turn_path = (*path, "question", number)
            expected_calls = [self._gold_call(text, row["id"], turn_path) for text in calls]
            fields: dict[str, Any] = {"outcome": "tool_started", "tool_calls": expected_calls} if expected_calls else {}
            case.turn(prompt, turn_path).expect(fields, turn_path, dict.fromkeys(fields, turn_path))

    def _gold_call(self, text: str, name: str, path: Path) -> dict[str, Any]:
        try:
            (call,) = parse_calls(text)
            return {"tool": call.name, "arguments": {"$eq": self._all_named(call)}}
        except (ValueError, KeyError) as error:
            self._suite.problem(path, f"the answer of {quoted(name)} cannot be read: {quoted(text)}: {error}.")
            return {"tool": "unknown"}

    def _all_named(self, call: PythonCall) -> dict[str, Any]:
        """Arguments by name; those without one are named by the description of the tool."""
        if not call.positional:
            return call.arguments
        names = self._parameters().get(call.name)
        if names is None or len(names) < len(call.positional):
            raise KeyError(f"'{_TOOLS}' next to the file does not name the parameters of {call.name}")
        return dict(zip(names, call.positional, strict=False)) | call.arguments

    def _parameters(self) -> dict[str, list[str]]:
        if self._tools is None:
            self._tools = {}
            for path in sorted(self._file.folder.joinpath(_TOOLS).glob("*.json")):
                for tool in JsonLinesDocument(self._file.read_other(f"{_TOOLS}/{path.name}")).rows:
                    if isinstance(tool, dict):
                        self._tools[str(tool.get("name"))] = [*_properties(tool)]
        return self._tools

    def _gold(self, row: Mapping[str, Any], path: Path) -> list[Any] | None:
        """The answer to a question: its own, or the one of its id in the file of answers."""
        if "ground_truth" in row:
            return _as_list(row["ground_truth"])
        if self._answers is None:
            answers = JsonLinesDocument(self._file.read_other(f"{ANSWERS}/{self._file.name}"))
            file = str(self._file.folder / ANSWERS / self._file.name)
            if answers.diagnostics:
                raise RefusedError(*answers.diagnostics).in_file(file)
            require_shape(answers.tree, list[_Answer], answers, file=file)
            rows: Sequence[Any] = answers.rows
            self._answers = {row_of_answers["id"]: row_of_answers["ground_truth"] for row_of_answers in rows}
        if row["id"] not in self._answers:
            message = f"'{ANSWERS}/{self._file.name}' has no answer to {quoted(row['id'])}. Add it."
            self._suite.problem((*path, "id"), message, "no-checks")
            return None
        return _as_list(self._answers[row["id"]])


def _as_list(value: Any) -> list[Any]:
    """A list; older files have one thing, or calls by name, in its place."""
    if isinstance(value, dict) and "name" not in value:
        return [{name: arguments} for name, arguments in value.items()]
    return value if isinstance(value, list) else [value]


def _properties(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = tool.get("parameters", {}).get("properties", {})
    return properties if isinstance(properties, dict) else {}


def _says_any(answers: Sequence[str]) -> str:
    """A regex for one of these texts as words of their own, whatever of `,./-_*^()` is between their letters."""
    spelled = [_IGNORED.join(map(re.escape, re.sub(_IGNORED[:-1], "", answer))) for answer in answers]
    return rf"(?<!\w)(?:{'|'.join(spelled)})(?!\w)"


ABSENT = {"$absent": True}
_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}


def argument(values: Any, about: Mapping[str, Any], *, needed: bool) -> Any:
    """One of the values; an empty text among them says that the parameter may be left out."""
    values = values if isinstance(values, list) else [values]
    answers, empty = [value for value in values if value != ""], "" in values
    declared = _TYPES.get(str(about.get("type")), str)
    options: list[Any] = [ABSENT] if empty and not needed else []
    if answers and type(answers[0]) is not declared:
        options += map(_exact, values)  # a variable: the text of the answer and no other
    elif declared is str:
        options += ({"$loosely": value} for value in values if isinstance(value, str))
    elif declared is list:
        of_objects = _TYPES.get(str(about.get("items", {}).get("type")), str) is dict
        options += ([*map(_members if of_objects else _match_loosely, value)] for value in answers)
        options += [[]] if empty else []
    elif declared is dict:
        options += map(_members, answers)
    else:
        options += map(_exact, answers)
    # Gold that lists no value at all is satisfied by none. An empty list is what it means where lists are asked for.
    return one_of(options or [[] if declared is list else {"$absent": False}])


def one_of(options: Sequence[Any]) -> Any:
    if len(options) == 1:
        return options[0]
    plain = [value for value in options if not isinstance(value, dict | list)]
    return {"$in": plain} if len(plain) == len(options) else {"$any": [*options]}


def _exact(value: Any) -> Any:
    return {"$eq": value} if isinstance(value, dict | list) else value


def _match_loosely(value: Any) -> Any:
    return {"$loosely": value} if isinstance(value, str) else _exact(value)


def _members(value: Any) -> Any:
    """An object each of whose members is one of the values that are listed for it."""
    if not isinstance(value, dict):
        return _match_loosely(value)
    return {"$only": {name: one_of([*_member(answers)]) for name, answers in value.items()}}


def _member(answers: Any) -> Iterator[Any]:
    values = answers if isinstance(answers, list) else [answers]
    if "" in values:
        yield ABSENT
    yield from map(_match_loosely, values)


def source_argument(values: Any, about: Mapping[str, Any], language: str, *, needed: bool) -> Any:
    """The same where arguments are source text of Java or JavaScript: each value as that language writes it."""
    values = values if isinstance(values, list) else [values]
    options: list[Any] = [ABSENT] if "" in values and not needed else []
    declared, items = str(about.get("type")), str(about.get("items", {}).get("type", ""))
    options += (_source(value, declared, items, language) for value in values if value != "" or needed)
    return one_of(options)


def _source(value: Any, declared: str, items: str, language: str) -> Any:
    if isinstance(value, str):
        quoted = language == "javascript" and declared == "String"
        return {"$any": [{"$loosely": value}, {"$loosely": f'"{value}"'}]} if quoted else {"$loosely": value}
    if isinstance(value, dict):
        return _source_object(value, language)
    if isinstance(value, list):
        return {"$regex": _collection(value, declared, items, language)}
    return {"$regex": f"^{_scalar(value, declared, language)}$"}


def _source_object(value: Mapping[str, Any], language: str) -> Any:
    """A text with each of the members and no other."""
    if not value:
        return {"$regex": r"\{\s*\}|\(\)"}
    names = "|".join(map(re.escape, value))
    no_other = rf"""[{{,]\s*["']?(?!(?:{names})\b)\w+["']?\s*:"""
    if language == "java":
        no_other = rf"""put\(\s*["'](?!(?:{names})["'])"""
    members = [{"$regex": _entry(name, answers, language)} for name, answers in value.items()]
    return {"$all": [*members, {"$not": {"$regex": no_other}}]}


def _scalar(value: Any, declared: str, language: str) -> str:
    """A regex for a value as source text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        quote = '"?' if language == "java" else """["']?"""
        return f"{quote}{re.escape(value)}{quote}"
    endings = {"long": "[lL]", "float": "[fF]"} if language == "java" else {"Bigint": "n"}
    ending = endings.get(declared, "")
    if isinstance(value, float) and value.is_integer():
        return rf"{int(value)}(?:\.0+)?{ending}"
    return re.escape(str(value)) + (r"0*" if isinstance(value, float) else "") + ending


def _collection(values: Sequence[Any], declared: str, items: str, language: str) -> str:
    inside = r"\s*,\s*".join(_scalar(value, items, language) for value in values)
    if language == "javascript":
        return rf"^(?:\[\s*{inside}\s*\]|new\s+Array\(\s*{inside}\s*\))$"
    if declared == "ArrayList":
        return rf"new\s+ArrayList<\w*>\((?:Arrays\.asList\(\s*{inside}\s*\))?\)"
    return rf"new\s+\w+\[\]\s*\{{\s*{inside}\s*\}}"


def _entry(name: str, answers: Any, language: str) -> str:
    """A regex for one member of an object, whichever of the listed values it has."""
    values = [
        value for value in (answers if isinstance(answers, list) else [answers]) if not isinstance(value, list | dict)
    ]
    either = "|".join(_scalar(value, "", language) for value in values) or "."
    if language == "javascript":
        return rf"""["']?{re.escape(name)}["']?\s*:\s*(?:{either})"""
    return rf"""["']{re.escape(name)}["']\s*,\s*(?:{either})"""
