"""Files of BFCL, tau-bench, tau2, DeepEval, pydantic-evals and agentevals: read, judged, converted, refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import structs

import carob
from carob.checks.catalog import CheckCatalog
from carob.features.importers import deepeval
from carob.model.suite import Case
from carob.model.verdict import OWN_RULE
from carob.plugins.project import Project
from carob.suites import loads
from carob.suites.formats.base import SuiteFile
from carob.suites.formats.catalog import detect_format
from carob.suites.reading import convert
from catalogs import CATALOG

Calls = Sequence[tuple[Any, ...]]

AREA = {
    "name": "area",
    "parameters": {"properties": {"base": {"type": "integer"}, "unit": {"type": "string"}}, "required": ["base"]},
}
SKILL = ("Skill", {"skill": "fix"})
TASK = {
    "task_id": "sync",
    "initial_prompt": "Sync it.",
    "success_criteria": [
        {"type": "skill_triggered", "skill_name": "fix", "expected_skill": "fix"},
        {"type": "command_executed", "tool_name": "Bash", "command_pattern": r"uip\s+sync", "min_count": 1},
        {"type": "command_not_executed", "command_pattern": r"uip\s+delete"},
        {"type": "llm_judge", "description": "it is well done", "prompt": "Score it."},
    ],
}
BFCL = {"id": "simple_0", "question": [[{"role": "user", "content": "How large?"}]], "function": [AREA]}
TRANSFER = {"name": "transfer_to_human_agents", "kwargs": {"summary": "x"}}
TAU = {
    "user_id": "u1",
    "instruction": "Cancel order 7.",
    "actions": [{"name": "get_order", "kwargs": {"id": 7}}, {"name": "cancel_order", "kwargs": {"id": 7}}, TRANSFER],
    "outputs": ["1200"],
}
TAU_PYTHON = """from tau_bench.types import Action, Task

TASKS = [
    Task(
        user_id="u1",
        instruction="Cancel order 7.",
        actions=[Action(name="cancel_order", kwargs={"id": 7})],
        outputs=["1200"],
    ),
]
"""
TAU2 = {
    "id": "t1",
    "user_scenario": {"instructions": "Cancel order 7."},
    "evaluation_criteria": {
        "actions": [
            {"action_id": "1", "name": "cancel_order", "arguments": {"id": 7}},
            {"action_id": "2", "name": "reboot", "arguments": {}, "requestor": "user"},
        ],
        "communicate_info": ["refund"],
        "env_assertions": [{"env_type": "user", "func_name": "is_on", "arguments": {"line": 1}}],
        "nl_assertions": ["is kind"],
        "reward_basis": ["DB", "COMMUNICATE", "ENV_ASSERTION", "NL_ASSERTION"],
    },
}
GOLDEN = {"name": "g1", "input": "Where?", "expectedTools": [{"name": "find", "inputParameters": {"city": "Rome"}}]}
DATASET = """
name: capitals
cases:
  - name: france
    inputs: {question: Capital of France?}
    expected_output: Paris
    evaluators:
      - EqualsExpected
      - Contains: {value: PAR, case_sensitive: false}
      - ToolCorrectness: [find]
      - LLMJudge: {rubric: is kind}
      - OwnCheck: {limit: 3}
evaluators:
  - MaxDuration: 2.0
