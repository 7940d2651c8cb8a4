"""Runs with a tape, from recording to replay: a real server, real sockets, a real agent loop without a model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.engine.events import Event, Notice
from carob.errors import ConfigError, UsageError
from carob.model.run import CaseRecord
from carob.model.verdict import CaseStatus
from carob.proxy.tape.file import Answer, Exchange, Tape, read_tape
from carob.proxy.tape.player import TapePlayer
from carob.proxy.tape.requests import IgnoreRules, ServiceRequest
from carob.proxy.tape.secrets import SecretKeeper
from carob.proxy.tape.settings import TapeSettings
from scripted_model import serve

HERE = Path(__file__).parent
RULES = {
    "rules": [
        {"when": {"user": r"balance of (?P<account>\w+)"}, "call": {"get_balance": {"account": "${account}"}}},
        {"when": {"user": "balance", "results": {"get_balance": r"(?P<sum>\d+\.\d\d)"}}, "say": "You have ${sum}."},
        {"when": {"user": "flaky"}, "status": 429, "times": 1},
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
                "max_seconds": 600,
            },
        },
        {"id": "hello", "prompt": "Hello!", "expected": {"must_say_any": ["Good day"]}},
    ],
}


class Project:
    """A folder with a suite and a tape."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.tape = folder / "bank.tape.yaml"
        self.notices: list[str] = []
        self._environ = monkeypatch
        monkeypatch.chdir(folder)
        self.write(SUITE)

    def write(self, suite: object, config: str = "") -> None:
        (self.folder / "bank.carob.yaml").write_text(json.dumps(suite))
        (self.folder / "carob.toml").write_text(config)

    def run(self, tape: str | None, agent: str = "ask", **how: Any) -> dict[str, CaseRecord]:
        """The records of a run by case; the model is reached only where the environment says so."""
        self.notices = []
        target = how.pop("target", f"python:proxy.agents:{agent}")
        done = carob.run(
            "bank.carob.yaml", target, tape=tape, workers=how.pop("workers", 0), listeners=[self._listen], **how
        )
        self.journal = done.journal.path
        self.tape_in_header = done.journal.header.options.get("tape")
        return {record.case.id: record for record in done.journal.records()}

    def _listen(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.notices.append(event.message)

    def recorded(self, agent: str = "ask", rules: object = RULES, **how: Any) -> dict[str, CaseRecord]:
        """Record with a scripted model, which is gone afterwards."""
        with serve(rules) as model:
            self._environ.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
            try:
                return self.run("record", agent, **how)
            finally:
                self._environ.delenv("OPENAI_BASE_URL")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


def statuses(records: dict[str, CaseRecord]) -> dict[str, CaseStatus]:
    return {case: record.verdict.status for case, record in records.items()}


def error(record: CaseRecord) -> str:
    assert record.trace.error is not None
    return f"{record.trace.error.kind}: {record.trace.error.message}"


PASS, ERROR = CaseStatus.PASS, CaseStatus.ERROR


def test_a_replay_gives_the_same_answers_without_the_model(project: Project) -> None:
    live = project.recorded()
    again = project.run("replay")
    assert statuses(live) == statuses(again) == {"balance": PASS, "hello": PASS}
    assert [live[case].trace.final_message for case in live] == [again[case].trace.final_message for case in live]
    assert "sk-very-secret-key" not in project.tape.read_text()


@pytest.mark.parametrize("agent", ["ask", "stream"])
def test_no_secret_is_on_the_tape(agent: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a stream has it in pieces."""
    monkeypatch.setenv("SHOP_API_KEY", "tops3cret-value")
    case = {"id": "a", "prompt": "Is tops3cret-value my key?", "expected": {"must_say_any": ["removed"]}}
    project.write({"carob": 1, "cases": [case]})
    project.recorded(agent, rules={"rules": [{"when": {"user": "key"}, "say": "Yes, it is tops3cret-value."}]})
    tape = project.tape.read_text()
    (exchange,) = read_tape(project.tape).exchanges
    assert not [piece for piece in ("tops3cret-value", "tops3cret", "-value", "alue.") if piece in tape]
    assert "Is [removed] my key?" in exchange.request.gist
    assert "[removed]" in tape.partition("answer:")[2]
    assert statuses(project.run("replay", agent)) == {"a": PASS}


def test_a_replay_is_marked_and_judges_no_time(project: Project) -> None:
    project.recorded()
    records = project.run("replay")
    assert not [check for check in records["balance"].verdict.checks if check.name == "max_seconds"]
    (notice,) = [line for line in project.notices if "replayed" in line]
    assert notice.startswith("replayed from bank.tape.yaml; 1 time budget not judged; placeholders are set")
    assert project.tape_in_header == {
        "mode": "replay",
        "file": "bank.tape.yaml",
        "sha256": read_tape(project.tape).digest,
    }


def test_every_report_says_from_which_tape_a_run_was_replayed(project: Project) -> None:
    project.recorded()
    kinds = ("markdown", "json", "junit", "html")
    for tape, said in (("replay", "replayed from the tape bank.tape.yaml"), (None, "")):
        with serve(RULES) as model, pytest.MonkeyPatch.context() as environ:
            environ.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
            project.run(tape, reports=[f"{kind}={kind}-{tape}" for kind in kinds])
        for kind in kinds:
            text = (project.folder / f"{kind}-{tape}").read_text().lower()
            assert (said in text, "replayed" in text) == (True, bool(said)), kind


def test_a_recorded_run_judges_time(project: Project) -> None:
    assert [c for c in project.recorded()["balance"].verdict.checks if c.name == "max_seconds"]


def test_equal_requests_are_answered_in_their_order(project: Project) -> None:
    live = project.recorded("ask_twice")
    assert live["hello"].trace.final_message == "scripted-3 scripted-4"
    assert project.run("replay", "ask_twice")["hello"].trace.final_message == "scripted-3 scripted-4"


def test_a_request_that_is_sent_too_often_is_a_miss(project: Project) -> None:
    project.recorded("ask_twice")
    record = project.run("replay", "ask_for_ever")["hello"]
    assert record.verdict.status is ERROR
    assert "tape-miss: the request was sent more often than it was recorded (2 times): request 3" in error(record)


def test_a_changed_prompt_misses_everywhere_for_one_cause(project: Project) -> None:
    project.recorded()
    records = project.run("replay", "ask_with_new_prompt")
    assert statuses(records) == {"balance": ERROR, "hello": ERROR}
    assert "tape-miss: $.messages[0].content changed (the system message): request 1 (POST openai" in error(
        records["hello"]
    )
    (grouped,) = [line for line in project.notices if "not on the tape" in line]
    assert "(the system message): 2 cases" in grouped
    assert grouped.endswith("(recorded: You are a bank.; asked: You are a friendly bank.)")
    assert grouped.isprintable()


def test_an_agent_that_swallows_a_miss_is_not_judged(project: Project) -> None:
    project.recorded()
    records = project.run("replay", "ask_and_swallow")
    assert statuses(records) == {"balance": ERROR, "hello": ERROR}
    assert "tape-miss: $.messages[0].content changed" in error(records["hello"])


def test_a_changed_prompt_can_be_followed_by_position(project: Project) -> None:
    project.recorded()
    assert statuses(project.run("follow", "ask_with_new_prompt")) == {"balance": PASS, "hello": PASS}


def test_what_is_missing_is_added_and_the_rest_is_kept(project: Project) -> None:
    project.recorded()
    before = read_tape(project.tape).runs
    project.write(
        {**SUITE, "cases": [*SUITE["cases"], {"id": "new", "prompt": "New!", "expected": {"must_say_any": ["day"]}}]}
    )  # type: ignore[misc]  # the literal above is known
    assert error(project.run("replay")["new"]).startswith("tape-miss: the case is not on the tape")
    with serve(RULES) as model, pytest.MonkeyPatch.context() as environ:
        environ.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        project.run("extend")
        assert len(model.requests) == 1
    assert read_tape(project.tape).runs.items() >= before.items()
    assert statuses(project.run("replay")) == {"balance": PASS, "hello": PASS, "new": PASS}


def test_a_failure_is_not_recorded_unless_asked_for(project: Project) -> None:
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": "flaky", "expected": {"must_say_any": ["Good day"]}}]}
    project.write(suite)
    project.recorded()
    assert [exchange.answer.status for exchange in read_tape(project.tape).exchanges] == [200]
    project.write(suite, "[tape]\nkeep_failures = true\n")
    project.recorded()
    assert [exchange.answer.status for exchange in read_tape(project.tape).exchanges] == [429, 200]
    assert statuses(project.run("replay")) == {"a": PASS}


def test_streams_are_replayed_byte_for_byte(project: Project) -> None:
    live = project.recorded("stream")["hello"].trace.final_message
    assert live.count("data:") > 3
    assert project.run("replay", "stream")["hello"].trace.final_message == live
    assert len(read_tape(project.tape).runs["hello", 0][0].answer.events) > 3


def test_an_agent_that_ignores_the_tape_is_not_replayed(project: Project) -> None:
    project.recorded()
    records = project.run("replay", "ask_nobody")
    assert statuses(records) == {"balance": ERROR, "hello": ERROR}
    assert error(records["balance"]).startswith("tape-unused: the tape has recordings of this case")


def test_a_tape_without_any_request_is_refused(project: Project) -> None:
    project.recorded("ask_nobody")
    assert "balance: the agent sent nothing to the tape" in project.notices
    assert not project.tape.exists()
    Tape(path=project.tape, runs={("balance", 0): []}).write()
    with pytest.raises(ConfigError, match="the tape contains no request"):
        project.run("replay", "ask_nobody")


def test_a_run_that_sends_nothing_leaves_a_good_tape_as_it_was(project: Project) -> None:
    project.recorded()
    before = project.tape.read_bytes()
    records = project.recorded("ask_nobody")
    assert statuses(records) == {"balance": ERROR, "hello": ERROR}
    assert (
        "tape-unused: the tape has recordings of this case, and the agent sent nothing to the tape: what is"
        in error(records["hello"])
    )
    assert project.tape.read_bytes() == before


def test_a_run_whose_model_fails_leaves_a_good_tape_as_it_was(project: Project) -> None:
    project.recorded()
    before = project.tape.read_bytes()
    project.recorded(rules={"rules": [{"when": {"user": "."}, "status": 500}]})
    assert project.tape.read_bytes() == before


def test_an_expected_404_is_on_the_tape(project: Project) -> None:
    project.write({"carob": 1, "cases": [{"id": "a", "prompt": "none", "expected": {"must_say_any": ["cannot"]}}]})
    rules = {"rules": [{"when": {"user": "none"}, "status": 404}]}
    assert statuses(project.recorded("give_up", rules=rules)) == {"a": PASS}
    assert [exchange.answer.status for exchange in read_tape(project.tape).exchanges] == [404]
    assert statuses(project.run("replay", "give_up")) == {"a": PASS}


def test_no_request_leaves_the_machine_in_a_replay(project: Project) -> None:
    project.recorded()
    answer = project.run("replay", "go_elsewhere")["hello"].trace.final_message
    assert answer == "refused: 421 Good day."


def test_recordings_that_were_not_used_are_reported(project: Project) -> None:
    project.recorded("ask_twice")
    project.run("replay", "stream")
    project.recorded("ask")
    project.tape.write_text(project.tape.read_text())
    assert not [line for line in project.notices if "not used" in line]
    project.recorded("ask_twice")
    project.run("follow", "ask")
    assert "hello: 1 recording not used" in project.notices


def test_each_repeat_has_recordings_of_its_own(project: Project) -> None:
    project.recorded(repeat=2)
    assert set(read_tape(project.tape).runs) == {(c, n) for c in ("balance", "hello") for n in (0, 1)}
    records = project.run("replay", repeat=3, cases=["hello"])
    assert records["hello"].verdict.status is ERROR, "the third run was not recorded"


def test_only_what_was_run_is_recorded_anew(project: Project) -> None:
    project.recorded()
    before = read_tape(project.tape).runs["hello", 0]
    project.recorded(cases=["balance"])
    assert read_tape(project.tape).runs["hello", 0] == before


def test_what_is_ignored_does_not_count(project: Project) -> None:
    project.recorded()
    project.write(SUITE, '[tape]\nignore = ["$.messages[0].content"]\n')
    assert statuses(project.run("replay", "ask_with_new_prompt")) == {"balance": PASS, "hello": PASS}


def test_a_named_service_is_on_the_tape_and_a_live_one_is_not(project: Project) -> None:
    with serve(RULES) as other:
        config = f'[tape.services.shop]\nurl = "{other.url}"\nenv = ["OPENAI_BASE_URL"]\n'
        project.write(SUITE, config.replace(other.url, f"{other.url}/v1"))
        project.run("record")
        assert {exchange.request.service for exchange in read_tape(project.tape).exchanges} == {"shop"}
        asked = len(other.requests)
        project.run("replay")
        assert len(other.requests) == asked
        project.write(SUITE, f'[tape]\nlive = ["shop"]\n{config.replace(other.url, f"{other.url}/v1")}')
        records = project.run("replay")
        assert len(other.requests) > asked
        assert error(records["hello"]).startswith("tape-unused")


def commanded(project: Project, cases: int) -> None:
    asked = [
        {"id": f"c{n}", "prompt": f"What is the balance of N{n}?", "expected": {"must_say_any": ["12.50"]}}
        for n in range(cases)
    ]
    project.write({"carob": 1, "cases": asked})
    target = f"command:{sys.executable} -S {HERE / 'agents.py'}"
    live = project.recorded(target=target, concurrency=20, workers=1)
    again = project.run("replay", target=target, concurrency=20, workers=1)
    assert [str(record.trace.error) for record in (*live.values(), *again.values()) if record.trace.error] == []
    assert statuses(live) == statuses(again) == {f"c{n}": PASS for n in range(cases)}
    assert [record.trace.final_message for record in live.values()] == [
        record.trace.final_message for record in again.values()
    ]


def test_cases_side_by_side_are_kept_apart_by_their_address(project: Project) -> None:
    commanded(project, 20)


@pytest.mark.thorough
def test_two_hundred_cases_side_by_side(project: Project) -> None:
    commanded(project, 200)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        pytest.param({"repeat": "auto"}, "--repeat auto", id="repeat-auto"),
        pytest.param({"target": lambda prompt: "Good day."}, "that is an object cannot have a tape", id="object"),
    ],
)
def test_what_cannot_be_replayed_is_refused(project: Project, how: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        project.run("replay", **how)


def test_an_agent_that_runs_already_needs_a_port(project: Project) -> None:
    project.recorded()
    with pytest.raises(ConfigError, match=r"already running.*Let Carob start it .*, or set `port` and `token`"):
        project.run("replay", target="http://127.0.0.1:9/chat", workers=1)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_address_of_the_tape_itself_is_not_that_of_a_service(host: str) -> None:
    """A shell may export for Carob what is meant for the agent that runs already."""
    settings = TapeSettings(port=8765, token="t")
    for configured, address in (
        (f"http://{host}:8765/t/openai/v1", "https://api.openai.com"),
        ("http://h/v1", "http://h"),
    ):
        known = {service.name: where for service, where in settings.known_services({"OPENAI_BASE_URL": configured})}
        assert known["openai"] == address


def test_a_missing_tape_is_refused_before_anything_runs(project: Project) -> None:
    with pytest.raises(ConfigError, match="Record it with --tape record"):
        project.run("replay")


def test_live_and_replayed_runs_are_not_compared_unless_asked(project: Project) -> None:
    project.recorded(results_dir="live")
    live = project.journal
    project.run("replay", results_dir="replayed")
    with pytest.raises(UsageError, match=r"a live run and the new one a replayed run.*--mix-tapes"):
        carob.compare_runs(live, project.journal)
    assert carob.compare_runs(live, project.journal, mix_tapes=True).differs == ("tape: not set → replay",)
    first = project.journal
    project.run("replay", results_dir="again")
    assert carob.compare_runs(first, project.journal).differs == ()


@pytest.mark.parametrize(
    ("recorded", "asked", "hint"),
    [
        ("It is 2026-11-18T09:14:23.183Z.", "It is 2026-12-01T10:00:00.5Z.", True),
        ("id 3f2a-77b1", "id 9c00-1de4", True),
        ("You are a bank.", "You are a friendly bank.", False),
        ("It is 2026-11-18.", "It is late.", False),
    ],
)
def test_a_miss_by_a_date_or_an_id_says_how_to_leave_it_out(
    tmp_path: Path, recorded: str, asked: str, hint: bool
) -> None:
    def request(text: str) -> ServiceRequest:
        body = json.dumps({"messages": [{"role": "tool", "content": text}]}).encode()
        return ServiceRequest.of("openai", "POST", "/v1/chat/completions", "application/json", body)

    exchange = Exchange(case="a", request=request(recorded), answer=Answer(200))
    tape = Tape(path=tmp_path / "t.tape.yaml", runs={("a", 0): [exchange]})
    player = TapePlayer(tape, "replay", IgnoreRules(), SecretKeeper([]))
    case = player.begin("a", 0)
    assert player.answer(request(asked), case) is None
    assert ("`ignore` in [tape]" in case.misses[0].detail) is hint
