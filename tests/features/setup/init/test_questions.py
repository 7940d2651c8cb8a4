"""What `carob init` asks in a terminal, and what it does not do before it was answered."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import click
import pytest

from carob.cli import main
from cli.support import Carob, write

AGENT = """\
from pathlib import Path

Path("imported").touch()


def answer(prompt):
    return "Which order do you mean?"
"""


class Person:
    """Answers questions one after the other; a question that was not expected fails."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def answer(self, text: str, **_: object) -> object:
        assert not Path("carob.toml").exists(), "it is asked before anything is written"
        self.asked.append(text)
        return self.answers.pop(0)


@pytest.fixture(autouse=True)
def folder(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("agent.py").unlink()
    monkeypatch.setattr(main, "run", lambda words, go=main.run: go([*words, *["--workers", "0"] * (words[0] == "run")]))


def talk(carob: Carob, monkeypatch: pytest.MonkeyPatch, person: Person, *arguments: str) -> str:
    monkeypatch.setattr(click, "prompt", person.answer)
    monkeypatch.setattr(click, "confirm", person.answer)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    done = carob("init", *arguments)
    assert done.code == 0, done
    assert not person.answers
    return done.out


@pytest.mark.parametrize(
    ("files", "answers", "imported"),
    [
        pytest.param(("a.py", "b.py"), (2, True, "Where is it? | Hi", True), True, id="all-four"),
        pytest.param(("a.py",), (True, "", True), True, id="one-agent"),
        pytest.param(("a.py",), (False, True), False, id="not-asked"),
        pytest.param(("a.py", "b.py"), (0, True), False, id="none-of-them"),
        pytest.param(("b/c.txt",), ("fill it in later", True), False, id="nothing-found"),
        pytest.param(("d.txt",), ("python:d.txt:answer", False, True), False, id="named"),
    ],
)
def test_at_most_four_questions(
    carob: Carob, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], answers: tuple[object, ...], imported: bool
) -> None:
    for file in files:
        write(file, AGENT)
    person = Person(*answers)
    talk(carob, monkeypatch, person)
    assert len(person.asked) == len(answers) <= 4
    assert Path("imported").exists() == imported
    assert Path("carob.toml").exists()
    assert ('use = "python:b.py:answer"' in Path("carob.toml").read_text()) == (len(answers) == 4)


def test_what_is_not_wanted_is_not_written(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    write("agent.py", AGENT)
    before = sorted(Path().rglob("*"))
    assert "Nothing was written." in talk(carob, monkeypatch, Person(False, False))
    assert sorted(Path().rglob("*")) == before


def test_the_address_is_named_before_it_is_asked(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    write("main.py", "from fastapi import FastAPI\napp = FastAPI()\n@app.post('/chat')\ndef f(m): ...\n")
    write(".env", "PORT=1\n")
    person = Person(False, True)
    monkeypatch.setattr(socket, "create_connection", None)
    talk(carob, monkeypatch, person)
    assert "http://127.0.0.1:1/chat" in person.asked[0]


@pytest.mark.parametrize("arguments", [(), ("--no-ask", "--yes"), ("--no-ask",)], ids=" ".join)
def test_nothing_is_loaded_without_agreement(carob: Carob, arguments: tuple[str, ...]) -> None:
    write("agent.py", AGENT)
    done = carob("init", *arguments)
    assert not Path("imported").exists()
    assert Path("carob.toml").exists() == ("--yes" in arguments)
    assert (done.code, "Add --yes" in done.err) == ((0, False) if "--yes" in arguments else (4, True))


@pytest.mark.parametrize("allowed", [True, False])
def test_prompts_are_sent_only_where_tools_may_act(carob: Carob, allowed: bool) -> None:
    write("agent.py", "def answer(prompt):\n    with open('sent', 'a') as out: out.write(prompt)\n    return 'Done.'\n")
    done = carob("init", "--yes", "--prompt", "Delete it all.", *["--allow-effects"] * allowed)
    assert ("Delete it all." in Path("sent").read_text()) == allowed
    assert ("no suite was drafted. Carob cannot stub the tools" in done.out) == (not allowed)
    assert "Delete it all." in Path("answer.carob.yaml").read_text()


def test_an_address_elsewhere_is_never_asked(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", None)
    write(".env", "OPENAI_BASE_URL=https://models.example/v1\nOPENAI_MODEL=gpt-5-mini\n")
    done = carob("init", "--yes")
    assert done.code == 0
    assert "https://models.example/v1 is not on this machine, so it was not asked." in done.out
    config = Path("carob.toml").read_text()
    assert 'target = "model"' in config
    assert 'headers = { Authorization = "Bearer ${OPENAI_API_KEY}" }' in config


def test_a_target_that_is_none(carob: Carob) -> None:
    done = carob("init", "--yes", "--target", "agent.py")
    assert (done.code, done.out.count("+++")) == (4, 0)
    assert done.err == (
        "carob: 'agent.py' is not a target. Write it as python:agent.py:answer, langgraph:graph.py:graph, "
        "command:./agent or http://127.0.0.1:8000/chat. [unknown-target]\n"
    )


def test_a_suite_that_is_there_and_broken_is_kept(carob: Carob) -> None:
    write("first.carob.yaml", "carob: 1\ncases: [{id: a}]\n")
    done = carob("init", "--yes")
    assert "first.carob.yaml exists, but cannot be read as a suite" in done.out
    assert Path("first.carob.yaml").read_text() == "carob: 1\ncases: [{id: a}]\n"
    assert (done.code, Path("carob.toml").exists()) == (4, True)  # the suite is checked, and is still broken


def test_an_agent_that_breaks_is_reported_in_one_line(carob: Carob) -> None:
    write("agent.py", "raise RuntimeError('no key')\ndef answer(prompt): return 'x'\n")
    done = carob("init", "--yes")
    assert (done.code, done.err) == (0, "")
    (note,) = [line for line in done.out.splitlines() if line.startswith("note: ")]
    assert "RuntimeError: no key" in note
    assert "# Not tried: " in Path("carob.toml").read_text()


def test_the_example_has_a_bug_that_one_line_fixes(carob: Carob) -> None:
    first = carob("init", "--example", "--yes")
    assert first.code == 1
    assert first.statuses == {"asks-for-the-order": "PASS", "refunds-an-order": "PASS", "card-has-expired": "FAIL"}
    assert "it claims 'refunded': no call to issue_refund succeeded" in first.out
    code = Path("desk.py").read_text()
    Path("desk.py").write_text(code.replace('if "error" in refund:', 'if refund["status"] != "paid":'))
    assert carob("run", "desk.carob.yaml", "--workers", "1").code == 0
    assert carob("lint", "desk.carob.yaml").code == 0
    again = carob("init", "--example", "--yes")
    assert (again.code, "Nothing to write" in again.out) == (0, True)
    flaky = carob("run", "desk.carob.yaml", "-t", "flaky", "--repeat", "20", "--workers", "1")
    assert "FAIL     refunds-an-order" in flaky.out


def test_the_example_does_not_mix_with_files_of_its_names(carob: Carob) -> None:
    write("desk.py", "mine")
    done = carob("init", "--example", "--yes")
    assert (done.code, done.err) == (
        4,
        "carob: desk.py: it already exists, and the example has a file of that name. "
        "Run `carob init --example` in an empty folder. [usage]\n",
    )
    assert [path.name for path in Path().iterdir()] == ["desk.py"]
