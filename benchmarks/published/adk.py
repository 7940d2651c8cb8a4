"""`python -m benchmarks.published.adk --python PYTHON [--from FOLDER]`: eval sets of ADK judged by ADK and by Carob.

PYTHON is the interpreter of an environment with google-adk[eval]. Expectations are those of a table here and, with
`--from`, those of real sets; the calls and answers are made from them: the same, in another order, with one more, one
less, another argument, other words. Every difference has a class, or the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from carob.checks.catalog import catalog_for
from carob.errors import SuiteError
from carob.features.importers.adk import CONFIG, RESPONSE, TRAJECTORY, AdkEvalSet, EvalSetReader, ExpectedTurn
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status
from carob.plugins.project import Project
from carob.scoring.verdicts import case_results
from carob.suites.diagnostics import RefusedError
from carob.suites.formats.base import SuiteFile
from carob.suites.reading import convert, read_suite

SEED = 11
CRITERIA: tuple[tuple[str, Any], ...] = (
    *((TRAJECTORY, {"threshold": t, "match_type": m}) for t in (1.0, 0.5) for m in ("EXACT", "IN_ORDER", "ANY_ORDER")),
    (TRAJECTORY, {"threshold": 1.0, "match_type": "IN_ORDER", "ignore_args": True}),
    *((RESPONSE, threshold) for threshold in (0.8, 0.5)),
)
Calls = list[tuple[str, dict[str, Any]]]
TABLE: tuple[list[tuple[str, Calls, str]], ...] = (
    [("Roll a die", [("roll", {"sides": 6})], "You rolled a 4.")],
    [
        (
            "Find and book",
            [("find", {"day": "Mon"}), ("book", {"day": "Mon", "seats": 2})],
            "Two seats are booked for Monday.",
        )
    ],
    [("Pay twice", [("pay", {"amount": 40}), ("pay", {"amount": 40})], "Paid 40 EUR, twice.")],
    [("Hello", [], "Hi! How can I help you today?")],
    [
        ("Roll", [("roll", {})], "It is a 3."),
        ("Again", [("roll", {}), ("check", {"nums": [3]})], "3 is a prime number."),
    ],
    [("Wie teuer?", [("price", {"id": 7})], "Das kostet fünf Euro."), ("料金は？", [], "料金は五百円です。")],
)


class Job(NamedTuple):
    """One case by one criterion, and what an agent did."""

    expected: list[ExpectedTurn]
    actual: list[tuple[Calls, str]]
    metric: str
    criterion: Any

    @property
    def line(self) -> str:
        expected = [_invocation(turn.prompt, _pairs(turn), turn.answer or "") for turn in self.expected]
        actual = [_invocation(t.prompt, *made) for t, made in zip(self.expected, self.actual, strict=True)]
        job = {"metric": self.metric, "criterion": self.criterion, "expected": expected, "actual": actual}
        return json.dumps(job, ensure_ascii=False)


def _pairs(turn: ExpectedTurn) -> Calls:
    return [(call.name, call.args) for call in turn.calls or ()]


def _invocation(prompt: str, calls: Calls, answer: str) -> dict[str, Any]:
    uses = [{"name": name, "args": args} for name, args in calls]
    user = {"role": "user", "parts": [{"text": prompt}]}
    return {
        "user_content": user,
        "final_response": {"role": "model", "parts": [{"text": answer}]},
        "intermediate_data": {"tool_uses": uses},
    }


def real_turns(folder: Path) -> Iterator[list[ExpectedTurn]]:
    """The turns of the cases of real sets."""
    found: list[list[ExpectedTurn]] = []

    class Collector(EvalSetReader):
        def _case(self, name: str, turns: Sequence[ExpectedTurn], *more: Any) -> None:
            found.append(list(turns))

    for path in sorted(folder.rglob("*.json")):
        file = SuiteFile(path.read_bytes(), str(path))
        try:
            if AdkEvalSet().recognizes(file):
                Collector(file, catalog_for(Project())).read()
        except RefusedError:
            continue
    yield from (turns for turns in found if turns and all(turn.prompt.strip() and turn.answer for turn in turns))


def deeds(turns: Sequence[ExpectedTurn], draw: random.Random) -> Iterator[list[tuple[Calls, str]]]:
    """What an agent did: as expected, and in ways that are nearly so."""
    right = [(_pairs(turn), turn.answer or "") for turn in turns]
    yield right
    changes = (
        lambda calls, text: (calls[::-1], text),
        lambda calls, text: ([*calls, ("log", {})], text),
        lambda calls, text: ([("log", {}), *calls], text.upper()),
        lambda calls, text: (calls[1:], " ".join(text.split()[: len(text.split()) // 2])),
        lambda calls, text: ([(name, {**args, "extra": 1}) for name, args in calls], f"{text} {text}"),
        lambda calls, text: ([(name.upper(), args) for name, args in calls], "Something else."),
        lambda calls, text: ([*calls, *calls], f"Sure. {text} Anything else?"),
        lambda calls, text: ([], ""),
    )
    for change in changes:
        for all_turns in (True, False):
            at = draw.randrange(len(right))
            made = [change(*one) if all_turns or index == at else one for index, one in enumerate(right)]
            if made != right:
                yield [(list(calls), text) for calls, text in made]
            if len(right) == 1:
                break


def jobs(folder: Path | None) -> Iterator[Job]:
    draw = random.Random(SEED)
    from carob.features.importers.adk import Call

    table = [
        [ExpectedTurn(prompt, [Call(*call) for call in calls], answer, ()) for prompt, calls, answer in turns]
        for turns in TABLE
    ]
    for turns in (*table, *(real_turns(folder) if folder else ())):
        for actual in deeds(turns, draw):
            for metric, criterion in CRITERIA:
                yield Job(turns, actual, metric, criterion)


class Ours:
    """Carob's verdicts, from an eval set with its `test_config.json`, and from the Carob 1 that it becomes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._catalog = catalog_for(Project())
        self._cases: dict[str, tuple[Case | None, Case | None, str]] = {}

    def verdicts(self, job: Job) -> tuple[str, str]:
        invocations = [_invocation(turn.prompt, _pairs(turn), turn.answer or "") for turn in job.expected]
        key = json.dumps([invocations, job.metric, job.criterion], sort_keys=True)
        if key not in self._cases:
            self._cases[key] = self._read(invocations, job)
        case, again, problem = self._cases[key]
        return self._judged(case, job, problem), self._judged(again, job, problem)

    def _read(self, invocations: list[dict[str, Any]], job: Job) -> tuple[Case | None, Case | None, str]:
        (self._folder / CONFIG).write_text(json.dumps({"criteria": {job.metric: job.criterion}}))
        data = json.dumps({"eval_cases": [{"eval_id": "x", "conversation": invocations}]}).encode()
        path = str(self._folder / "x.evalset.json")
        try:
            case = read_suite(data, path, self._catalog).cases[0]
            written = convert(data, path, self._catalog).text
            again = read_suite(written.encode(), str(self._folder / "x.yaml"), self._catalog).cases[0]
        except SuiteError as error:
            return None, None, f"refused: {error.problems[0].message}"
        return case, again, ""

    def _judged(self, case: Case | None, job: Job, problem: str) -> str:
        if case is None:
            return problem
        turns = [
            Trace(
                case_id="x",
                input=turn.prompt,
                final_message=text,
                tool_calls=tuple(ToolCall(name, args, result="ok", success=True) for name, args in calls),
            )
            for turn, (calls, text) in zip(job.expected, job.actual, strict=True)
        ]
        trace = (
            turns[0]
            if len(turns) == 1
            else Trace(case_id="x", turns=tuple(turns), final_message=turns[-1].final_message)
        )
        results = [one for one in case_results(case, trace, self._catalog) if one.name != "outcome"]
        found = {one.status for one in results}
        if found <= {Status.PASSED}:
            return "PASSED"
        return "FAILED" if found <= {Status.PASSED, Status.FAILED} else "/".join(sorted(found))


