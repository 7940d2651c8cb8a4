"""What only another tool can judge: never a pass, never dropped, left out only where the user says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import carob
from carob.model.suite import Scoring
from carob.model.verdict import CaseStatus, CheckResult, Status
from carob.scoring import verdicts

LETTERS = {"p": Status.PASSED, "f": Status.FAILED, "u": Status.UNKNOWN, "n": Status.UNJUDGED, "e": Status.ERROR}
HALF = {"threshold": 0.5, "weights": dict.fromkeys(LETTERS, 1.0)}


@pytest.mark.parametrize(
    ("letters", "scoring", "strict", "allowed"),
    [
        pytest.param("pn", {}, "PARTIAL", "PASS", id="the-rest-passed"),
        pytest.param("n", {}, "PARTIAL", "PARTIAL", id="nothing-else-was-judged"),
        pytest.param("fn", {}, "FAIL", "FAIL", id="a-failure-stays-one"),
        pytest.param("un", {}, "PARTIAL", "PARTIAL", id="an-unknown-is-not-excused"),
        pytest.param("en", {}, "ERROR", "ERROR", id="an-error-stays-one"),
        pytest.param("fn", HALF, "PARTIAL", "PARTIAL", id="it-could-lift-the-score-to-the-threshold"),
        pytest.param("fnu", {**HALF, "threshold": 0.9}, "FAIL", "FAIL", id="it-could-not-lift-it-so-far"),
        pytest.param("pn", HALF, "PARTIAL", "PASS", id="over-the-threshold"),
    ],
)
def test_status_of_a_case_with_an_unjudged_expectation(letters, scoring, strict, allowed):
    results = tuple(CheckResult("x", letter, LETTERS[letter]) for letter in letters)
    for allow, status in ((False, strict), (True, allowed)):
        found = verdicts.verdict(results, Scoring(**scoring, allow_unjudged=allow))
        assert found.status == CaseStatus(status), found.reason
        assert found.shortfall.count == letters.count("n")


SUITE = """\
carob: 1
cases:
  - id: polite
    prompt: Hello
    expected: {must_say_any: [Hi], unjudged: ["llm-rubric: is polite"]}
  - id: plain
    prompt: Hello
    expected: {must_say_any: [Hi]}
"""


def _run(tmp_path: Path, suite: str = SUITE, **how: object) -> carob.RunResult:
    (tmp_path / "suite.yaml").write_text(suite)
    reports = ("markdown", "json", "junit", "jsonl", "html", "gitlab", "github-summary")
    return carob.run(tmp_path / "suite.yaml", lambda prompt: "Hi", results_dir=tmp_path / "out", reports=reports, **how)


def test_unjudged_is_partial_and_shown_in_every_report(tmp_path):
    result = _run(tmp_path)
    assert [record.status for record in result] == ["PARTIAL", "PASS"]
    assert (result.summary.partial_unjudged, result.summary.unjudged, result.exit_code) == (1, 1, 1)
    assert "1 partial (1 not judged); 1 expectation not judged" in repr(result)
    for file in result.artifacts:
        if "jsonl" not in file.suffixes:
            text = file.read_text()
            assert "unjudged" in text or "not judged" in text, file


def test_only_allow_unjudged_leaves_it_to_another_tool(tmp_path):
    assert not _run(tmp_path, allow_unknown=True, allow_partial=True).ok
    left = _run(tmp_path, allow_unjudged=True)
    assert left.ok
    assert left.summary.unjudged == 1
    assert all("not judged" in file.read_text() for file in left.artifacts if file.suffix in (".md", ".html"))
    again = carob.rescore(left.journal.path, results_dir=tmp_path / "again")
    assert again.ok
    assert not carob.rescore(left.journal.path, results_dir=tmp_path / "again", allow_unjudged=False).ok


def test_carob_toml_allows_it(tmp_path, monkeypatch):
    (tmp_path / "carob.toml").write_text("allow_unjudged = true\n")
    monkeypatch.chdir(tmp_path)
    assert _run(tmp_path).ok


def test_audit_leaves_it_out_and_still_audits_the_case(tmp_path):
    result = _run(tmp_path)
    report = carob.audit(result.journal.path)
    assert not report.set_aside
    assert [case.checks for case in report.cases] == [("outcome", "must_say_any")] * 2
