"""HTTP services that Carob starts: with the environment of the proxy, so that tapes, model traffic and stress work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import ConfigError
from carob.model.verdict import CaseStatus
from carob.proxy.tape.file import read_tape
from scripted_model import serve

AGENT = Path(__file__).with_name("model_agent.py")
RULES = {
    "rules": [
        {"when": {"user": r"balance of (?P<account>\w+)"}, "call": {"get_balance": {"account": "${account}"}}},
        {"when": {"user": "balance", "results": {"get_balance": r"(?P<sum>\d+\.\d\d)"}}, "say": "You have ${sum}."},
        {"when": {"user": "."}, "say": "Good day."},
    ]
}
SUITE = {
    "carob": 1,
    "cases": [
        {
            "id": "balance",
            "prompt": "What is the balance of A1?",
            "expected": {
                "tool_calls": [{"tool": "get_balance", "arguments": {"account": "A1"}}],
                "must_say_any": ["12.50"],
            },
        }
    ],
}
TARGET = f"""
[targets.bank]
use = "http://127.0.0.1:{{port}}/chat"
start = "{{python}} {AGENT} {{port}}"
body = {{ message = "{{prompt}}" }}
answer = "$.reply"
telemetry = {{ models = true }}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "carob.toml").write_text(TARGET)
    (tmp_path / "bank.carob.yaml").write_text(json.dumps(SUITE))
    return tmp_path


def statuses(**how: Any) -> dict[str, CaseStatus]:
    done = carob.run("bank.carob.yaml", "bank", **how)
    return {record.case.id: record.verdict.status for record in done.journal.records()}


def test_a_service_that_is_started_is_judged_from_its_model_traffic(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key-0123456789")
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        assert statuses() == {"balance": CaseStatus.PASS}


def test_a_service_that_is_started_has_a_tape(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And needs no key in a replay."""
    with serve(RULES) as model, monkeypatch.context() as environ:
        environ.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        environ.setenv("OPENAI_API_KEY", "sk-real-key-0123456789")
        assert statuses(tape="record") == {"balance": CaseStatus.PASS}
    assert len(read_tape(project / "bank.tape.yaml").exchanges) == 2
    assert statuses(tape="replay") == {"balance": CaseStatus.PASS}


def test_a_service_that_is_started_is_stressed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = {
        **SUITE,
        "cases": [
            {**SUITE["cases"][0], "faults": [{"model": {"status": 500}}], "expected": {"must_say_any": ["cannot"]}}
        ],
    }  # type: ignore[dict-item]  # the literal above is known
    (project / "bank.carob.yaml").write_text(json.dumps(suite))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key-0123456789")
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        assert statuses() == {"balance": CaseStatus.PASS}


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ('{python} -c "print(12 + 30); raise SystemExit(4)"', "the app ended with exit code 4. It printed: 42"),
        ("no-such-program", "the app cannot be started"),
        ('{python} -c "import time; print(7 * 6, flush=True); time.sleep(60)"', "within 0.5 s. It printed: 42"),
    ],
    ids=["ended", "no-program", "not-ready"],
)
def test_a_service_that_does_not_start_says_what_it_printed(start: str, said: str, project: Path) -> None:
    text = TARGET.replace(f'"{{python}} {AGENT} {{port}}"', f"'{start}'\nstart_timeout = 0.5")
    (project / "carob.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        statuses()
    assert said in str(refused.value)
    assert refused.value.where.endswith("carob.toml:4")


def test_a_service_that_ended_is_started_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = {"id": "a", "prompt": "crash", "expected": {"must_say_any": ["x"]}}
    (project / "bank.carob.yaml").write_text(json.dumps({**SUITE, "cases": [crash, SUITE["cases"][0]]}))  # type: ignore[index]  # the literal above is known
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key-0123456789")
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        assert statuses() == {"a": CaseStatus.ERROR, "balance": CaseStatus.PASS}


def test_where_a_service_is_ready_can_be_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "carob.toml").write_text(
        TARGET.replace("telemetry", 'ready = "http://127.0.0.1:{port}/healthz"\ntelemetry')
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key-0123456789")
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        assert statuses() == {"balance": CaseStatus.PASS}
