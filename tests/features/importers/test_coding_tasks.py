"""Tasks for coding agents: each criterion as what Carob expects, or said to be unjudged, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import SuiteError

Json = dict[str, Any]


def read(folder: Path, tree: object, name: str = "task.json") -> carob.Suite:
    path = folder / name
    path.write_text(json.dumps(tree))
    return carob.load_suite(path)


def task(*criteria: Json, **more: Any) -> Json:
    return {"task_id": "t", "initial_prompt": "Do it.", "success_criteria": [*criteria], **more}


def asked(suite: carob.Suite, number: int = 0) -> list[Json]:
    """The checks of a case with their arguments, without the one that it came to an end."""
    return [{spec.name: spec.args} for _, spec in suite.cases[number].all_checks if spec.name != "outcome"]


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        (
            {
                "type": "command_executed",
                "command_pattern": "uip",
                "min_count": 2,
                "max_count": 3,
                "require_success": True,
            },
            {"commands": {"run": "uip", "times": {"min": 2, "max": 3}, "exit": 0}},
        ),
        ({"type": "command_not_executed", "command_pattern": "rm"}, {"commands": {"run": "rm", "never": True}}),
        (
            {"type": "command_not_executed", "command_pattern": "rm", "exclude_pattern": "-i"},
            {"commands": {"run": "(?s)^(?!.*(?:-i)).*?(?:rm)", "never": True}},
        ),
        (
            {"type": "run_command", "command": "make\n", "expected_exit_code": 2, "timeout": 9},
            {"after": {"run": "make", "exit": 2, "seconds": 9}},
        ),
        (
            {"type": "cli_called", "tool": "uip", "verb": "or list", "max_count": 0},
            {"commands": {"run": r"(?s)\buip\s+(?:or\s+list)\b", "never": True}},
        ),
        ({"type": "skill_triggered", "skill_name": "a", "expected_skill": "b"}, {"skills": {"not_used": ["a"]}}),
        ({"type": "file_exists", "path": "a.md"}, {"files": {"exist": ["a.md"]}}),
        (
            {"type": "file_contains", "path": "a.md", "includes": ["x"], "excludes": ["y"]},
            {"files": {"contents": {"a.md": {"$all": [{"$contains": "x"}, {"$not": {"$contains": "y"}}]}}}},
        ),
        (
            {"type": "file_matches_regex", "path": "a.md", "pattern": "z", "must_match": False},
            {"files": {"contents": {"a.md": {"$not": {"$regex": "z"}}}}},
        ),
    ],
)
def test_a_criterion_is_what_carob_expects(criterion: Json, expected: Json, tmp_path: Path) -> None:
    ((field, value),) = expected.items()
    wanted = value if field == "files" or field == "skills" else [value]
    suite = read(
        tmp_path, {"carob": 1, "cases": [{"id": "t", "prompt": "Do it.", "expected": {field: wanted}}]}, "k.json"
    )
    assert asked(read(tmp_path, task(criterion))) == asked(suite)


@pytest.mark.parametrize(
    "criterion",
    [
        {"type": "llm_judge", "prompt": "Is it good?"},
        {"type": "json_check", "path": "a.json", "assertions": []},
        {"type": "command_executed", "command_pattern": "x", "min_count": 0},
        {"type": "file_exists", "path": "a", "pass_threshold": 0},
        {"type": "command_executed", "command_pattern": "x", "tool_name": "Write"},
    ],
)
def test_what_cannot_be_judged_is_said_to_be_unjudged(criterion: Json, tmp_path: Path) -> None:
    assert [[*spec] for spec in asked(read(tmp_path, task(criterion)))] == [["unjudged"]]


def test_an_unknown_criterion_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="unknown criterion 'mood'"):
        read(tmp_path, task({"type": "mood"}))


def test_a_row_of_a_dataset_is_a_case(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "b", "what": "B", "skill": "other"}\n')
    dataset = {"rows": [{"id": "a", "what": "A", "skill": "fix"}], "paths": ["rows.jsonl"]}
    criterion = {"type": "skill_triggered", "skill_name": "fix", "expected_skill": "${row.skill}"}
    suite = read(tmp_path, task(criterion, dataset=dataset) | {"initial_prompt": "Do ${row.what}."})
    assert [(case.id, case.prompt) for case in suite.cases] == [("t-a", "Do A."), ("t-b", "Do B.")]
    skills = [asked(suite, number)[0]["skills"] for number in range(2)]
    assert skills[0] != skills[1]


def test_a_task_without_a_prompt_is_skipped_and_what_it_needs_is_said(tmp_path: Path) -> None:
    about = task(
        {"type": "file_exists", "path": "a"}, simulation={"goal": "x"}, pre_run=[{"command": "python seed.py"}]
    )
    del about["initial_prompt"]
    (case,) = read(tmp_path, about).cases
    assert "no prompt" in case.skip
    assert case.preconditions == ("run before: python seed.py",)


@pytest.mark.parametrize(
    "row",
    [
        {"expectations": ["It works.", {"text": "It is fast."}]},
        {"assertions": [{"name": "n", "description": "It works."}, "It is fast."]},
    ],
)
def test_sentences_of_a_skill_are_criteria_and_its_use_is_judged(row: Json, tmp_path: Path) -> None:
    suite = read(tmp_path, {"skill_name": "fix", "evals": [{"id": 1, "prompt": "Fix it.", **row}]}, "evals.json")
    assert [next(iter(spec)) for spec in asked(suite)] == ["meets", "meets", "skills"]


def test_a_prompt_that_must_not_trigger_a_skill(tmp_path: Path) -> None:
    rows = [{"id": "x", "prompt": "Bake a cake.", "should_trigger": False}]
    suite = read(tmp_path, {"skill_name": "fix", "evals": rows}, "evals.json")
    expected = {"skills": {"not_used": ["fix"]}}
    same = read(tmp_path, {"carob": 1, "cases": [{"id": "x", "prompt": "P", "expected": expected}]}, "k.json")
    assert asked(suite) == asked(same)


def test_a_list_of_evals_is_of_the_skill_in_whose_folder_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "fix" / "evals"
    folder.mkdir(parents=True)
    (tmp_path / "fix" / "SKILL.md").write_text("---\nname: fix\n---\n")
    rows = [{"id": 0, "prompt": "Fix it.", "assertions": ["It works."]}, {"id": 1, "task": "Bake a cake."}]
    suite = read(folder, rows, "evals.json")
    assert [case.id for case in suite.cases] == ["0", "1"]
    assert [next(iter(spec)) for spec in asked(suite)] == ["meets", "skills"]
    assert suite.cases[1].prompt == "Bake a cake."
    triggers = read(folder, [{"query": "Fix it.", "should_trigger": True}], "triggers.json")
    assert asked(triggers) == asked(suite)[1:]
    alone = read(tmp_path, [{"prompt": "Fix it.", "assertions": ["It works."]}], "evals.json")
    assert [next(iter(spec)) for spec in asked(alone)] == ["meets"]


def test_evals_with_the_same_name_are_told_apart(tmp_path: Path) -> None:
    rows = [{"id": number, "name": "same", "prompt": "Fix it."} for number in (0, 1)]
    suite = read(tmp_path, {"skill_name": "fix", "evals": rows}, "evals.json")
    assert [case.id for case in suite.cases] == ["0", "1"]


USED, NOT_USED = {"skill": "fix"}, {"skill": "fix", "never": True}
SHAPES: dict[str, tuple[Json, list[Json]]] = {
    "skill and cases": ({"skill": "fix", "cases": [{"id": "a", "input": "Fix.", "rubric": ["Well?"]}]}, [USED]),
    "evaluations": ({"skill_name": "fix", "evaluations": [{"prompt": "Bake.", "should_trigger": False}]}, [NOT_USED]),
    "positive and negative": (
        {"skill": "fix", "positive": [{"id": "p", "prompt": "Fix."}], "negative": ["Bake."]},
        [USED, NOT_USED],
    ),
    "queries that are routed": (
        {"target": "fix", "queries": [{"query": "Bake.", "should_fire": False, "route_to": "bake"}]},
        [NOT_USED, {"skill": "bake"}],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_evals_in_other_shapes(shape: str, tmp_path: Path) -> None:
    tree, used = SHAPES[shape]
    suite = read(tmp_path, tree, "evals.json")
    specs = [spec for number in range(len(suite.cases)) for spec in asked(suite, number)]
    assert [json.loads(bytes(spec["skills"])) for spec in specs if "skills" in spec] == used


def test_evals_of_a_skill_that_is_not_named_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(carob.SuiteError, match=r"do not name their skill\. Write 'skill_name'") as raised:
        read(tmp_path, [{"query": "Fix it.", "should_trigger": True}] * 3, "triggers.json")
    assert len(raised.value.problems) == 1


def test_no_expectation_of_an_eval_is_dropped(tmp_path: Path) -> None:
    row = {
        "prompt": "Fix.",
        "script_checks": [{"description": "It builds.", "cmd": ["make"]}],
        "expected_files": ["a.txt"],
        "must_not_edit": True,
        "notes": "Old.",
    }
    suite = read(tmp_path, {"skill_name": "fix", "evals": [row]}, "evals.json")
    unjudged = [json.loads(bytes(spec["unjudged"]))["what"] for spec in asked(suite) if "unjudged" in spec]
    assert unjudged == ["script_checks: It builds.", "expected_files: a.txt", "must_not_edit: True"]
