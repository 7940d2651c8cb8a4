"""Secrets in the target, the prompts and the expectations: written nowhere, and nothing is judged by what is left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.support import Carob, case, eval_set, journal_of, program, results, traces, write

SECRET = "sk-super'secret\\42"
USER_INFO = "https://bob:hunter2@host/"
OTHER = "judge by the suite, with --suite"


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYTOK", SECRET)
    write("carob.toml", 'secrets = ["MYTOK"]\n')


def told(case_id: str = "A", **expected: Any) -> dict[str, Any]:
    """A case that holds the secret wherever a case can."""
    return case(
        case_id,
        prompt=f"use {SECRET}",
        setup_prompts=[f"my key is {SECRET}"],
        preconditions=[f"{SECRET} is valid"],
        metadata={"key": SECRET, SECRET: 1},
        expected=expected or {"must_say_any": ["hello"], "must_not_say": [SECRET]},
    )


def written(folder: str = "carob-results") -> bytes:
    return b"".join(path.read_bytes() for paths in results(folder).values() for path in paths)


def hidden(content: bytes, *more: str) -> bool:
    spelled = {SECRET, json.dumps(SECRET)[1:-1], json.dumps(json.dumps(SECRET))[3:-3], repr(SECRET)[1:-1], *more}
    return not any(form.encode() in content for form in spelled)


def checks(folder: str = "carob-results") -> dict[str, Any]:
    (judged_checks,) = json.loads(results(folder)[".json"][-1].read_bytes())["cases"]
    return {check["name"]: check | {"status": how} for how, them in judged_checks["checks"].items() for check in them}


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("workers", ["0", "1"])
def test_it_is_written_nowhere(carob: Carob, workers: str) -> None:
    agent = program()
    suite = write("suite.json", eval_set(told("A", must_say_any=[SECRET], must_match_regex=["'secret.{3}"])))
    ran = carob("run", suite, "-t", f'{agent} --key "{SECRET}"', "--workers", workers)
    assert ran.statuses == {"A": "PASS"}
    assert hidden(written(), "secret\\\\42")
    assert hidden(ran.out.encode() + ran.err.encode())
    head = json.loads(journal_of().read_text().splitlines()[0])
    assert head["target"] == f'{agent} --key "[removed]"'
    assert checks()["must_match_regex"]["found"] == "[removed]"
    assert checks()["must_match_regex"]["at"] == {"channel": "final_message"}


def test_user_info_needs_no_configuration(carob: Carob) -> None:
    suite = write("suite.json", eval_set(case(prompt=f"open {USER_INFO}", expected={"must_say_any": [USER_INFO]})))
    assert carob("run", suite, "-t", "python:agent.py:greet").statuses == {"A": "PASS"}
    assert b"hunter2" not in written()
    assert json.loads(results()[".json"][0].read_bytes())["cases"][0]["prompt"] == "open https://[removed]@host/"


@pytest.mark.usefixtures("secret")
def test_a_suite_whose_path_is_secret(carob: Carob) -> None:
    suite = write("sk-super'secret\\42/suite.json", eval_set())
    carob("run", suite, "-t", "python:agent.py:greet", "--results-dir", "out")
    assert hidden(written("out"))
    ran = carob("run", "--resume", str(journal_of("out")))
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert "name it with --suite" in ran.err
    assert carob("run", "--resume", str(journal_of("out")), "--suite", suite).code == 0


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("command", ["--resume", "--failed"])
def test_going_on_needs_the_target_again(carob: Carob, command: str) -> None:
    target = f'{program()} --key "{SECRET}"'
    suite = write("suite.json", eval_set(told("A"), told("B", must_say_any=["hello"])))
    carob("run", suite, "-t", target, "--results-dir", "first")
    journal = str(journal_of("first"))
    ran = carob("run", command, journal)
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert "the target contains a secret, which is not in the journal. Give it with --target" in ran.err
    ran = carob("run", command, journal, "-t", target, "--results-dir", "again")
    assert f"kept {1 + (command == '--resume')} finished case" in ran.err
    assert hidden(written("again"))


@pytest.fixture
def recorded(carob: Carob, secret: None) -> str:
    """An agent that leaks the key: A expects to hear of it, and of something else."""
    expected = {"must_say_any": ["removed"], "must_not_say": [SECRET], "must_match_regex": ["^hello"]}
    write("suite.json", eval_set(told("A", **expected)))
    write("leak.py", f"def ask(prompt):\n    return 'hello ' + {SECRET!r}\n")
    ran = carob("run", "suite.json", "-t", "python:leak.py:ask", "--results-dir", "first")
    assert ran.statuses == {"A": "FAIL"}
    return str(journal_of("first"))


def test_judged_again_by_what_is_left(carob: Carob, recorded: str) -> None:
    ran = carob("rescore", recorded)
    assert ran.statuses == {"A": "PARTIAL"}
    judged_checks = checks()
    assert {name: check["status"] for name, check in judged_checks.items()} == {
        "outcome": "passed",
        "must_say_any": "unknown",
        "must_not_say": "unknown",
        "must_match_regex": "passed",
    }
    assert judged_checks["must_not_say"]["found"].endswith(OTHER)


def test_judged_again_by_the_suite(carob: Carob, recorded: str) -> None:
    ran = carob("rescore", recorded, "--suite", "suite.json")
    assert ran.statuses == {"A": "PARTIAL"}
    assert checks()["must_not_say"]["found"] == "secrets were removed"
    assert hidden(written())
    assert carob("rescore", str(journal_of())).statuses == {"A": "PARTIAL"}


@pytest.mark.parametrize(
    ("value", "prompt"),
    [
        pytest.param(None, f"use {SECRET}", id="not-set"),
        pytest.param(SECRET, f"take {SECRET}", id="another-prompt"),
    ],
)
def test_a_prompt_that_cannot_be_compared(
    carob: Carob, recorded: str, monkeypatch: pytest.MonkeyPatch, value: str | None, prompt: str
) -> None:
    if value is None:
        monkeypatch.delenv("MYTOK")
    write("today.json", eval_set({**told("A"), "prompt": prompt}))
    ran = carob("rescore", recorded, "--suite", "today.json")
    assert ran.statuses == {"A": "ERROR"}
    assert "a secret was redacted from the recorded prompt, so it cannot be compared" in ran.out


def test_a_suite_that_speaks_of_the_mark(carob: Carob) -> None:
    write("suite.json", eval_set(case(expected={"must_say_any": ["[removed]"]})))
    carob("run", "suite.json", "-t", traces(A="It was [removed]."), "--results-dir", "first")
    assert carob("rescore", str(journal_of("first"))).statuses == {"A": "PASS"}
