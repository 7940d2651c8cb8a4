"""Law 6: all doors agree. One trace and one expectation have one verdict, by whatever way they come together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.engine.authoring import ExpectationError
from laws.coverage import Coverage, require
from laws.samples import EFFECTS, KEYS
from seeds import test_fields as seeds

NOT_RECORDED = {"spans": "recordings in the short form hold none", "code": "it is not run unasked"}
ROWS = {
    f"{name} {side}".replace(" ", "-"): (name, side, row)
    for name, row in seeds.ROWS.items()
    for side in ("right", "wrong")
}
"""Each case of the seeds' table with its right and its wrong answer."""
CLAIMS = {"tests": {"words": ["tests pass"], "run": "^pytest"}}
WITHOUT_CLAIMS = ("run of an eval set", "run of a golden set", "check")
"""Doors that no words of claims can be declared at: only a Carob 1 suite has them."""
_CONFIG = '[prices]\ninput = 1.0\noutput = 4.0\n[effects]\nbook = ["booked"]\n'


def _trace(side: str, row: seeds.Row) -> dict[str, Any]:
    return seeds.observed(row.passing if side == "right" else row.failing)


def _suite(form: str) -> Any:
    cases = [{"id": name, "prompt": "p", "expected": row.expected} for name, (_, _, row) in ROWS.items()]
    if form == "carob-1":
        return {"carob": 1, "claims": CLAIMS, "cases": cases}
    if form == "eval-set":
        return {"version": "0.3", "cases": cases}
    return [
        {
            "id": one["id"],
            "input": "p",
            **(one["expected"] if _is_qa(one["expected"]) else {"expected": one["expected"]}),
        }
        for one in cases
    ]


def _is_qa(expected: Mapping[str, Any]) -> bool:
    return not expected.keys().isdisjoint(seeds.BESIDE)


def _write(folder: Path) -> None:
    (folder / "carob.toml").write_text(_CONFIG)
    (folder / "policy.md").write_text("A ride is found within 24 hours.\n")
    lines = [{"case_id": name, "input": "p", **_trace(side, row)} for name, (_, side, row) in ROWS.items()]
    (folder / "r.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for form in ("carob-1", "eval-set", "golden"):
        (folder / f"{form}.json").write_text(json.dumps(_suite(form)))


Statuses = dict[str, str]


def _ran(form: str, **how: Any) -> carob.RunResult:
    return carob.run(f"{form}.json", "replay:r.jsonl", **how)


def _of(result: carob.RunResult) -> Statuses:
    return {record.case.id: str(record.status) for record in result}


def _judged() -> Statuses:
    cases = carob.load_suite("carob-1.json").cases
    return {case.id: str(carob.judge(case, {"input": "p", **_trace(*ROWS[case.id][1:])}).status) for case in cases}


def _checked() -> Statuses:
    found = {}
    for name, (_, side, row) in ROWS.items():
        try:
            found[name] = str(carob.check({"input": "p", **_trace(side, row)}, **row.expected).status)  # type: ignore[arg-type]
        except ExpectationError as error:
            found[name] = str(error.verdict.status)
    return found


def _rescored() -> Mapping[str, Statuses]:
    """A run, and the ways to judge its journal again."""
    ran = _ran("carob-1", results_dir="results")
    return {
        "run of Carob 1": _of(ran),
        "rescore": _of(carob.rescore(ran.journal)),
        "rescore by the suite": _of(carob.rescore(ran.journal, "carob-1.json")),
    }


Doors = Mapping[str, Callable[[], Statuses]]
DOORS: Doors = {
    "run of an eval set": lambda: _of(_ran("eval-set")),
    "run of a golden set": lambda: _of(_ran("golden")),
    "judge": _judged,
    "check": _checked,
}
SLOW: Doors = {
    "one worker": lambda: _of(_ran("carob-1", workers=1)),
    "two workers": lambda: _of(_ran("carob-1", workers=2)),
    "concurrency 4": lambda: _of(_ran("carob-1", concurrency=4)),
    "rescore, two workers": lambda: _of(carob.rescore(_ran("carob-1", results_dir="r").journal, workers=2)),
}
EXCEPTIONS = {
    **NOT_RECORDED,
    "Ray": "it needs a cluster: tests/engine runs its executor through the table of all executors",
    "claims": f"its words are declared in a Carob 1 suite, which is not at these doors: {', '.join(WITHOUT_CLAIMS)}",
    "pytest": "its door is `run` itself, case by case: tests/pytest_plugin",
}


@pytest.fixture
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path)
    monkeypatch.chdir(tmp_path)


def find_disagreements(doors: Doors, rescored: Callable[[], Mapping[str, Statuses]] = dict) -> Coverage:
    found_by = {**rescored(), **{door: enter() for door, enter in doors.items()}}
    coverage = Coverage(6, "all doors agree", checks=KEYS, doors=found_by, exceptions=EXCEPTIONS)
    expected = {name: "PASS" if side == "right" else "FAIL" for name, (_, side, _) in ROWS.items()}
    for door, found in found_by.items():
        for name, status in expected.items():
            undeclared = name.startswith("claims") and door in WITHOUT_CLAIMS
            coverage.try_one(
                found.get(name) == ("PARTIAL" if undeclared else status), f"{door}: {name} is {found.get(name)}"
            )
    return coverage


@pytest.mark.usefixtures("_project")
def test_all_doors_agree(record_property: Callable[[str, object], None]) -> None:
    require(find_disagreements(DOORS, _rescored), record_property)


@pytest.mark.thorough
@pytest.mark.usefixtures("_project")
def test_workers_agree(record_property: Callable[[str, object], None]) -> None:
    require(find_disagreements(SLOW), record_property)


@pytest.mark.usefixtures("_project")
def test_a_door_that_judges_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: `rescore` does not see the calls of a trace."""
    from msgspec import structs

    from carob.scoring import verdicts

    judge = verdicts.judge_case
    monkeypatch.setattr(
        verdicts, "judge_case", lambda case, trace, catalog: judge(case, structs.replace(trace, tool_calls=()), catalog)
    )
    assert find_disagreements({"judge": DOORS["judge"], "check": DOORS["check"]}).violations


@pytest.mark.usefixtures("_project")
def test_other_cases_of_a_run_do_not_decide(record_property: Callable[[str, object], None]) -> None:
    """Law 14: a case alone has the verdict that it has among others."""
    coverage = Coverage(14, "other cases of a run do not decide", checks=KEYS, doors=("run",))
    whole = _judged()
    for name in [*ROWS][::40]:
        alone = _of(_ran("carob-1", cases=[name]))
        coverage.try_one(alone == {name: whole[name]}, f"{name} alone is {alone[name]}, else {whole[name]}")
    require(coverage, record_property)


def test_every_door_knows_each_key() -> None:
    assert {name for name, _, _ in ROWS.values()} == set(seeds.ROWS)
    assert EFFECTS == {"book": ["booked"]}
