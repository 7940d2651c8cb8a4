"""Answers that models gave to BFCL, as its authors published them, judged by Carob, by BFCL today, and back then."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import carob
from carob.features.importers.bfcl.results import read_calls

CATEGORIES = {
    "simple": "simple_python",
    "multiple_function": "multiple",
    "parallel_function": "parallel",
    "parallel_multiple_function": "parallel_multiple",
    "java": "simple_java",
    "javascript": "simple_javascript",
    "relevance": "irrelevance",
}
"""What the published results call a category, and what its file of questions is called today."""
WHOLE_FLOAT = "a whole number in a list of floats: BFCL takes 1 for 1.0 alone, and not in a list"
SOURCE = "source text of JavaScript or Java: BFCL's patterns read no line breaks, or the first of two lists"
NOT_JSON = "a call whose arguments are not JSON: BFCL says that there is no call"
SINCE = "questions or answers were corrected since: BFCL's checker says today what Carob says"
UNEXPLAINED = "not explained"
CHECKER = Path(__file__).with_name("bfcl_checker.py")


class Judged(NamedTuple):
    """One answer: Carob's verdict, the checker's with its reason, and the published one."""

    model: str
    category: str
    id: str
    calls: Any
    status: str
    reason: str
    valid: bool
    error_type: str
    error: str
    published: bool

    @property
    def agrees(self) -> bool:
        return (self.status == "PASS") is self.valid and self.status in ("PASS", "FAIL")

    @property
    def kind(self) -> str:
        """Why the checker says another thing than Carob."""
        if self.category.startswith("simple_java"):
            return SOURCE
        return WHOLE_FLOAT if self.status == "PASS" and "inner type <class 'float'>" in self.error else UNEXPLAINED

    @property
    def published_kind(self) -> str:
        """Why the published verdict is another than Carob's."""
        if not self.agrees:
            return self.kind
        return NOT_JSON if self.category == "irrelevance" else SINCE


class Question(NamedTuple):
    """A question with its functions and the answers that are right."""

    functions: list[dict[str, Any]]
    gold: list[dict[str, Any]]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def questions(data: Path, category: str) -> dict[str, Question]:
    file = data / f"BFCL_v4_{category}.json"
    gold = data / "possible_answer" / file.name
    answers = {row["id"]: row["ground_truth"] for row in lines(gold)} if gold.is_file() else {}
    return {row["id"]: Question(row["function"], answers.get(row["id"], [])) for row in lines(file)}


def judge_model(data: Path, results: Path, model: str, python: str, folder: Path) -> Iterator[Judged]:
    """Every answer of a model, category by category."""
    for old, category in CATEGORIES.items():
        file = results / "result" / model / f"gorilla_openfunctions_v1_test_{old}_result.json"
        score = results / "score" / model / f"{old}_score.json"
        if file.is_file() and score.is_file():
            known = questions(data, category)
            rows = [{**row, "id": f"{category}_{row['id'].rpartition('_')[2]}"} for row in lines(file)]
            rows = [row for row in {row["id"]: row for row in rows}.values() if row["id"] in known]
            yield from _judge(data, rows, _published_failures(score), category, known, model, python, folder)


def _published_failures(score: Path) -> set[str]:
    """The numbers of the answers that were counted as wrong: all others were right."""
    return {str(int(row["id"]) - 1) for row in lines(score)[1:]}


def _judge(
    data: Path,
    rows: Sequence[Mapping[str, Any]],
    failures: set[str],
    category: str,
    known: Mapping[str, Question],
    model: str,
    python: str,
    folder: Path,
) -> Iterator[Judged]:
    recording = folder / "bfcl.jsonl"
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = carob.load_suite(data / f"BFCL_v4_{category}.json")
    cases = [row["id"] for row in rows]
    records = {one.case.id: one for one in carob.run(suite, f"replay:{recording}", cases=cases)}
    for row, (valid, kind, error) in zip(rows, _check(rows, category, known, python), strict=True):
        verdict = records[row["id"]].verdict
        number = row["id"].rpartition("_")[2]
        failed = [str(check) for check in verdict.checks if check.status is carob.Status.FAILED]
        reason = "; ".join(failed) or verdict.reason
        calls = read_calls(row["result"])
        yield Judged(
            model, category, row["id"], calls, verdict.status, reason, valid, kind, error, number not in failures
        )


def _check(
    rows: Sequence[Mapping[str, Any]], category: str, known: Mapping[str, Question], python: str
) -> list[tuple[bool, str, str]]:
    """What BFCL's own checker says of the calls; an answer without calls is what it takes for irrelevance alone."""
    calls = {row["id"]: read_calls(row["result"]) for row in rows}
    if category == "irrelevance":
        return [(not calls[row["id"]], "irrelevance", "") for row in rows]
    asked = [row["id"] for row in rows if calls[row["id"]]]
    text = "".join(
        json.dumps(
            {
                "category": category,
                "functions": known[name].functions,
                "gold": known[name].gold,
                "calls": [{call["name"]: call["arguments"]} for call in calls[name] or ()],
                "dotless": not any("." in call["name"] for call in calls[name] or ()),
            }
        )
        + "\n"
        for name in asked
    )
    found = dict(zip(asked, run_checker(python, text), strict=True))
    return [tuple(found.get(row["id"], (False, "no calls", ""))) for row in rows]


def run_checker(python: str, text: str, *how: str) -> list[Any]:
    """A verdict of BFCL's own checker for each line."""
    command = [python, str(CHECKER), *how]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line[8:]) for line in done.stdout.splitlines() if line.startswith("VERDICT ")]