def theirs(asked: Sequence[Job], python: Path) -> list[str]:
    peer = Path(__file__).with_name("adk_peer.py")
    lines = "".join(f"{job.line}\n" for job in asked).encode()
    done = subprocess.run([str(python), str(peer)], input=lines, capture_output=True, check=False)
    found = [json.loads(line[8:]) for line in done.stdout.decode().splitlines() if line.startswith("VERDICT ")]
    if len(found) != len(asked):
        raise SystemExit(f"ADK judged {len(found)} of {len(asked)}: {done.stderr.decode()[-800:]}")
    return [one["status"] for one in found]


def explain(job: Job, their: str, our: str) -> str:
    """The class of a difference; the empty string if there is none that is known."""
    if "checks nothing" in our and their == "PASSED" and job.metric == TRAJECTORY:
        return "too few turns expect a tool, so every agent passes in ADK; Carob refuses a case that checks nothing"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, required=True, help="An interpreter that has google-adk[eval].")
    parser.add_argument("--from", dest="folder", type=Path, help="Real eval sets, a folder per repository.")
    given = parser.parse_args(arguments)
    asked = list(jobs(given.folder))
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder))
        verdicts = [
            (job, their, *ours.verdicts(job)) for job, their in zip(asked, theirs(asked, given.python), strict=True)
        ]
    same = [one for one in verdicts if one[1] == one[2]]
    print(
        f"{len(verdicts):,} verdicts; {len(same):,} the same, {sum(one[1] == 'PASSED' for one in same):,} of them pass"
    )
    print(", ".join(f"{name} {count}" for name, count in Counter(job.metric for job in asked).items()))
    classes: dict[str, list[Any]] = {}
    for one in verdicts:
        if one[1] != one[2]:
            classes.setdefault(explain(*one[:3]) or "UNEXPLAINED", []).append(one)
    for name, found in classes.items():
        print(f"\n{len(found)}: {name}")
        for job, their, our, _ in found[: 30 if name == "UNEXPLAINED" else 3]:
            print(
                f"  {job.metric} {job.criterion} {[_pairs(t) for t in job.expected]} {job.actual}: {their} / {our}"[
                    :400
                ]
            )
    moved = [one for one in verdicts if one[2] != one[3]]
    print(f"\n{len(moved)} verdicts change with `carob convert`")
    for one in moved[:5]:
        print(f"  {one[0].metric} {one[0].criterion}: {one[2]} / {one[3]}")
    return int("UNEXPLAINED" in classes or bool(moved))


if __name__ == "__main__":
    sys.exit(main())
