"""`carob judge`, as a client in another language uses it: a process of its own, spoken to over its stdin and stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

import carob
from carob.features.judge.messages import MAX_BYTES
from carob.model.verdict import CaseStatus
from features.judge.client import CAROB, Client, judge
from processes import running

ROOT = Path(__file__).parents[3]
SUITE = """\
carob: 1
name: desk
cases:
  - id: refund
    prompt: I want my money back.
    expected: {tool_calls_none: [issue_refund], must_say_any: [sorry]}
  - id: talk
    turns:
      - {prompt: hello, expected: {must_say_any: [hi]}}
      - {prompt: bye, expected: {must_say_any: [bye]}}
  - {id: later, prompt: What then?, skip: not yet, expected: {must_say_any: [yes]}}
  - {id: known, prompt: Does it work?, xfail: bug 7, expected: {must_say_any: [yes]}}
  - {id: often, prompt: Heads or tails?, expected: {min_pass_rate: 0.5, must_say_any: [heads]}}
"""
RULES = "carob: 1\nrules: [{id: look-first, each: {call: pay}, needs: {before: {call: lookup}}}]\n"
PAYS = {"final_message": "Sorry, paid.", "tool_calls": [{"name": "issue_refund", "result": {"ok": True}}]}
SORRY = {"final_message": "I am sorry. hi, bye", "tool_calls": []}
LOUD = """\
import os


def loud(trace, words: list[str]):
    print("noise", flush=True)
    os.write(1, b"noise")
    return True, ""


loud.examples = [(["a"], "a", True)]
"""
HANGS = """\
import time


def hang(trace, words: list[str]):
    if words == ["y"]:
        open("hanging", "w").close()
        time.sleep(600)
    return True, ""


hang.examples = [(["a"], "a", True)]
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "desk.carob.yaml").write_text(SUITE)
    (tmp_path / "rules.carob.yaml").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_suite_is_listed_with_its_prompts(desk: Path) -> None:
    with judge(desk) as client:
        listed = client.ask("load", suite="desk.carob.yaml")
        assert [(case["id"], case["prompts"]) for case in listed["cases"]][:2] == [
            ("refund", ["I want my money back."]),
            ("talk", ["hello", "bye"]),
        ]
        assert (listed["cases"][2]["skip"], listed["cases"][3]["xfail"], listed["cases"][1]["line"]) == (
            *("not yet", "bug 7"),
            7,
        )
        assert len(client.ask("load", suite=SUITE)["cases"]) == 5


def test_a_trace_is_judged_as_the_library_does(desk: Path) -> None:
    case = carob.load_suite("desk.carob.yaml").cases[0]
    with judge(desk) as client:
        suite = client.load("desk.carob.yaml")
        for trace in (PAYS, SORRY, {"final_message": "sorry"}):
            verdict = carob.judge(case, trace)
            judged = client.ask("judge", suite=suite, case="refund", trace=trace)
            assert judged["verdict"] == json.loads(msgspec.json.encode(verdict))
            assert (judged["outcome"] == "passed") is (verdict.status is CaseStatus.PASS)
        judged = client.ask("judge", suite=suite, case="refund", trace=PAYS)
        assert judged["differences"][0]["check"] == "tool_calls_none[0]"
        assert any("issue_refund (success)" in line for line in judged["lines"])


def test_keys_of_expected_and_rules_are_judged(desk: Path) -> None:
    with judge(desk) as client:
        assert client.ask("check", trace=SORRY, expected={"tool_calls_none": ["pay"]})["outcome"] == "passed"
        unseen = client.ask("check", trace={"final_message": "x"}, expected={"tool_calls_none": ["pay"]})
        assert (unseen["outcome"], unseen["differences"][0]["status"]) == ("failed", "unknown")
        calls = [{"name": name, "arguments": {}, "result": "ok"} for name in ("lookup", "pay")]
        kept = {"turns": [{"input": "pay", "final_message": "done", "tool_calls": [call]} for call in calls]}
        assert client.ask("rules", trace=kept, rules="rules.carob.yaml")["outcome"] == "passed"
        kept["turns"].reverse()
        broken = client.ask("rules", trace=kept, rules="rules.carob.yaml")
        assert (broken["outcome"], broken["differences"][0]["check"]) == ("failed", "look-first")