"""
USER = {"role": "user", "content": "Weather?"}
ASKED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"function": {"name": "find", "arguments": '{"city": "Rome"}'}}],
}
TRAJECTORY = {
    "id": "a1",
    "reference_outputs": [USER, ASKED, {"role": "tool", "content": "sun"}, {"role": "assistant", "content": "Sun."}],
}


class Fixture(NamedTuple):
    """A file of another tool, and what its first case says of answers: calls, words, and the status."""

    name: str
    text: str
    answers: Sequence[tuple[Calls, str, str]]
    others: Mapping[str, str] = {}


def _trajectory(**how: Any) -> str:
    return json.dumps([{**TRAJECTORY, **how}])


ROME, MORE = ("find", {"city": "Rome"}), ("find", {"city": "Rome", "day": 1})
FIXTURES = {
    "bfcl": Fixture(
        "BFCL_v4_simple.json",
        json.dumps(BFCL),
        [
            ([("area", {"base": 10, "unit": "square-units"})], "", "PASS"),
            ([("area", {"base": 10})], "", "PASS"),
            ([("area", {"base": 10, "unit": "Square Units"})], "", "PASS"),
            ([("area", {"base": 11})], "", "FAIL"),
            ([("area", {"unit": "square units"})], "", "FAIL"),
            ([("area", {"base": 10, "height": 3})], "", "FAIL"),
            ([("area", {"base": 10}), ("area", {"base": 10})], "", "FAIL"),
            ([], "It is large.", "FAIL"),
        ],
        {
            "possible_answer/BFCL_v4_simple.json": json.dumps(
                {"id": "simple_0", "ground_truth": [{"area": {"base": [10], "unit": ["square units", ""]}}]}
            )
        },
    ),
    "bfcl irrelevance": Fixture(
        "BFCL_v4_irrelevance.json",
        json.dumps({**BFCL, "id": "irrelevance_0"}),
        [([], "I cannot.", "PASS"), ([("area", {"base": 1})], "", "FAIL")],
    ),
    "bfcl relevance": Fixture(
        "BFCL_v4_live_relevance.json",
        json.dumps({**BFCL, "id": "live_relevance_0"}),
        [([], "I cannot.", "FAIL"), ([("area", {"base": 1})], "", "PASS")],
    ),
    "bfcl words": Fixture(
        "BFCL_v4_web_search.json",
        json.dumps({"id": "web_search_0", "question": BFCL["question"], "ground_truth": ["New York", "NY"]}),
        [([], "It is New York.", "PASS"), ([], "In N.Y.", "PASS"), ([], "Any city.", "FAIL")],
    ),
    "bfcl calls by name": Fixture(
        "BFCL_v4_simple.json",
        json.dumps({**BFCL, "ground_truth": {"area": {"base": [10]}}}),
        [([("area", {"base": 10})], "", "PASS"), ([("area", {"base": 11})], "", "FAIL")],
    ),
    "bfcl java": Fixture(
        "BFCL_v4_simple_java.json",
        json.dumps({**BFCL, "id": "simple_java_0", "ground_truth": [{"area": {"base": [10]}}]}),
        [
            ([("area", {"base": "10"})], "", "PASS"),
            ([("area", {"base": 10})], "", "FAIL"),
            ([("area", {"base": "100"})], "", "FAIL"),
        ],
    ),
    "tau-bench": Fixture(
        "tasks.json",
        json.dumps([TAU]),
        [
            ([("cancel_order", {"id": 7})], "You get 1,200 back.", "PASS"),
            ([("get_order", {"id": 8}), ("cancel_order", {"id": 7})], "You get 1200 back.", "PASS"),
            ([("cancel_order", {"id": 7})], "You get 12000 back.", "FAIL"),
            ([("cancel_order", {"id": 7}), ("cancel_order", {"id": 8})], "You get 1200 back.", "FAIL"),
            ([("get_order", {"id": 7})], "You get 1200 back.", "FAIL"),
        ],
    ),
    "tau2 one": Fixture(
        "task.json",
        json.dumps(TAU2),
        [([("cancel_order", {"id": 7}), ("user.reboot", {})], "Done.", "FAIL")],
    ),
    "tau-bench python": Fixture(
        "tasks_test.py",
        TAU_PYTHON,
        [([("cancel_order", {"id": 7})], "1200", "PASS"), ([("cancel_order", {"id": 8})], "1200", "FAIL")],
    ),
    "tau2": Fixture(
        "tasks.json",
        json.dumps([TAU2]),
        [
            ([("cancel_order", {"id": 7}), ("user.reboot", {})], "The refund is coming.", "PARTIAL"),
            ([("cancel_order", {"id": 7})], "The refund is coming.", "FAIL"),
            ([("cancel_order", {"id": 7}), ("user.reboot", {})], "Done.", "FAIL"),
        ],
    ),
    "tau2 actions": Fixture(
        "tasks.json",
        json.dumps(
            [
                {
                    **TAU2,
                    "evaluation_criteria": {
                        "actions": [
                            {"action_id": "1", "name": "find", "arguments": {"a": 1, "b": 2}, "compare_args": ["a"]}
                        ],
                        "reward_basis": ["ACTION"],
                    },
                }
            ]
        ),
        [([("find", {"a": 1, "b": 3})], "", "PASS"), ([("find", {"a": 2, "b": 2})], "", "FAIL")],
    ),
    "deepeval": Fixture(
        "goldens.json",
        json.dumps([GOLDEN]),
        [([ROME, ("log", {})], "There.", "PASS"), ([("find", {})], "There.", "FAIL")],
    ),
    "deepeval csv": Fixture(
        "goldens.csv",
        'input,expected_output,expected_tools\n"Where,\nthen?",There,find;log\n',
        [([("log", {}), ("find", {})], "There.", "PARTIAL"), ([("log", {})], "There.", "FAIL")],
    ),
    "deepeval context": Fixture(
        "goldens.csv",
        "input,expected_tools,context\nWhere?,find,a|b\n",
        [([("find", {})], "There.", "PASS"), ([], "There.", "FAIL")],
    ),
    "deepeval conversation": Fixture(
        "goldens.json",
        json.dumps([{"scenario": "asks", "expected_outcome": "knows", "user_description": "curious"}]),
        [([], "There.", "PARTIAL")],
    ),
    "pydantic-evals": Fixture(
        "capitals.yaml",
        DATASET,
        [([("find", {})], "Paris", "PARTIAL"), ([("find", {})], "Paris!", "FAIL"), ([], "Paris", "FAIL")],
    ),
    "coder-eval": Fixture(
        "task.yaml",
        json.dumps(TASK),
        [
            ([SKILL, ("Bash", {"command": "uip sync"})], "Done.", "PARTIAL"),
            ([("Bash", {"command": "uip sync"})], "Done.", "FAIL"),
            ([SKILL], "Done.", "FAIL"),
            ([SKILL, ("Bash", {"command": "uip sync"}), ("Bash", {"command": "uip delete x"})], "Done.", "FAIL"),
        ],
    ),
    "skill-evals": Fixture(
        "evals.json",
        json.dumps({"skill_name": "fix", "evals": [{"id": 1, "prompt": "Fix it.", "expected_output": "It works."}]}),
        [([SKILL], "Done.", "PARTIAL"), ([], "Done.", "FAIL")],
    ),
    "agentevals strict": Fixture(
        "trajectories.json", _trajectory(), [([ROME], "Sun.", "PASS"), ([MORE], "", "FAIL"), ([ROME, ROME], "", "FAIL")]
    ),
    "agentevals superset": Fixture(
        "trajectories.json",
        _trajectory(trajectory_match_mode="superset"),
        [([("log", {}), ROME], "", "PASS"), ([MORE], "", "FAIL"), ([], "", "FAIL")],
    ),
    "agentevals subset": Fixture(
        "trajectories.json",
        _trajectory(trajectory_match_mode="subset"),
        [([], "", "PASS"), ([ROME], "", "PASS"), ([("log", {}), ROME], "", "FAIL")],
    ),
    "agentevals arguments": Fixture(
        "trajectories.json",
        _trajectory(tool_args_match_mode="exact", tool_args_match_overrides={"find": "superset"}),
        [([MORE], "", "PASS"), ([("find", {"city": "Oslo"})], "", "FAIL")],
    ),
    "agentevals any arguments": Fixture(
        "trajectories.json",
        _trajectory(tool_args_match_mode="ignore"),
        [([("find", {"x": 1})], "", "PASS"), ([("log", {})], "", "FAIL")],
    ),
    "agentevals fewer arguments": Fixture(
        "trajectories.json",
        _trajectory(tool_args_match_mode="subset"),
        [([ROME], "", "PASS"), ([("find", {})], "", "PASS"), ([MORE], "", "FAIL")],
    ),
    "agentevals keys": Fixture(
        "trajectories.jsonl",
        json.dumps({**TRAJECTORY, "tool_args_match_overrides": {"find": ["city", "day.hour"]}}),
        [
            ([("find", {"city": "Rome", "x": 1})], "", "PASS"),
            ([("find", {"city": "Rome", "day": 1})], "", "PASS"),
            ([("find", {"city": "Rome", "day": {"hour": 1}})], "", "FAIL"),
        ],
    ),
}


def _write(fixture: Fixture, folder: Path) -> Path:
    for name, text in {fixture.name: fixture.text, **fixture.others}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / fixture.name


def _read(path: Path, catalog: CheckCatalog = CATALOG) -> carob.Suite:
    return loads(path.read_bytes(), str(path), catalog)


def _without_places_of_rules(case: Case) -> Case:
    """A rule of a file of tasks is at its task, a rule of Carob 1 at the top."""
    checks = [structs.replace(spec, path="") if spec.name == OWN_RULE else spec for spec in case.checks]
    return structs.replace(case, checks=tuple(checks))


def _status(case: Case, calls: Calls, answer: str) -> str:
    made = tuple(carob.ToolCall(name, arguments, success=True, result="ok") for name, arguments in calls)
    return carob.judge(
        case, carob.Trace(case_id=case.id, final_message=answer, tool_calls=made, duration_ms=1000, ended_by="itself")
    ).status


@pytest.mark.parametrize(
    ("language", "declared", "right", "wrong"),
    [
        ("javascript", "dict", "{unit: 'cm', base: 10}", "{unit: 'm', base: 10}"),
        ("javascript", "dict", '{"unit": "cm", "base": 10}', '{"unit", "cm", "base", 10}'),
        ("java", "HashMap", 'map.put("unit", "cm"); map.put("base", 10)', 'map.put("unit", "m"); map.put("base", 10)'),
        ("java", "HashMap", 'map.put("unit", "cm"); map.put("base", 10)', 'map.put("unit": "cm"); map.put("base": 10)'),
    ],
)
def test_an_object_is_written_as_its_language_writes_it(
    language: str, declared: str, right: str, wrong: str, tmp_path: Path
) -> None:
    shape = {"name": "area", "parameters": {"properties": {"of": {"type": declared}}, "required": ["of"]}}
    truth = {"area": {"of": [{"unit": ["cm"], "base": [10]}]}}
    suite = {**BFCL, "id": f"simple_{language}_0", "function": [shape], "ground_truth": [truth]}
    path = tmp_path / f"BFCL_v4_simple_{language}.json"
    path.write_text(json.dumps(suite))
    (case,) = _read(path).cases
    assert [_status(case, [("area", {"of": text})], "") for text in (right, wrong)] == ["PASS", "FAIL"]


@pytest.mark.parametrize(
    ("language", "declared", "value", "right", "wrong"),
    [
        ("java", "HashMap", {}, "new HashMap<>()", "new HashMap<>(map)"),
        ("javascript", "dict", {}, "{ }", "{a: 1}"),
        ("java", "float", 10.0, "10.0f", "10.5f"),
        ("javascript", "float", 10.0, "10", "100"),
        ("javascript", "array", [1, "a"], "[1, 'a']", "[1]"),
        ("javascript", "array", [1, 2], "new Array(1, 2)", "1, 2"),
        ("java", "ArrayList", [1, 2], "new ArrayList<Integer>(Arrays.asList(1, 2))", "new int[] {1, 2}"),
        ("java", "Array", [1, 2], "new int[] {1, 2}", "new ArrayList<Integer>(Arrays.asList(1, 2))"),
    ],
)
def test_a_value_is_written_as_its_language_writes_it(
    language: str, declared: str, value: object, right: str, wrong: str, tmp_path: Path
) -> None:
    shape = {"name": "area", "parameters": {"properties": {"of": {"type": declared}}, "required": ["of"]}}
    row = {**BFCL, "id": f"simple_{language}_0", "function": [shape], "ground_truth": [{"area": {"of": [value]}}]}
    (case,) = _read(_write(Fixture(f"BFCL_v4_simple_{language}.json", json.dumps(row), ()), tmp_path)).cases
    assert [_status(case, [("area", {"of": text})], "") for text in (right, wrong)] == ["PASS", "FAIL"]


def test_a_list_of_objects_may_hold_texts(tmp_path: Path) -> None:
    of = {"type": "array", "items": {"type": "dict"}}
    shape = {"name": "area", "parameters": {"properties": {"of": of}, "required": ["of"]}}
    row = {**BFCL, "function": [shape], "ground_truth": [{"area": {"of": [[{"unit": ["cm"]}, "rest"]]}}]}
    (case,) = _read(_write(Fixture("BFCL_v4_simple.json", json.dumps(row), ()), tmp_path)).cases
    given = [[{"unit": "cm"}, "rest"], [{"unit": "cm"}, "more"]]
    assert [_status(case, [("area", {"of": value})], "") for value in given] == ["PASS", "FAIL"]


EVALUATORS = {
    "Contains: {value: 3, as_strings: true}": "answer_text",
    "Contains: {value: [3], as_strings: true}": "unjudged",
    "Contains: {value: {a: 3}}": "answer_at",
    "IsInstance: {type_name: str}": "outcome",
    "IsInstance: {type_name: int}": "answer_at",
    "IsInstance: {type_name: Order}": "unjudged",
    "ArgumentCorrectness: {tool_name: a, expected_arguments: {x: 1}, occurrence: last}": "unjudged",
    "ArgumentCorrectness: {tool_name: a, expected_arguments: {x: 1}}": "tool_calls",
}


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_an_evaluator_is_the_check_that_judges_as_it_does_or_none(evaluator: str, tmp_path: Path) -> None:
    text = f"cases:\n  - inputs: a\n    evaluators:\n      - {{{evaluator}}}\n"
    (case,) = _read(_write(Fixture("d.yaml", text, ()), tmp_path)).cases
    names = {spec.name for spec in case.checks}
    assert EVALUATORS[evaluator] in names
    assert ("unjudged" in names) == (EVALUATORS[evaluator] == "unjudged")


def test_the_prompt_is_what_the_user_says_in_inputs_where_the_reference_has_none(tmp_path: Path) -> None:
    reference = [message for message in TRAJECTORY["reference_outputs"] if message["role"] != "user"]
    row = {**TRAJECTORY, "inputs": [{"role": "system", "content": "Be brief."}, USER], "reference_outputs": reference}
    (case,) = _read(_write(Fixture("t.json", json.dumps([row]), ()), tmp_path)).cases
    assert case.prompt == USER["content"]


@pytest.mark.parametrize("name", FIXTURES)
def test_answers_are_judged_the_same_before_and_after_conversion(name: str, tmp_path: Path) -> None:
    fixture = FIXTURES[name]
    path = _write(fixture, tmp_path)
    suite = _read(path)
    assert suite.format == name.split()[0]
    converted = convert(path.read_bytes(), str(path), CATALOG)
    again = loads(converted.text.encode(), str(tmp_path / "converted.yaml"), CATALOG)
    assert converted.unequal == 0
    assert [*map(_without_places_of_rules, again.cases)] == [*map(_without_places_of_rules, suite.cases)]
    for calls, answer, status in fixture.answers:
        found = [_status(one.cases[0], calls, answer) for one in (suite, again)]
        assert found == [status, status], (calls, answer)


def test_a_question_and_an_answer_of_different_turns_are_refused(tmp_path: Path) -> None:
    said = [[{"role": "user", "content": "Move a.txt."}], [{"role": "user", "content": "Sort it."}]]
    row = {"id": "multi_turn_base_0", "question": said, "ground_truth": [["mv(a='a.txt')"]]}
    with pytest.raises(carob.SuiteError, match="has 1 turns, the question 2"):
        _read(_write(Fixture("BFCL_v4_multi_turn_base.json", json.dumps(row), ()), tmp_path))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ('{"id": "multi_turn_base_1", "ground_truth": [[]]}', "has no answer to 'multi_turn_base_0'"),
        ('{"id": "multi_turn_base_0", "ground_', "BFCL_v4_multi_turn_base.json:1"),
    ],
)
def test_answers_that_are_missing_or_torn_are_refused(answers: str, message: str, tmp_path: Path) -> None:
    row = {"id": "multi_turn_base_0", "question": [[{"role": "user", "content": "Move a.txt."}]]}
    others = {"possible_answer/BFCL_v4_multi_turn_base.json": answers}
    with pytest.raises(carob.SuiteError, match=message):
        _read(_write(Fixture("BFCL_v4_multi_turn_base.json", json.dumps(row), (), others), tmp_path))


def test_the_turns_of_a_conversation_are_those_of_the_question(tmp_path: Path) -> None:
    said = [[{"role": "user", "content": "Move a.txt."}], [], [{"role": "user", "content": "Sort it."}]]
    row = {
        "id": "multi_turn_base_0",
        "question": said,
        "ground_truth": [["mv(a='a.txt', b=['x', 1])"], [], ["sort('a.txt')"]],
    }
    tools = tmp_path / "multi_turn_func_doc" / "files.json"
    tools.parent.mkdir()
    tools.write_text(json.dumps({"name": "sort", "parameters": {"properties": {"file_name": {"type": "string"}}}}))
    (case,) = _read(_write(Fixture("BFCL_v4_multi_turn_base.json", json.dumps(row), ()), tmp_path)).cases
    assert [turn.prompt for turn in case.turns][::2] == ["Move a.txt.", "Sort it."]
    assert "more functions" in case.turns[1].prompt
    assert [[spec.name for spec in turn.checks] for turn in case.turns] == [
        ["outcome", "tool_calls"],
        [],
        ["outcome", "tool_calls"],
    ]
    assert b'"file_name":"a.txt"' in bytes(case.turns[2].checks[1].args)


def test_a_mapping_says_what_an_evaluator_that_is_code_asks_for(tmp_path: Path) -> None:
    asked: dict[str, dict[str, Any]] = {
        "OwnCheck": {"max_tool_calls": "{{limit}}"},
        "LLMJudge": {"must_say_any": ["{{rubric}} or {{expected_output}}"]},
    }
    path = _write(FIXTURES["pydantic-evals"], tmp_path)
    (case,) = _read(path, CheckCatalog(Project(evaluators=asked))).cases
    checks = {spec.name: bytes(spec.args) for spec in case.checks}
    assert checks["max_tool_calls"] == b'{"most":3}' or b"3" in checks["max_tool_calls"]
    assert b"is kind or Paris" in checks["must_say_any"]
    assert "unjudged" not in checks


def test_tasks_without_a_list_of_actions_ask_for_no_database(tmp_path: Path) -> None:
    none = {**TAU2, "id": "t2", "evaluation_criteria": {"communicate_info": ["refund"], "actions": None}}
    empty = {**TAU2, "id": "t3", "evaluation_criteria": {"actions": []}}
    nothing = {**TAU2, "id": "t4", "evaluation_criteria": None}
    suite = _read(_write(Fixture("tasks.json", json.dumps([TAU2, none, empty, nothing]), ()), tmp_path))
    statuses = [_status(case, [("cancel_order", {"id": 7})], "A refund.") for case in suite.cases[1:]]
    assert statuses == ["PASS", "FAIL", "SKIP"]


def test_a_task_that_changes_nothing_forbids_every_write_though_no_task_of_the_file_names_one(tmp_path: Path) -> None:
    tau2 = {**TAU2, "evaluation_criteria": {"actions": []}}
    tau = {"instruction": "Only look.", "actions": [{"name": "get_order", "kwargs": {"id": 7}}], "outputs": []}
    for rows in ([tau2], [tau]):
        (case,) = _read(_write(Fixture("tasks.json", json.dumps(rows), ()), tmp_path)).cases
        assert _status(case, [("drop_order", {"id": 7})], "Done.") == "FAIL"
        assert _status(case, [("get_order", {"id": 7})], "Done.") == "PASS"


REFUSED = {
    "answers without questions": ("BFCL_v4_simple.json", '{"id": "a", "ground_truth": []}', "1:1", "no-questions"),
    "no answers": ("BFCL_v4_simple.json", json.dumps(BFCL), "1:1", "missing-file"),
    "unknown function": (
        "BFCL_v4_simple.json",
        json.dumps({**BFCL, "ground_truth": [{"volume": {}}]}),
        "1:",
        "unknown-tool",
    ),
    "a torn line": ("BFCL_v4_simple.json", json.dumps(BFCL) + '\n{"id": "simple_1', "2:1", "syntax"),
    "an answer of two calls": (
        "BFCL_v4_simple.json",
        json.dumps({**BFCL, "ground_truth": [{"area": {"base": [10]}, "volume": {}}]}),
        "1:",
        "invalid-value",
    ),
    "a torn golden": ("g.jsonl", json.dumps(GOLDEN) + '\n{"input": ', "2:1", "not-json"),
    "a torn trajectory": ("t.jsonl", json.dumps(TRAJECTORY) + '\n{"inputs": ', "2:1", "syntax"),
    "a trajectory without a reference": ("t.json", json.dumps([TRAJECTORY, {"id": "x"}]), "1:", "wrong-type"),
    "arguments without names": (
        "BFCL_v4_multi_turn_base.json",
        json.dumps({**BFCL, "id": "multi_turn_base_0", "ground_truth": [["sort('a.txt')"]]}),
        "1:",
        "invalid-value",
    ),
    "code in tasks": (
        "tasks.py",
        'TASKS = [\n    Task(instruction="x", actions=[open("/etc/passwd").read()]),\n]\n',
        "1:1",
        "syntax",
    ),
    "a key of a task": ("tasks.json", json.dumps([{**TAU, "outputz": []}]), "1:", "unknown-field"),
    "a reward": (
        "tasks.json",
        json.dumps([{**TAU2, "evaluation_criteria": {"reward_basis": ["DBS"]}}]),
        "1:",
        "unknown-value",
    ),
    "an evaluator": (
        "d.yaml",
        "cases:\n  - inputs: a\n    evaluators:\n      - EqualExpected\n",
        "4:9",
        "unknown-evaluator",
    ),
    "an argument": (
        "d.yaml",
        "cases:\n  - inputs: a\n    evaluators:\n      - Contains: {value: a, case: true}\n",
        "4:",
        "unknown-field",
    ),
    "letters": (
        "d.yaml",
        "cases:\n  - inputs: a\n    evaluators:\n      - ToolCorrectness: {expected_tools: search}\n",
        "4:",
        "wrong-type",
    ),
    "letters in short": (
        "d.yaml",
        "cases:\n  - inputs: a\n    evaluators:\n      - TrajectoryMatch: search\n",
        "4:",
        "wrong-type",
    ),
    "letters of all cases": (
        "d.yaml",
        "cases:\n  - inputs: a\nevaluators:\n  - {name: ToolCorrectness, arguments: [search, true]}\n",
        "4:",
        "wrong-type",
    ),
    "a mode": ("t.json", _trajectory(trajectory_match_mode="strickt"), "1:", "unknown-value"),
    "a golden": ("g.json", json.dumps([GOLDEN, {"input": "x", "expected_outputs": "y"}]), "1:", "unknown-field"),
    "a row": ("g.csv", "input,expected_output\na,b\nc,d,e\n", "3:1", "syntax"),
    "an open quote": ("g.csv", 'input,expected_output\na,"b\n', "2:1", "syntax"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    file, text, place, slug = REFUSED[name]
    path = _write(Fixture(file, text, ()), tmp_path)
    with pytest.raises(carob.SuiteError) as caught:
        _read(path)
    found = [(f"{one.line}:{one.column}", one.slug) for one in caught.value.problems]
    assert any(at.startswith(place) and kind == slug for at, kind in found), found


@pytest.mark.parametrize(
    "evaluator",
    [
        "TrajectoryMatch: [a, b]",
        "TrajectoryMatch: {expected_trajectory: [a, b]}",
        "name: TrajectoryMatch, arguments: [[a, b]]",
    ],
)
def test_a_list_is_one_argument_of_an_evaluator_but_in_the_long_form(evaluator: str, tmp_path: Path) -> None:
    text = f"cases:\n  - inputs: a\n    evaluators:\n      - {{{evaluator}}}\n"
    (case,) = _read(_write(Fixture("d.yaml", text, ()), tmp_path)).cases
    assert _status(case, [("a", {}), ("b", {})], "") == "PASS"
    assert _status(case, [("a", {})], "") == "FAIL"


def test_goldens_are_recognised_by_every_mark_of_theirs() -> None:
    for mark in deepeval._MARKS:
        file = SuiteFile(json.dumps([{"input": "Hi", mark: "x"}]).encode(), "goldens.json")
        assert detect_format(file, CATALOG.formats).name == "deepeval", mark
