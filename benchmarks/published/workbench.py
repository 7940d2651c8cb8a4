"""Published answers of five models to WorkBench, judged by Carob by the gold calls, next to its own checker.

WorkBench compares the tables of its sandbox after the calls with those after gold. The contract here holds no table:
the calls that succeeded and change something are those of gold, each as often, with the same arguments but for case.
"""

from __future__ import annotations

import ast
import csv
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import carob
from benchmarks.tables import table

EFFECTS = (
    "calendar.create_event", "calendar.delete_event", "calendar.update_event", "email.send_email",
    "email.delete_email", "email.forward_email", "email.reply_email", "analytics.create_plot",
    "project_management.create_task", "project_management.delete_task", "project_management.update_task",
    "customer_relationship_manager.update_customer", "customer_relationship_manager.add_customer",
    "customer_relationship_manager.delete_customer",
)  # fmt: skip
"""`tools_with_side_effects` of WorkBench."""
CASE_MATTERS = ("status", "list_name", "board")
DONE = re.compile(r"'(?:[\w ]+ successfully\.|\d{8}|plots/.*)'", re.DOTALL)
"""What these tools return where they did what they were asked: a sentence, the id of what is new, or a file."""
CHECKER = Path(__file__).with_name("workbench_checker.py")
Call = tuple[str, dict[str, str]]


class Answer(NamedTuple):
    """One published answer: the question, what was called with which result, and why it broke off."""

    domain: str
    file: str
    question: str
    calls: Sequence[Call]
    results: Sequence[str | None]
    said: str
    error: str


class Judged(NamedTuple):
    """An answer with Carob's verdict and that of WorkBench."""

    answer: Answer
    status: str
    reason: str
    correct: bool

    @property
    def agrees(self) -> bool:
        return self.status == ("PASS" if self.correct else "FAIL")


def judge_clone(clone: Path, python: str) -> Iterator[Judged]:
    """Every published answer, domain by domain."""
    for questions in sorted((clone / "data/processed/queries_and_answers").glob("*.csv")):
        gold = {
            row["query"]: [call for line in ast.literal_eval(row["answer"]) if (call := _read_call(line))]
            for row in _rows(questions)
        }
        domain = questions.stem.removesuffix("_queries_and_answers")
        cases = {question: build_case(question, calls) for question, calls in gold.items()}
        answers = [answer for file in sorted((clone / "data/results" / domain).glob("*.csv")) for answer in _read(file)]
        correct = _ask_checker(clone, python, answers, gold)
        for answer, is_correct in zip(answers, correct, strict=True):
            verdict = carob.judge(cases[answer.question], _trace(answer))
            bad = [check for check in verdict.checks if check.status is not carob.Status.PASSED]
            yield Judged(answer, str(verdict.status), "; ".join(map(str, bad)), is_correct)


def agreement_text(judged: Sequence[Judged]) -> str:
    """The verdicts next to each other, domain by domain, and every difference."""
    head = ("domain", "answers", "PASS, correct", "FAIL, wrong", "agree", "PASS, wrong", "FAIL, correct", "PARTIAL")
    domains = [*dict.fromkeys(one.answer.domain for one in judged)]
    rows = [_row(name, [one for one in judged if one.answer.domain == name]) for name in domains]
    lines = [table("WorkBench: Carob and its own checker", head, [*rows, _row("all", judged)])]
    for one in judged:
        if not one.agrees:
            which = "correct" if one.correct else "wrong"
            lines.append(f"{one.answer.file}: {one.answer.question}: {one.status}, {which}: {one.reason[:200]}")
    return "\n".join(lines)


def _row(name: str, judged: Sequence[Judged]) -> tuple[str, ...]:
    count = Counter((one.status, one.correct) for one in judged)
    agree = sum(one.agrees for one in judged)
    cells = (
        len(judged),
        count["PASS", True],
        count["FAIL", False],
        f"{agree} ({100 * agree / len(judged):.2f} %)",
        count["PASS", False],
        count["FAIL", True],
        count["PARTIAL", True] + count["PARTIAL", False],
    )
    return (name, *map(str, cells))


