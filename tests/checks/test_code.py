"""Code of a suite: never run unasked, and never longer than its deadline."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import carob
from carob.checks.catalog import catalog_for
from carob.checks.external import run_job
from carob.model.trace import Trace
from carob.plugins.project import Project
from carob.scoring.verdicts import run_check

TRUSTED, NOT_TRUSTED = catalog_for(Project(trust_code=True)), catalog_for(Project())


def judged(rule: dict[str, object], answer: str, *, trusted: bool = True) -> tuple[str, str]:
    catalog = TRUSTED if trusted else NOT_TRUSTED
    asked = catalog.ask("code", rule, ())
    assert not asked.problems
    (check,) = catalog.checks([asked.spec])
    result = run_check(check, Trace(case_id="x", final_message=answer))
    return result.status, result.found


def test_code_is_not_run_unasked(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    rule = {"language": "python", "code": f"open({str(mark)!r}, 'w') is not None"}
    status, why = judged(rule, "Hi", trusted=False)
    assert status == "unknown"
    assert "--trust-code" in why
    assert not mark.exists()
    assert judged(rule, "Hi")[0] == "passed"
    assert mark.exists()


@pytest.mark.parametrize(
    ("rule", "answer", "status"),
    [
        ({"code": "'Hi' in output"}, "Hi", "passed"),
        ({"code": "'Hi' in output"}, "Ho", "failed"),
        ({"code": "'Hi' in output", "negated": True}, "Ho", "passed"),
        ({"code": "print('noise')\nreturn {'pass': False, 'score': 0, 'reason': 'short'}"}, "Hi", "failed"),
        ({"code": "dict(pass_=True, score=1, reason='long')"}, "Hi", "passed"),
        ({"code": "dict(pass_=True, reason='no score')"}, "Hi", "error"),
        ({"code": "dict(score=1, reason='no pass')"}, "Hi", "error"),
        ({"code": "dict(pass_=False, reason='no score')", "negated": True}, "Hi", "error"),
        ({"code": "len(output)", "threshold": 3}, "Hi", "failed"),
        ({"code": "context['vars']['x'] == output", "context": {"vars": {"x": "Hi"}}}, "Hi", "passed"),
        ({"code": "1 / 0"}, "Hi", "error"),
        ({"code": "'neither'"}, "Hi", "error"),
    ],
)
def test_python(rule: dict[str, object], answer: str, status: str) -> None:
    assert judged({"language": "python", **rule}, answer)[0] == status


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("output.length > 1", "passed"),
        ("const n = output.length; n > 5", "failed"),
        ("const n = 3;\nreturn { pass: n === 3, score: 1, reason: 'ok' };", "passed"),
        ("({ pass: true, score: 1 })", "error"),
        ("({ pass: true, reason: 'no score' })", "error"),
        ("JSON.parse(output).x", "error"),
    ],
)
def test_javascript(code: str, status: str) -> None:
    assert judged({"language": "javascript", "code": code}, "Hi")[0] == status


def test_a_file_of_code_is_called_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("WORD = 'Hi'\n")
    (tmp_path / "a.py").write_text("from helper import WORD\ndef mine(output, context):\n    return output == WORD\n")
    rule = {"language": "python", "file": str(tmp_path / "a.py"), "function": "mine"}
    assert judged(rule, "Hi")[0] == "passed"


def test_code_ends_with_its_deadline_and_sees_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    runner = [sys.executable, str(Path(carob.__file__).parent / "checks/code_runners/run.py")]
    job = {"output": "", "context": {}, "file": "", "function": "", "code": "__import__('time').sleep(60)"}
    assert "longer than 0.3 s" in run_job(runner, job, seconds=0.3)["error"]
    keys = run_job(runner, {**job, "code": "sorted(__import__('os').environ)"})["result"]
    assert "OPENAI_API_KEY" not in keys


def test_trust_is_given_for_one_run(tmp_path: Path) -> None:
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": "Hi", "expected": {
        "code": [{"language": "python", "code": "output == 'Hi'"}]}}]}  # fmt: skip
    runs = [carob.run(suite, lambda prompt: prompt, trust_code=trust) for trust in (None, True)]
    assert [run.records[0].status for run in runs] == ["PARTIAL", "PASS"]
    journal = runs[1].journal.path
    assert [carob.rescore(journal, trust_code=trust).records[0].status for trust in (None, True)] == ["PARTIAL", "PASS"]
