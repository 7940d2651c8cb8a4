"""Gates of carob.toml as a test of each suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import carob
from carob.features.compare import comparisons

if TYPE_CHECKING:
    from pytest_plugin.conftest import Desk

CASES = [f"case-{number}: prompt: say {number}, expected: {{ must_say_any: [said] }}" for number in range(6)]


@pytest.fixture
def gated(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk.suite(*CASES)
    desk.run("--carob-record=base", "-q")
    carob.set_baseline(desk.journal("base").file)
    desk.write("carob.toml", "[gate]\nmax_new_failures = 0\n")
    return desk


def test_gate_is_the_last_test_of_its_suite(gated: Desk) -> None:
    result = gated.run("-v")
    assert result.parseoutcomes() == {"passed": 7}
    assert "desk.carob.yaml::gate PASSED" in [line for line in result.outlines if "::" in line][-1]


def test_gate_that_is_not_met(gated: Desk) -> None:
    agent = (gated.path / "agent.py").read_text()
    gated.write(
        "agent.py", agent.replace('    return f"You said', '    if "3" in prompt: return "No."\n    return f"You said')
    )
    result = gated.run()
    assert result.parseoutcomes() == {"passed": 5, "failed": 2}
    result.stdout.fnmatch_lines(
        [
            "undecided  max_new_failures = 0: 1 of 6 cases passed before and fails now*",
            "FAILED desk.carob.yaml::gate - undecided: max_new_failures*",
        ]
    )


def test_gate_without_a_baseline_is_not_green(gated: Desk) -> None:
    for file in gated.path.glob("*.baseline.jsonl"):
        file.unlink()
    result = gated.run()
    assert result.parseoutcomes() == {"passed": 6, "failed": 1}
    result.stdout.fnmatch_lines(["*no baseline exists yet. Make one: carob compare --save *"])


def test_gates_of_several_suites_are_corrected_together(gated: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    gated.write("other.carob.yaml", (gated.path / "desk.carob.yaml").read_text())
    asked: list[int] = []
    compare = comparisons.compare_runs
    monkeypatch.setattr(
        comparisons, "compare_runs", lambda *given, **how: (asked.append(how["together"]), compare(*given, **how))[1]
    )
    gated.run()
    assert asked == [2, 2]


def test_other_bases(gated: Desk) -> None:
    assert gated.run("--carob-gate=base").parseoutcomes() == {"passed": 7}
    assert gated.run("--carob-gate=no").parseoutcomes() == {"passed": 6}
    assert gated.run("--carob-gate=nowhere").parseoutcomes() == {"passed": 6, "failed": 1}


def test_gate_alone_has_nothing_to_look_at(gated: Desk) -> None:
    result = gated.run("desk.carob.yaml::gate")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*there is no run for the gates to judge. Run the cases of the suite*"])


def test_run_that_was_cut_short_meets_no_gate(gated: Desk) -> None:
    gated.suite(*CASES, "case-9: prompt: boom, expected: { must_say_any: [x] }")
    result = gated.run()
    result.stdout.fnmatch_lines(["*1 case ended in an error and could not be compared*"])
    assert result.parseoutcomes() == {"passed": 6, "errors": 1, "failed": 1}


def test_gates_with_xdist(gated: Desk) -> None:
    """No worker has the whole run: the controller asks the gates when it has."""
    gated.suite(*CASES, "case-9: prompt: say nothing, expected: { must_say_any: [x] }")
    result = gated.run_apart("-n2", "-v", "--junitxml=junit.xml", "--carob-gate=@baseline")
    assert result.parseoutcomes() == {"passed": 6, "failed": 2}, "a new case that fails is a new failure"
    assert "desk.carob.yaml::gate FAILED" in str(result.stdout)
    assert gated.journal().summary.incomplete == ""
    assert 'name="gate"' in (gated.path / "junit.xml").read_text()