def build_case(question: str, gold: Sequence[Call]) -> Any:
    """The contract of a question. Gold calls that differ in case alone are one, made as often."""
    expected: dict[str, Any] = {"outcome": "completed", "ended": True, "only_effects": "exactly" if gold else []}
    calls = Counter(json.dumps([tool, _same(arguments)]) for tool, arguments in gold)
    if calls:
        expected["tool_calls"] = [_expect(*json.loads(call), times) for call, times in calls.items()]
    suite = {
        "carob": 1,
        "effects": {tool: [] for tool in EFFECTS},
        "cases": [{"id": "question", "prompt": question, "expected": expected}],
    }
    return carob.load_suite(suite).cases[0]


def _expect(tool: str, arguments: dict[str, Any], times: int) -> dict[str, Any]:
    return {"tool": tool, "arguments": {"$only": arguments}, "success": True, "times": times}


def _same(arguments: dict[str, str]) -> dict[str, Any]:
    """These arguments; of most, the case does not count."""
    exact = {*CASE_MATTERS, *(["new_value"] if arguments.get("field") in CASE_MATTERS else [])}
    return {
        name: {"$eq": value} if name in exact else {"$regex": rf"(?is)\A{re.escape(value.lower())}\Z"}
        for name, value in arguments.items()
    }


def _trace(answer: Answer) -> dict[str, Any]:
    calls = [
        {"name": tool, "arguments": arguments, **_success(tool, result)}
        for (tool, arguments), result in zip(answer.calls, answer.results, strict=True)
    ]
    return {
        "input": answer.question,
        "final_message": answer.said,
        "tool_calls": calls,
        "ended_by": answer.error or "itself",
    }


def _success(tool: str, result: str | None) -> dict[str, Any]:
    """What is known of how a call came out. A result is kept as Python writes it, so that a text is in quotes."""
    if result is None:
        return {}
    return {"result": result, "success": tool not in EFFECTS or DONE.fullmatch(result) is not None}


def _rows(file: Path) -> Iterator[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    with file.open(newline="", encoding="utf-8") as lines:
        yield from csv.DictReader(lines)


def _read(file: Path) -> Iterator[Answer]:
    for row in _rows(file):
        lines = ast.literal_eval(row["function_calls"])
        said, results = _read_response(row["full_response"])
        results = results if len(results) == len(lines) else [None] * len(lines)
        steps = [(call, result) for line, result in zip(lines, results, strict=True) if (call := _read_call(line))]
        calls, own_results = [call for call, _ in steps], [result for _, result in steps]
        yield Answer(file.parent.name, file.name, row["query"], calls, own_results, said, row["error"])


def _read_call(line: str) -> Call | None:
    """A call as WorkBench writes it, `calendar.delete_event.func(event_id="1")`; none where Python cannot read it."""
    try:
        call = ast.parse(line.replace("\n", "\\n"), mode="eval").body
    except SyntaxError:
        return None
    words = call.keywords if isinstance(call, ast.Call) else []
    return line.partition(".func(")[0], {str(word.arg): ast.literal_eval(word.value) for word in words}


def _read_response(text: str) -> tuple[str, list[str]]:
    """What the agent said, and the results of its steps, from the text of its response."""
    tree = ast.parse(text, mode="eval").body if text else None
    if not isinstance(tree, ast.Dict):
        return "", []
    parts = {ast.literal_eval(key): value for key, value in zip(tree.keys, tree.values, strict=True) if key}
    steps = parts["intermediate_steps"]
    results = (
        [step.elts[1] for step in steps.elts if isinstance(step, ast.Tuple)] if isinstance(steps, ast.List) else []
    )
    return str(ast.literal_eval(parts["output"])), [ast.unparse(result) for result in results]


def _ask_checker(clone: Path, python: str, answers: Sequence[Answer], gold: dict[str, list[Call]]) -> list[bool]:
    asked = [{"calls": answer.calls, "gold": gold[answer.question]} for answer in answers]
    lines = "".join(f"{json.dumps(one)}\n" for one in asked)
    ran = subprocess.run([python, str(CHECKER)], cwd=clone, input=lines, capture_output=True, text=True, check=True)
    same = [json.loads(line) for line in ran.stdout.splitlines()]
    return [is_same and not answer.error for answer, is_same in zip(answers, same, strict=True)]
