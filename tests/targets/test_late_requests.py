"""A request to a model that comes late is of its own case: it counts for no other, and uses up no fault of another."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import httpx2
import pytest

import carob
from carob.model.verdict import CaseStatus
from scripted_model import serve

RULES: dict[str, Any] = {
    "rules": [
        {"when": {"user": "late"}, "call": {"refund": {"order": "A"}}},
        {"when": {"user": "."}, "say": "Good day."},
    ]
}
TOOLS = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
GO, SENT = threading.Event(), threading.Event()
POOL = ThreadPoolExecutor(1)
WORK: SimpleQueue[Callable[[], object]] = SimpleQueue()


def body(text: str) -> bytes:
    return json.dumps({"model": "m", "tools": TOOLS, "messages": [{"role": "user", "content": text}]}).encode()


def ask(text: str) -> str:
    address = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    request = urllib.request.Request(address, body(text), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"] or "")


def ask_by_httpx(text: str) -> str:
    headers = {"Content-Type": "application/json"}
    reply = httpx2.post(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", content=body(text), headers=headers)
    return str(reply.json()["choices"][0]["message"]["content"] or "")


def send_late() -> None:
    GO.wait(10)
    ask("late")
    SENT.set()


def hand_over(prompt: str, submit: Callable[[Callable[[], object]], object]) -> None:
    """The first case leaves a request behind, and the second one waits until it was sent."""
    if prompt == "first":
        submit(send_late)
    else:
        GO.set()
        assert SENT.wait(10)


def in_a_pool(prompt: str) -> str:
    hand_over(prompt, POOL.submit)
    return ask(prompt)


def in_a_pool_by_httpx(prompt: str) -> str:
    hand_over(prompt, POOL.submit)
    return ask_by_httpx(prompt)


def in_a_thread(prompt: str) -> str:
    hand_over(prompt, lambda work: threading.Thread(target=work, daemon=True).start())
    return ask(prompt)


@pytest.mark.parametrize(
    ("agent", "second"),
    [
        pytest.param("in_a_pool", CaseStatus.PASS, id="of-a-pool"),
        pytest.param("in_a_pool_by_httpx", CaseStatus.PASS, id="of-a-pool-by-httpx"),
        pytest.param("in_a_thread", CaseStatus.PARTIAL, id="of-a-thread-whose-case-is-unknown"),
    ],
)
@pytest.mark.parametrize("fault", [False, True], ids=["", "fault"])
def test_a_late_request_of_one_case_is_none_of_the_next(
    agent: str, second: CaseStatus, fault: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    GO.clear()
    SENT.clear()
    expected = {"tool_calls_none": ["refund"], "outcome": "completed"}
    faults = {"faults": [{"model": {"empty": True}}]} if fault else {}
    cases = [{"id": "first", "prompt": "first", "expected": expected}]
    cases.append({"id": "second", "prompt": "second", "expected": expected, **faults})
    (tmp_path / "suite.json").write_text(json.dumps({"carob": 1, "cases": cases}))
    target = f'[targets.bank]\nuse = "python:{__name__}:{agent}"\ntelemetry = {{ models = true }}\n'
    (tmp_path / "carob.toml").write_text(target)
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        done = carob.run("suite.json", "bank", workers=0, results_dir="results")
    found = {record.case.id: record for record in done.journal.records()}
    assert found["first"].verdict.status is CaseStatus.PASS
    record = found["second"]
    assert record.verdict.status is second
    assert record.trace.tool_calls == ()
    assert record.trace.final_message == ("" if fault else "Good day.")