def test_a_run_has_the_verdicts_and_the_journal_of_carob_run(desk: Path) -> None:
    answers = {"refund": [PAYS], "talk": [SORRY, SORRY], "known": [SORRY], "often": [SORRY], "later": []}
    traces = [{"case_id": name, "turns": turns} if len(turns) > 1 else {"case_id": name, **turns[0]}
              for name, turns in answers.items() if turns]  # fmt: skip
    (desk / "traces.jsonl").write_text("".join(json.dumps(trace) + "\n" for trace in traces))
    usual = carob.run("desk.carob.yaml", "replay:traces.jsonl")
    with judge(desk) as client:
        run = client.ask("run", suite=client.load("desk.carob.yaml"), target="typescript:desk")["run"]
        for name in ("known", "often", "later", "talk", "refund"):
            client.run_case(run, name, *answers[name])
        finished = client.ask("finish", run=run)
    journal = carob.Journal(finished["journal"])
    records = list(journal.records())
    assert [record.case.id for record in records] == [record.case.id for record in usual]
    assert [record.verdict for record in records] == [record.verdict for record in usual]
    assert finished["exit_code"] == usual.exit_code == 1
    assert journal.header.target == "typescript:desk"
    assert [Path(report).suffix for report in finished["reports"]] == [".json", ".md"]
    assert not carob.rescore(finished["journal"]).ok


def test_cases_that_are_not_run_were_not_selected(desk: Path) -> None:
    with judge(desk) as client:
        run = client.ask("run", suite=client.load("desk.carob.yaml"), target="typescript:desk")["run"]
        client.run_case(run, "talk", SORRY, SORRY)
        client.run_case(run, "refund", SORRY)
        finished = client.ask("finish", run=run)
    assert (finished["summary"], finished["exit_code"]) == ("2 passed", 0)
    journal = carob.Journal(finished["journal"])
    assert [record.case.id for record in journal.records()] == ["refund", "talk"]
    assert journal.header.options["selection"] == {"cases": ["refund", "talk"]}
    assert carob.rescore(finished["journal"]).ok


def test_cases_wait_side_by_side(desk: Path) -> None:
    with judge(desk) as client:
        run = client.ask("run", suite=client.load("desk.carob.yaml"), target="typescript:desk")["run"]
        numbers = {client.put("case", run=run, case=name): name for name in ("refund", "talk", "refund")}
        asked = sorted((client.get() for _ in numbers), key=lambda ask: int(ask["id"]))
        assert {ask["id"]: ask["case"] for ask in asked} == numbers
        assert len({ask["conversation"] for ask in asked}) == 3
        assert client.ask("check", trace=SORRY, expected={"must_say_any": ["hi"]})["outcome"] == "passed"
        client.put("answer", ask=asked[2]["ask"], trace=PAYS)
        client.put("answer", ask=asked[0]["ask"], trace=SORRY)
        assert [(reply["id"], reply["status"]) for reply in (client.get(), client.get())] == [
            (asked[2]["id"], "FAIL"),
            (asked[0]["id"], "PASS"),
        ]


def test_a_repeat_that_fails_is_let_pass_while_the_rate_can_be_met(desk: Path) -> None:
    with judge(desk) as client:
        run = client.ask("run", suite=client.load("desk.carob.yaml"), target="coin", repeat=4)["run"]
        outcomes = [client.run_case(run, "often", side)["outcome"] for side in ("tails", "heads", "tails", "tails")]
        finished = client.ask("finish", run=run)
    assert outcomes == ["passed", "passed", "passed", "failed"]
    assert finished["exit_code"] == 1


def test_an_answer_that_fails_is_an_error(desk: Path) -> None:
    with judge(desk) as client:
        run = client.ask("run", suite=client.load("desk.carob.yaml"), target="desk", timeout=0.2)["run"]
        broken = client.run_case(run, "refund", {"error": "TypeError: x is not a function"})
        assert (broken["outcome"], broken["status"]) == ("failed", "ERROR")
        assert "bad-answer" in client.run_case(run, "refund", {"answer": "x"})["reason"]
        client.put("case", run=run, case="refund")
        asked = client.get()
        assert "took longer than 0.2 s" in client.get()["reason"]
        client.put("answer", ask=asked["ask"], trace="too late")
        assert client.ask("finish", run=run)["exit_code"] == 1


LOADED = b'{"protocol": 1, "id": 7, "do": "load", "suite": "desk.carob.yaml"}\n'
GARBAGE: dict[bytes, tuple[str, Any]] = {
    b"garbage": ("judge-message", None),
    b"\xff\xfe\x00": ("judge-message", None),
    b"[" * 100_000: ("judge-message", None),
    b"[1]": ("judge-message", None),
    b"{}": ("judge-protocol", None),
    b'{"protocol": 2, "id": 1, "do": "load"}': ("judge-protocol", 1),
    b'{"protocol": 1, "id": true, "do": "close"}': ("judge-message", None),
    b'{"protocol": 1, "id": 1, "do": "nope"}': ("judge-message", 1),
    b'{"protocol": 1, "id": 1, "do": "load", "suite": 7}': ("judge-message", 1),
    b'{"protocol": 1, "id": 1, "do": "load", "suite": "nope.yaml"}': ("", 1),
    b'{"protocol": 1, "id": 1, "do": "load", "suite": "carob: 1\\ncases: [{id: a, prompt: b}]"}': ("no-checks", 1),
    b'{"protocol": 1, "id": 1, "do": "judge", "suite": "s", "case": "a", "trace": {}}': ("no-suite", 1),
    b'{"protocol": 1, "id": 1, "do": "case", "run": "r", "case": "a"}': ("no-run", 1),
    b'{"protocol": 1, "id": 1, "do": "finish", "run": "r"}': ("no-run", 1),
    b'{"protocol": 1, "id": 1, "do": "check", "trace": {"final": 1}, "expected": {}}': ("", 1),
    b'{"protocol": 1, "id": 1, "do": "check", "trace": {"final_message": "\\ud800"}, "expected": {"must_sya": 1}}': (
        "",
        1,
    ),
    b" " * (MAX_BYTES + 1) + b"{}": ("judge-message", None),
}


