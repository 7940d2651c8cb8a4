"""Tasks of tau-bench: its Python files, which are parsed and never run, the same as JSON, and files of trajectories."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Required, TypedDict

from carob.features.importers.tau.contracts import (
    Action,
    expect_words,
    expect_writes,
    forbid_other_writes,
    writing_tools,
)
from carob.suites.diagnostics import Document, Path, RefusedError, refuse
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import SuiteBuilder, TextPlaces

_KNOWN = ("annotator", "user_id", "instruction", "synthetic_instruction", "actions", "outputs")
_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)


class _Action(TypedDict, total=False):
    name: Required[str]
    kwargs: dict[str, Any]
    arguments: dict[str, Any]


class _Task(TypedDict, total=False):
    user_id: str
    instruction: Required[str]
    actions: list[_Action]
    outputs: list[str | float]


class _Info(TypedDict, total=False):
    task: _Task


class _Trial(TypedDict, total=False):
    task_id: Required[int | str]
    info: Required[_Info]


class TauBench(Format):
    """What a simulated user wants, the calls that do it, and words that the agent says."""

    name = "tau-bench"
    title = "tau-bench tasks"
    description = "tasks with 'instruction' and 'actions', as JSON or Python, or trajectories (tau-bench)"

    def recognizes(self, file: SuiteFile) -> bool:
        if file.name.endswith(".py"):
            return b"instruction" in file.data and b"actions" in file.data
        first = next(iter(file.tree), None) if isinstance(file.tree, list | tuple) or _is_rows(file.tree) else None
        return isinstance(first, dict) and (
            {"instruction", "actions"} <= first.keys() or {"traj", "info"} <= first.keys()
        )

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        document: Document | None = None
        if file.name.endswith(".py"):
            rows, document = _python_tasks(file.text)
        else:
            rows = [(row, (index,)) for index, row in enumerate(file.tree)]
        suite = SuiteBuilder(file, catalog, document)
        is_run = document is None and "traj" in rows[0][0]
        suite.require([row for row, _ in rows], list[_Trial] if is_run else list[_Task])
        tasks = [(name, task, path, _actions(task, path, suite)) for name, task, path in _tasks(rows, suite)]
        tools = writing_tools(action for *_, actions in tasks for action in actions)
        for name, task, path, actions in tasks:
            _add_case(suite, name, task, path, actions, tools)
        return suite.build()


def _is_rows(tree: object) -> bool:
    return hasattr(tree, "__getitem__") and hasattr(tree, "__len__") and not isinstance(tree, str | dict)


def _tasks(rows: list[tuple[Any, Path]], suite: SuiteBuilder) -> Iterator[tuple[str, Mapping[str, Any], Path]]:
    """Each task once, by its number: trajectories hold it again for every trial, but not where a run broke."""
    tasks: dict[str, tuple[Mapping[str, Any], Path]] = {}
    for index, (row, path) in enumerate(rows):
        if "traj" in row:
            name, task_path = f"task-{row['task_id']}", (*path, "info", "task")
            if not tasks.get(name, ({}, ()))[0]:
                tasks[name] = (row["info"].get("task") or {}, task_path)
        else:
            tasks[f"task-{index}"] = (row, path)
    for name, (task, path) in tasks.items():
        suite.refuse_unknown_keys(task, _KNOWN, path)
        yield name, task, path


def _actions(task: Mapping[str, Any], path: Path, suite: SuiteBuilder) -> list[Action]:
    actions = []
    for index, action in enumerate(task.get("actions") or ()):
        arguments = action.get("kwargs", action.get("arguments"))
        if arguments is None:
            suite.problem((*path, "actions", index), "an action is an object with 'name' and 'kwargs'.", "wrong-type")
            continue
        actions.append(Action(action["name"], arguments))
    return actions


def _add_case(
    suite: SuiteBuilder, name: str, task: Mapping[str, Any], path: Path, actions: list[Action], tools: list[str]
) -> None:
    fields: dict[str, Any] = {"outcome": "completed", "ended": True}
    if calls := expect_writes(actions, tools):
        fields["tool_calls"] = calls
    if words := expect_words([str(word) for word in task.get("outputs") or ()]):
        fields["in_any_turn"] = words
    places = {"tool_calls": (*path, "actions"), "in_any_turn": (*path, "outputs")}
    metadata = {"user_id": task["user_id"]} if "user_id" in task else {}
    skip = "" if task else "every run of it ended before its task was recorded"
    prompt = task["instruction"] if task else "(no task)"
    case = suite.case(name, prompt, path, metadata=metadata, skip=skip)
    case.expect(fields, path, places)
    forbid_other_writes(case, tools, (*path, "actions"))


def _python_tasks(text: str) -> tuple[list[tuple[Any, Path]], Document]:
    """The list of tasks of a Python file: calls of `Task` and `Action` and plain values, nothing else."""
    try:
        statements = ast.parse(text).body
        lists = [
            statement.value
            for statement in statements
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List)
        ]
        if not lists:
            raise refuse("no list of tasks is assigned in this file.", "empty-suite")
        document = TextPlaces()
        rows: list[tuple[Any, Path]] = []
        for index, node in enumerate(lists[0].elts):
            document.places[(index,)] = (node.lineno, node.col_offset + 1)
            rows.append((_read_literal(node), (index,)))
        return rows, document
    except RefusedError:
        raise
    except _ERRORS as error:
        place = (getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1)
        raise refuse(f"not a file of tasks: {error}. Code in it is not run.", "syntax", place) from None


def _read_literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and node.keywords and not node.args and all(word.arg for word in node.keywords):
        return {str(word.arg): _read_literal(word.value) for word in node.keywords}
    if isinstance(node, ast.List):
        return [_read_literal(entry) for entry in node.elts]
    return ast.literal_eval(node)
