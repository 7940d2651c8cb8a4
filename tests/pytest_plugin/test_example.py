"""The example project, as somebody who copies it would run it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from pytest_plugin.conftest import Desk

EXAMPLE = Path(__file__).parents[2] / "examples" / "pytest_project"
OUTCOMES = {"passed": 10, "skipped": 1, "xfailed": 1}
STATUSES = {
    "asks-for-the-order": "PASS",
    "refunds-A-17": "PASS",
    "refuses-large-sums": "PASS",
    "unknown-order": "PASS",
    "two-turns": "PASS",
    "speaks-french": "XFAIL",
    "phone-calls": "SKIP",
}


@pytest.fixture
def example(desk: Desk) -> Desk:
    shutil.copytree(EXAMPLE, desk.path, dirs_exist_ok=True)
    (desk.path / "agent.py").unlink()
    desk.plugins = ()
    return desk


def statuses(report: Path) -> dict[str, str]:
    """The status of each case as JUnit has it."""
    tests = ElementTree.parse(report).iter("testcase")
    found = {
        str(test.get("name")): {one.get("name"): one.get("value") for one in test.iter("property")} for test in tests
    }
    return {name: str(known["carob.status"]) for name, known in found.items() if "carob.status" in known}


@pytest.mark.parametrize("args", [(), pytest.param(("-n2",), marks=pytest.mark.thorough)], ids=["alone", "xdist"])
def test_example_project(example: Desk, args: tuple[str, ...]) -> None:
    run = example.run_apart if args else example.run
    result = run("--junitxml=junit.xml", *args)
    assert {name: result.parseoutcomes()[name] for name in OUTCOMES} == OUTCOMES
    assert statuses(example.path / "junit.xml") == STATUSES
    assert example.statuses() == STATUSES
    assert example.journal().summary.incomplete == ""


def test_example_project_turns_red(example: Desk) -> None:
    agent = (example.path / "desk_agent.py").read_text()
    example.write("desk_agent.py", agent.replace("amount > LIMIT", "amount < 0"))
    result = example.run()
    result.stdout.fnmatch_lines(
        [
            "FAILED desk.carob.yaml::refuses-large-sums - FAIL: must_say_any: expected *",
            "FAILED test_desk.py::test_no_refund_over_the_limit[[]B-04[]]*",
            "FAILED desk.carob.yaml::gate - undecided: max_new_failures = 0: 1 of 5 cases*",
        ]
    )