def test_garbage_is_an_error_and_the_judge_goes_on(desk: Path) -> None:
    with judge(desk) as client:
        for line, (slug, number) in GARBAGE.items():
            client.write(line + b"\n")
            error = client.get()
            assert (error["is"], error["id"]) == ("error", number), line[:80]
            assert error["slug"] == slug or not slug, (line[:80], error)
            assert error["cause"]
            assert error["slug"] != "bug", error
            client.write(LOADED)
            assert client.get()["is"] == "suite"


def test_what_checks_print_is_no_message(desk: Path) -> None:
    (desk / "checks.py").write_text(LOUD)
    (desk / "carob.toml").write_text('[checks]\nloud = "python:checks.py:loud"\n')
    with judge(desk) as client:
        judged = client.ask("check", trace=SORRY, expected={"loud": ["x"]})
        assert (judged["is"], judged["outcome"]) == ("judged", "passed")
        client.end()
        assert client.process.stderr is not None
        assert client.process.stderr.read().count(b"noise") == 2


def test_it_ends_with_its_stdin(desk: Path) -> None:
    with judge(desk) as client:
        run = client.ask("run", suite=client.load("desk.carob.yaml"), target="desk")["run"]
        client.run_case(run, "refund", SORRY)
        client.put("case", run=run, case="talk")
        client.get()
        assert client.end() == 0
    (journal,) = (desk / "carob-results").glob("*.jsonl")
    summary = carob.Journal(journal).summary
    assert (summary.passed, summary.interrupted) == (1, True)


@pytest.mark.parametrize("how", ["waits", "judges"])
def test_it_ends_with_a_client_that_is_killed(desk: Path, how: str) -> None:
    """Also while it judges: a check that hangs must not keep it."""
    (desk / "checks.py").write_text(HANGS)
    (desk / "carob.toml").write_text('[checks]\nhang = "python:checks.py:hang"\n')
    script = f"""
import json, os, subprocess, time
judge = subprocess.Popen([{str(CAROB)!r}, "judge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
judge.stdout.readline()
line = {{"protocol": 1, "id": 1, "do": "check", "trace": {{"final_message": "x"}}, "expected": {{"hang": ["y"]}}}}
if {how == "judges"}:
    judge.stdin.write(json.dumps(line).encode() + b"\\n")
    judge.stdin.flush()
    while not os.path.exists("hanging"):
        time.sleep(0.01)
print(judge.pid, flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=desk, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    process = int(parent.stdout.readline())
    assert running(process)
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    deadline = time.monotonic() + 30
    while running(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(process)


def test_close_ends_it(desk: Path) -> None:
    with judge(desk) as client:
        assert client.ask("close")["is"] == "closed"
        assert client.process.wait(60) == 0


def test_the_schema_describes_every_message(desk: Path) -> None:
    text = subprocess.run([CAROB, "judge", "--schema"], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "judge.schema.json").read_text() == text, (
        "run `carob judge --schema > docs/judge.schema.json`"
    )
    schema = json.loads(text)
    with judge(desk) as client:
        run = client.ask("run", suite=client.load("desk.carob.yaml"), target="desk")["run"]
        client.run_case(run, "refund", PAYS)
        client.ask("check", trace=PAYS, expected={"must_say_any": ["x"]})
        client.ask("finish", run=run)
        client.write(b"garbage\n")
        client.get()
        client.ask("close")
        seen = _kinds(client)
        for messages, kind in ((client.sent, "Sent"), (client.received, "Received")):
            validator = jsonschema.Draft202012Validator({**schema, "anyOf": [{"$ref": f"#/$defs/{kind}"}]})
            for message in messages:
                validator.validate(message)
    assert seen == {"ready", "suite", "run", "ask", "judged", "finished", "error", "closed"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"protocol": 1, "id": 1, "do": "load"}, schema)


def _kinds(client: Client) -> set[str]:
    return {message["is"] for message in client.received}
