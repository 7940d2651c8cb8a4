"""A file of each suite format, and of each tool's results, for the laws about files."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from features.importers import test_recordings_of_suites as recorded
from features.importers import test_result_files as results
from suites.test_other_tools import FIXTURES

Place = tuple[str | int, ...]


class SuiteText(NamedTuple):
    """A suite file: its format, its name and its values, with the files beside it."""

    format: str
    name: str
    tree: Any
    others: Mapping[str, str] = {}

    @property
    def is_lines(self) -> bool:
        return self.name.endswith(".jsonl") or self.name.startswith("BFCL")

    def write(self, folder: Path, tree: Any) -> Path:
        """Write the file with other values in it."""
        for name, text in self.others.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        text = "\n".join(map(json.dumps, tree)) if self.is_lines and isinstance(tree, list) else json.dumps(tree)
        (folder / self.name).write_text(text, encoding="utf-8")
        return folder / self.name


CAROB_1 = {
    "carob": 1,
    "name": "Desk",
    "effects": {"refund": ["refunded"]},
    "words": {"refusal": {"add": ["no way"]}},
    "vars": {"shop": "Ada"},
    "defaults": {"expected": {"max_tool_calls": 6}, "tags": ["all"]},
    "cases": [
        {
            "id": "a",
            "tags": ["money"],
            "each": [{"order": "A-17", "limit": 50}],
            "turns": [
                {"prompt": "I want my money, {shop}.", "expected": {"outcome": "needs_input", "asks_for": ["order"]}},
                {
                    "prompt": "It is {order}.",
                    "expected": {
                        "tool_calls": [
                            {"tool": "refund", "arguments": {"n": {"$lte": "{limit}"}}, "times": {"max": 1}}
                        ],
                        "tool_requires": {"refund": ["find"]},
                    },
                },
            ],
            "scoring": {"hard_fail": ["tool_hygiene"], "soft_score": {"threshold": 0.5, "weights": {"budget": 1}}},
        },
        {
            "id": "b",
            "prompt": "Hello",
            "replies": [{"asks_for": ["reason"], "say": "It broke."}],
            "max_turns": 3,
            "stubs": {"find": {"result": {"n": 1}}},
            "expected": {"must_say_any": ["hi"], "answer_json": {"type": "object"}, "no_false_success": True},
        },
    ],
}
EVAL_SET = {
    "version": "0.3",
    "name": "set",
    "cases": [
        {
            "id": "a",
            "category": "x",
            "setup_prompts": ["Hi"],
            "preconditions": ["a canvas"],
            "prompt": "p",
            "expected": {
                "outcome": "tool_success",
                "tool_calls_any": ["f"],
                "must_ground_numbers": [{"value": 12, "context_any": ["GitHub"]}],
                "required_sources": ["github"],
                "source_patterns": {"github": ["PR"]},
                "ui": [{"role": "heading", "name": "x"}],
            },
            "scoring": {"hard_fail": ["tool_hygiene"], "soft_score": {"threshold": 0.5}},
        }
    ],
}
GOLDEN = [
    {
        "id": "a",
        "input": "p",
        "expected": {"tools_used": ["f"], "allocation_valid": True, "reason_contains": ["x"]},
        "metadata": {"n": 1},
    }
]
GOLDEN_QA = [{"id": "a", "input": "p", "expected_contains": ["x"], "must_not_contain": ["y"]}]
PROMPTFOO = {
    "description": "d",
    "prompts": ["Say {{x}}", {"raw": "Tell {{x}}", "label": "l"}],
    "providers": ["openai:gpt-4o"],
    "defaultTest": {"assert": [{"type": "not-contains", "value": "sorry"}], "options": {"transform": "output.a"}},
    "tests": [
        {
            "description": "t",
            "vars": {"x": ["a", "b"]},
            "threshold": 0.5,
            "assert": [
                {"type": "icontains", "value": "{{x}}", "weight": 2},
                {"type": "llm-rubric", "value": "is kind"},
                {"type": "is-json", "value": {"type": "object"}},
                {"type": "contains-any", "value": ["a", "b"]},
                {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "equals", "value": "a"}]},
            ],
        }
    ],
}
ADK = {
    "eval_set_id": "s",
    "eval_cases": [
        {
            "eval_id": "c",
            "conversation": [
                {
                    "invocation_id": "i",
                    "user_content": {"role": "user", "parts": [{"text": "Find"}]},
                    "final_response": {"role": "model", "parts": [{"text": "Found."}]},
                    "intermediate_data": {"tool_uses": [{"name": "find", "args": {"day": "Mon"}}]},
                }
            ],
            "session_input": {"app_name": "a", "user_id": "u", "state": {}},
        }
    ],
}


def _tree_of(name: str, text: str) -> Any:
    if name.endswith(".yaml"):
        return yaml.safe_load(text.replace("?}", "}"))  # PyYAML takes the mark for a key
    if name.startswith("BFCL") or name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def _suites() -> Iterator[SuiteText]:
    yield SuiteText("carob-1", "s.json", CAROB_1)
    yield SuiteText("eval-set", "s.json", EVAL_SET)
    yield SuiteText("golden", "s.json", GOLDEN)
    yield SuiteText("golden", "qa.json", GOLDEN_QA)
    yield SuiteText("promptfoo", "promptfooconfig.json", PROMPTFOO)
    yield SuiteText("adk", "x.evalset.json", ADK)
    for name, fixture in FIXTURES.items():
        if not fixture.name.endswith((".py", ".csv")):
            yield SuiteText(name.split()[0], fixture.name, _tree_of(fixture.name, fixture.text), fixture.others)


SUITES = tuple(_suites())
AS_TEXT = {
    "*.py, *.csv": "tau-bench's Python and DeepEval's CSV hold no JSON values; their own tests are in tests/suites",
}


def _results() -> Iterator[tuple[str, Any]]:
    task = results.TASK
    trial = results.TRIALS["right"][0]
    yield "tau-bench", [{"task_id": 3, "trial": 0, "reward": 0.0, "info": {"task": task}, "traj": trial}]
    yield (
        "tau2",
        {
            "tasks": [
                {"id": "t1", "user_scenario": {"instructions": "Cancel 7."}, "evaluation_criteria": {"actions": []}}
            ],
            "simulations": [{"task_id": "t1", "messages": trial[:3], "termination_reason": "user_stop"}],
        },
    )
    yield "promptfoo", {"evalId": "e", "results": {"version": 3, "results": [recorded.row("Say a", "b")]}}
    invocation = ADK["eval_cases"][0]["conversation"][0]  # type: ignore[index]
    done = [{"eval_id": "c", "eval_metric_result_per_invocation": [{"actual_invocation": invocation}]}]
    yield "adk", {"eval_set_result_id": "r", "eval_case_results": done}
    yield "bfcl", {"id": "simple_0", "result": [{"area": {"base": 10}}]}
    call = {"name": "f", "arguments": {"a": 1}, "result": {"n": 1}, "success": True}
    short = {"case_id": "A", "repeat": 0, "input": "p", "final_message": "x", "tool_calls": [call]}
    yield "the short form", {**short, "telemetry": ["l"], "page": "- main", "tokens": {"input": 1, "output": 2}}
    yield "a whole trace", {"case_id": "A", "final_message": "x", "unobserved": {"page": "none"}, "tool_calls": [call]}


RESULTS = dict(_results())
"""Recordings: results of other tools, and ours."""

VALUES: tuple[Any, ...] = (None, True, 7, -1.5, "text", "", [], {}, [[]], [None], {"a": {}}, [{"a": 1}], "\ud7ff")
"""A value of every JSON type."""


def places(tree: Any, at: Place = ()) -> Iterator[Place]:
    """Every place of a value, down to the leaves."""
    yield at
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from places(value, (*at, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from places(value, (*at, index))


def replace(tree: Any, place: Place, value: Any) -> Any:
    """The same values with another one at a place."""
    if not place:
        return copy.deepcopy(value)
    changed = copy.deepcopy(tree)
    inner = changed
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = copy.deepcopy(value)
    return changed


def remove(tree: Any, place: Place) -> Any:
    """The same values without the one at a place."""
    changed = copy.deepcopy(tree)
    inner = changed
    for step in place[:-1]:
        inner = inner[step]
    del inner[place[-1]]
    return changed
