"""Runs of suites with stubs and faults: what the journal keeps, judged again, replayed, and on a tape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.engine.request import TargetRecipe
from carob.errors import ConfigError
from carob.model.run import CaseRecord
from carob.redaction.redactor import Redactor
from carob.reports.case_details import transcript
from carob.targets.config import TargetConfig
from carob_pytest.agent import AgentConversation, OpenAgent
from carob_pytest.state import BackgroundLoop
from proxy.faulty_agents import LOG, ORDER
from scripted_model import serve

MODULE = "proxy.faulty_agents"
AGENT = f"langgraph:{MODULE}:tool_node"
LOST = {"tool": "get_order", "timeout": "after"}
SHIPPED = {"must_say_any": ["shipped"]}
RULES = {
    "rules": [
        {"when": {"user": ".", "results": {"get_order": r"(?P<all>[\s\S]+)"}}, "say": "${all}"},
        {"when": {"user": "."}, "call": {"get_order": {"order_id": ORDER}}},
    ]
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    LOG.clear()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*cases: dict[str, Any], config: str = "") -> None:
    whole = [{"prompt": "?", "expected": {"must_say_any": ["timed out"]}, **case} for case in cases]
    Path("shop.yaml").write_text(json.dumps({"carob": 1, "cases": whole}))
    Path("carob.toml").write_text(config)


def run(target: str = AGENT, **how: Any) -> dict[str, CaseRecord]:
    done = carob.run("shop.yaml", target, workers=0, results_dir="results", **how)
    return by_case(done)


def by_case(done: Any) -> dict[str, CaseRecord]:
    Path("last").write_text(str(done.journal.path))
    return {record.case.id: record for record in done.journal.records()}


def outcomes(records: dict[str, CaseRecord]) -> dict[str, str]:
    return {
        case: record.trace.error.kind if record.trace.error else record.verdict.status.value
        for case, record in records.items()
    }


CASES = [
    {"id": "lands", "faults": [LOST]},
    {"id": "misses", "faults": [{"tool": "pay", "gone": True}]},
    {"id": "stubbed", "stubs": {"get_order": {"result": "timed out"}}},
]
JUDGED = {"lands": "PASS", "misses": "fault-not-reached", "stubbed": "PASS"}


def test_a_journal_judged_again_and_replayed_keeps_what_landed() -> None:
    write(*CASES)
    assert outcomes(run()) == JUDGED
    journal = Path("last").read_text()
    assert outcomes(by_case(carob.rescore(journal))) == JUDGED
    assert outcomes(by_case(carob.rescore(journal, suite="shop.yaml"))) == JUDGED
    assert outcomes(run(f"replay:{journal}")) == JUDGED
    assert LOG == [ORDER] * 2


def test_a_journal_is_not_judged_by_a_case_with_other_faults() -> None:
    write(*CASES)
    run()
    journal = Path("last").read_text()
    write(CASES[0], {"id": "misses"}, CASES[2] | {"stubs": {"get_order": {"result": "it timed out"}}})
    again = outcomes(by_case(carob.rescore(journal, suite="shop.yaml")))
    assert again == {"lands": "PASS", "misses": "not-recorded", "stubbed": "not-recorded"}


def test_a_recording_without_the_fault_does_not_pass_for_one() -> None:
    write({"id": "lands", "expected": SHIPPED})
    assert outcomes(run()) == {"lands": "PASS"}
    write({"id": "lands", "expected": SHIPPED, "faults": [LOST]})
    assert outcomes(run(f"replay:{Path('last').read_text()}")) == {"lands": "fault-not-reached"}


def test_faults_of_the_target_are_in_the_case_of_the_journal() -> None:
    config = '[targets.shop]\nuse = "{}"\nfaults = [{{ tool = "get_order", timeout = "after", seed = 7 }}]\n'
    write({"id": "lands"}, config=config.format(AGENT))
    record = run("shop")["lands"]
    assert [fault.spelled for fault in record.case.faults] == [{**LOST, "seed": 7}]
    assert [(call.kind, call.call, call.ran, call.seed) for call in record.trace.altered_calls] == [
        ("timeout", 1, True, 7)
    ]
    assert outcomes(by_case(carob.rescore(Path("last").read_text(), suite="shop.yaml"))) == {"lands": "PASS"}


def test_tools_are_named_as_in_the_suite() -> None:
    config = '[targets.shop]\nuse = "{}"\ntool_names = {{ get_order = "orders.read" }}\n'
    write({"id": "lands", "faults": [{**LOST, "tool": "orders.read"}]}, config=config.format(AGENT))
    assert outcomes(run("shop")) == {"lands": "PASS"}


def test_a_case_is_refused_before_any_other_runs() -> None:
    fault = {"service": "warehouse", "empty": True}
    write({"id": "fine", "expected": SHIPPED}, {"id": "service", "faults": [fault]})
    with pytest.raises(ConfigError, match="there is no service of that name") as refused:
        run()
    assert refused.value.slug == "unknown-service"
    assert LOG == []


def test_a_conversation_of_a_test_has_the_stubs_of_its_target() -> None:
    """Of the pytest fixture: a stub in carob.toml may be there so that nothing is really paid."""
    config = TargetConfig(kind="langgraph", spec=f"{MODULE}:tool_node", stubs={"get_order": {"result": "stub"}})
    loop = BackgroundLoop()
    try:
        agent = OpenAgent(TargetRecipe(config).build(), loop, 20, Redactor())
        loop.wait(agent.target.open())
        conversation = AgentConversation("test", agent)
        assert conversation.ask_sync("?").final_message == "stub"
        loop.wait(conversation.end())
        loop.wait(agent.target.close())
    finally:
        loop.stop()
    assert LOG == []


def test_a_transcript_says_what_was_altered() -> None:
    write(*CASES)
    records = run()
    shown = {case: [entry.lines for entry in transcript(r) if entry.kind == "altered"] for case, r in records.items()}
    assert shown == {
        "lands": [["timeout: call 1 of get_order, which ran"]],
        "misses": [],
        "stubbed": [["stub: call 1 of get_order"]],
    }


def test_faults_of_tools_land_in_a_replayed_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded with its fault, a case replays with it; recorded without it, it asks what is not on the tape."""
    target = f"python:{MODULE}:ask_model"
    write({"id": "lands", "faults": [LOST]}, {"id": "late", "expected": SHIPPED})
    with serve(RULES) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        live = run(target, tape="record")
        monkeypatch.delenv("OPENAI_BASE_URL")
    write({"id": "lands", "faults": [LOST]}, {"id": "late", "expected": SHIPPED, "faults": [LOST]})
    again = run(target, tape="replay")
    assert (outcomes(live), outcomes(again)) == (
        {"lands": "PASS", "late": "PASS"},
        {"lands": "PASS", "late": "tape-miss"},
    )
    assert again["lands"].trace.altered_calls == live["lands"].trace.altered_calls
    assert LOG == [ORDER] * 4
