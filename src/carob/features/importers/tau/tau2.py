"""Tasks of tau2: a list of them, one alone, or a file of results, which holds its tasks.

What gates the reward is what `reward_basis` names. Assertions on the environment need the one of tau2, and those in
natural language need a model: both are not judged here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Required, TypedDict

from carob.features.importers.tau import contracts
from carob.suites.diagnostics import Path
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import SuiteBuilder
from carob.text.wording import join_words, quoted

_BASIS = ("DB", "COMMUNICATE")
_TASK = (
    "id", "description", "user_scenario", "ticket", "initial_state", "evaluation_criteria", "issues", "annotations",
    "user_tools", "required_documents",
)  # fmt: skip
_CRITERIA = ("actions", "env_assertions", "communicate_info", "nl_assertions", "reward_basis")
_KINDS = ("DB", "ENV_ASSERTION", "NL_ASSERTION", "ACTION", "COMMUNICATE")


class _Action(TypedDict, total=False):
    name: Required[str]
    arguments: Required[dict[str, Any]]
    requestor: str
    compare_args: list[str]


class _Assertion(TypedDict, total=False):
    env_type: str
    func_name: Required[str]
    arguments: dict[str, Any]
    assert_value: bool


class _Criteria(TypedDict, total=False):
    actions: list[_Action]
    env_assertions: list[_Assertion]
    communicate_info: list[str]
    nl_assertions: list[str]
    reward_basis: list[str]


class _Scenario(TypedDict, total=False):
    instructions: str | dict[str, Any]


class _Task(TypedDict, total=False):
    id: Required[str | int]
    user_scenario: Required[str | _Scenario]
    evaluation_criteria: _Criteria


class _Results(TypedDict):
    tasks: list[_Task]


class Tau2(Format):
    """What a simulated user wants, and the criteria by which tau2 rewards the agent."""

    name = "tau2"
    title = "tau2 tasks"
    description = "tasks with 'user_scenario' and 'evaluation_criteria' (tau2)"

    def recognizes(self, file: SuiteFile) -> bool:
        rows, _ = _rows(file.tree)
        first = next(iter(rows), None)
        return isinstance(first, dict) and "user_scenario" in first

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        is_run = isinstance(file.tree, dict) and "simulations" in file.tree
        suite = SuiteBuilder(file, catalog)
        suite.require(file.tree, _Results if is_run else _Task | list[_Task])
        rows, inside = _rows(file.tree)
        paths: list[Path] = [(*inside, index) if file.tree is not row else () for index, row in enumerate(rows)]
        tasks = [(task, path, _actions(task)) for task, path in zip(rows, paths, strict=True)]
        tools = contracts.writing_tools(action for *_, actions in tasks for action in actions)
        for task, path, actions in tasks:
            _add_case(suite, task, path, actions, tools)
        return suite.build()


def _rows(tree: Any) -> tuple[Sequence[Any], Path]:
    if isinstance(tree, dict):
        if "user_scenario" in tree:
            return [tree], ()
        tasks = tree.get("tasks")
        return (tasks, ("tasks",)) if "simulations" in tree and tasks else ((), ())
    return tree if hasattr(tree, "__getitem__") and not isinstance(tree, str) else (), ()


def _criteria(task: Mapping[str, Any]) -> Mapping[str, Any]:
    return task.get("evaluation_criteria") or {}


def _actions(task: Mapping[str, Any]) -> list[contracts.Action]:
    return [
        contracts.Action(
            f"{contracts.USER if action.get('requestor') == 'user' else ''}{action['name']}",
            action["arguments"],
            action.get("compare_args"),
        )
        for action in _criteria(task).get("actions") or ()
    ]


def _add_case(
    suite: SuiteBuilder, task: Mapping[str, Any], path: Path, actions: Sequence[contracts.Action], tools: Sequence[str]
) -> None:
    at = (*path, "evaluation_criteria")
    criteria = _criteria(task)
    suite.refuse_unknown_keys(task, _TASK, path)
    suite.refuse_unknown_keys(criteria, _CRITERIA, at)
    basis = criteria.get("reward_basis") or _BASIS
    for index, kind in enumerate(basis):
        if kind not in _KINDS:
            message = f"unknown reward {quoted(str(kind))}. Known: {join_words(_KINDS, 'and')}."
            suite.problem((*at, "reward_basis", index), message, "unknown-value")
    # Without a list of actions tau2 compares no database; with an empty one, it must be as it was.
    judges_database = "DB" in basis and criteria.get("actions") is not None
    calls = contracts.expect_writes(actions, tools) if judges_database else []
    if "ACTION" in basis:  # what the database shows was done needs no second call
        calls += contracts.expect_actions([action for action in actions if "DB" not in basis or not action.writes])
    words = contracts.expect_words(criteria.get("communicate_info") or ()) if "COMMUNICATE" in basis else {}
    expectations: dict[str, Any] = {
        "tool_calls": calls,
        "in_any_turn": words,
        "unjudged": _unjudged_criteria(criteria, basis),
    }
    fields = {"outcome": "completed", "ended": True, **{key: value for key, value in expectations.items() if value}}
    places = {
        "tool_calls": (*at, "actions"),
        "in_any_turn": (*at, "communicate_info"),
        "unjudged": (*at, "nl_assertions" if "NL_ASSERTION" in basis else "env_assertions"),
    }
    ungated = {key: criteria[key] for key in _uncounted_criteria(basis) if criteria.get(key)}
    metadata: dict[str, object] = {"not rewarded": ungated} if ungated else {}
    skip = "" if criteria else "it has no evaluation_criteria"
    case = suite.case(str(task.get("id", "")), _script(task), path, metadata=metadata, skip=skip)
    case.expect(fields, path, places)
    if judges_database:
        contracts.forbid_other_writes(case, tools, (*at, "actions"))


def _unjudged_criteria(criteria: Mapping[str, Any], basis: Sequence[str]) -> Sequence[str]:
    """What the environment of tau2 or a model judges."""
    criteria_left = []
    if "ENV_ASSERTION" in basis:
        for assertion in criteria.get("env_assertions") or ():
            arguments = ", ".join(f"{name}={value!r}" for name, value in (assertion.get("arguments") or {}).items())
            value = "" if assertion.get("assert_value", True) else " is false"
            criteria_left.append(
                f"env_assertion: {assertion.get('env_type')}.{assertion.get('func_name')}({arguments}){value}"
            )
    if "NL_ASSERTION" in basis:
        criteria_left += [f"nl_assertion: {text}" for text in criteria.get("nl_assertions") or ()]
    return criteria_left


def _uncounted_criteria(basis: Sequence[str]) -> list[str]:
    """Criteria that the reward does not count."""
    gates = {"COMMUNICATE": "communicate_info", "NL_ASSERTION": "nl_assertions", "ENV_ASSERTION": "env_assertions"}
    return [key for kind, key in gates.items() if kind not in basis]


def _script(task: Mapping[str, Any]) -> str:
    """The instructions of the simulated user."""
    scenario = task.get("user_scenario")
    instructions = scenario.get("instructions") if isinstance(scenario, dict) else scenario
    if not isinstance(instructions, dict):
        return str(instructions or "")
    keys = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
    return "\n".join(str(instructions[key]).strip() for key in keys if instructions.get(key))
