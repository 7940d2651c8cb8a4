"""What strangers may hand over, file by file: one clear line, the right exit code, and not a byte written."""

from __future__ import annotations

import json
import os
import socketserver
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cli.support import Carob, Ran

GOOD = '{"carob": 1, "cases": [{"id": "a", "prompt": "hello", "expected": {"must_say_any": ["hello"]}}]}'
BOMB = "x0: &x0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
"""Twelve lines of aliases that stand for 9 ** 12 values."""
EXPANDS = "the aliases of this file expand to too much"
TOO_MUCH = "the variables of this file stand for too much text"
OUTSIDE = "is outside the project of the suite"
ANSWER = '{"case_id": "a", "final_message": "hello"}\n'
TAPED = """carob_tape: 1
exchanges:
  - case: a
    request: {service: openai, method: POST, path: /v1/chat/completions, content_type: application/json, json: {}}
    reply: {status: 200, content_type: application/json, json: {}}
"""


class Hostile(NamedTuple):
    """Files, the command that is handed them, and words of its one line."""

    files: Mapping[str, str | bytes]
    says: str
    command: str = "lint --errors-only s.yaml"
    code: int = 4


def suite(**case: Any) -> dict[str, str]:
    whole = {"id": "a", "prompt": "hello", "expected": {"must_say_any": ["hello"]}, **case}
    return {"s.yaml": json.dumps({"carob": 1, "cases": [whole]})}


def each(name: str) -> dict[str, str]:
    return suite(id="{q}", prompt="{q}", each=name)


def grounded_in(name: str) -> dict[str, str]:
    return suite(expected={"grounded_numbers": True, "grounded_in": [name]})


def promptfoo(says: str, **changed: Any) -> Hostile:
    tests = [{"vars": {"x": "hello"}, "assert": [{"type": "contains", "value": "hello"}]}]
    config = {"prompts": ["Say {{x}}"], "providers": ["echo"], "tests": tests, **changed}
    return Hostile({"promptfooconfig.yaml": json.dumps(config)}, says, "lint --errors-only promptfooconfig.yaml")


def asserted(says: str, **changed: Any) -> Hostile:
    assertion = {"type": "contains", "value": "hello", **changed}
    return promptfoo(says, tests=[{"vars": {"x": "hello"}, "assert": [assertion]}])


def pydantic(says: str, **changed: Any) -> Hostile:
    case = {"name": "a", "inputs": "hello", "evaluators": [{"Equals": "hello"}], **changed}
    return Hostile({"evals.yaml": json.dumps({"cases": [case]})}, says, "lint --errors-only evals.yaml")


def adk(says: str, conversation: object) -> Hostile:
    tree = {"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": conversation}]}
    return Hostile({"x.evalset.json": json.dumps(tree)}, says, "lint --errors-only x.evalset.json")


def tape(says: str, data: str | bytes, command: str = "show") -> Hostile:
    return Hostile({"s.tape.yaml": data}, says, f"tape {command} s.tape.yaml")


def recording(says: str, data: str | bytes) -> Hostile:
    return Hostile({"s.json": GOOD, "r.jsonl": data}, says, "run s.json -t replay:r.jsonl")


HOSTILE = {
    # Wrong types at the places that importers read.
    "promptfoo-prompts-of-a-number": promptfoo("prompts", prompts=3),
    "promptfoo-tests-of-a-number": promptfoo("tests", tests=3),
    "promptfoo-test-of-a-number": promptfoo("tests[0]", tests=[3]),
    "promptfoo-vars-of-a-list": promptfoo("tests[0].vars", tests=[{"vars": ["x"]}]),
    "promptfoo-assert-of-a-number": promptfoo("tests[0].assert", tests=[{"vars": {"x": "y"}, "assert": 3}]),
    "promptfoo-type-of-a-list": asserted("assert[0]", type=["contains"]),
    "promptfoo-value-of-an-object": asserted("assert[0]", value={"a": 1}),
    "promptfoo-default-test-of-a-list": promptfoo("defaultTest", defaultTest=[3]),
    "pydantic-evaluator-of-a-number": pydantic("evaluators[0]", evaluators=[3]),
    "pydantic-evaluators-of-a-text": pydantic("evaluators", evaluators="Equals"),
    "adk-conversation-of-a-text": adk("conversation", "hello"),
    "adk-turn-of-a-number": adk("conversation[0]", [3]),
    # Aliases that stand for more than memory holds.
    "bomb-suite": Hostile({"s.yaml": BOMB + GOOD[1:-1]}, EXPANDS),
    "bomb-promptfoo": Hostile({"promptfooconfig.yaml": BOMB}, EXPANDS, "lint --errors-only promptfooconfig.yaml"),
    "bomb-tape": tape("it has YAML aliases", BOMB + TAPED),
    "bomb-tape-scan": tape("it has YAML aliases", BOMB + TAPED, "scan"),
    "bomb-rules": Hostile({**suite(), "rules.yaml": BOMB, "carob.toml": 'rules = ["rules.yaml"]'}, EXPANDS),
    "bomb-of-variables": Hostile(
        suite(vars={"v0": "x" * 99, **{f"v{n}": f"{{v{n - 1}}}" * 9 for n in range(1, 12)}}, prompt="{v11}"), TOO_MUCH
    ),
    "bomb-of-lists-in-variables": Hostile(
        suite(vars={"v0": ["x"], **{f"v{n}": [f"{{v{n - 1}}}"] * 9 for n in range(1, 12)}}, prompt="{v11}"), TOO_MUCH
    ),
    # Files that a suite has no business with.
    "each-by-a-link": Hostile(each("link.csv"), OUTSIDE),
    "each-by-a-linked-folder": Hostile(each("folder/secret.csv"), OUTSIDE),
    "each-by-dots": Hostile(each("../outside/secret.csv"), OUTSIDE),
    "each-by-an-absolute-path": Hostile(each("/etc/secret.csv"), OUTSIDE),
    "each-of-a-pipe": Hostile(each("pipe.csv"), "is not a regular file"),
    "grounded-in-by-a-link": Hostile(grounded_in("link.csv"), OUTSIDE),
    "grounded-in-by-dots": Hostile(grounded_in("../outside/secret.csv"), OUTSIDE),
    "grounded-in-of-a-device": Hostile(grounded_in("/dev/zero"), OUTSIDE),
    "promptfoo-prompts-by-dots": promptfoo("outside", prompts=["file://../outside/secret.csv"]),
    "promptfoo-tests-by-a-link": promptfoo("outside", tests="file://link.csv"),
    "suite-of-a-pipe": Hostile({}, "is not a regular file", "lint --errors-only pipe.csv"),
    "suite-of-a-device": Hostile({}, "is not a regular file", "lint --errors-only /dev/zero"),
    # Bytes that are none of what they are called.
    "tape-of-surrogates": tape("s.tape.yaml", TAPED.replace("json: {}}\n", 'text: "\\ud83d\\ude80"}\n')),
    "tape-of-a-list": tape("s.tape.yaml", "[1, 2]\n"),
    "tape-of-bytes": tape("s.tape.yaml", bytes(range(256))),
    "tape-of-a-number-for-exchanges": tape("exchanges", "carob_tape: 1\nexchanges: 3\ncases: {}\n"),
    "recording-of-a-list": recording("r.jsonl:1:1", "[1]\n"),
    "recording-nested-too-deeply": recording("r.jsonl:1:1", "[" * 100_000),
    "recording-of-bytes": recording("r.jsonl:1:1", bytes(range(128, 256))),
    "journal-of-bytes": Hostile({"run.jsonl": bytes(range(256))}, "run.jsonl", "report run.jsonl -f html"),
    "draft-of-white-space": Hostile({"r.jsonl": " \n\t\n"}, "there is no trace to draft from", "draft r.jsonl"),
    "draft-of-a-suite": Hostile({"s.yaml": GOOD}, "s.yaml", "draft s.yaml"),
    "configuration-of-bytes": Hostile({**suite(), "carob.toml": bytes(range(256))}, "carob.toml"),
}


def project_of(files: Mapping[str, str | bytes], folder: Path) -> Path:
    """A project with these files, beside a folder of someone else that links and a pipe in it lead to."""
    project, outside = folder / "project", folder / "outside"
    for made in (project, outside):
        made.mkdir()
    (outside / "secret.csv").write_text("q\nhello 42\n")
    (project / ".git").mkdir()
    os.symlink(outside / "secret.csv", project / "link.csv")
    os.symlink(outside, project / "folder")
    os.mkfifo(project / "pipe.csv")
    for name, data in files.items():
        (project / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return project


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def refused(carob: Carob, hostile: Hostile, folder: Path) -> Ran:
    """Hand it over: one line with a slug, nothing on stdout, and the folder as it was."""
    before = contents(folder)
    ran = carob(*hostile.command.split())
    assert (ran.code, ran.out) == (hostile.code, ""), ran
    assert len(ran.err.splitlines()) == 1, ran.err
    assert hostile.says in ran.err
    assert ran.err.rstrip().endswith("]"), ran.err
    assert contents(folder) == before
    return ran


@pytest.mark.limit(20)
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_it_is_refused_in_one_line(
    hostile: Hostile, carob: Carob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project_of(hostile.files, tmp_path))
    refused(carob, hostile, tmp_path)


def test_a_configuration_of_another_user(carob: Carob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if we were another user than the one who wrote it: a test may not be root."""
    project = project_of({**suite(), "carob.toml": "checks = {own = 'python:code.py:check'}"}, tmp_path)
    (project / "code.py").write_text("open('written', 'w')\n")
    monkeypatch.chdir(project)
    monkeypatch.setattr(os, "stat", _as_of_another(os.stat))
    refused(carob, Hostile({}, "it belongs to another user"), tmp_path)


def _as_of_another(stat: Any) -> Any:
    def owned(path: Any, **how: Any) -> os.stat_result:
        state = stat(path, **how)
        if not str(path).endswith("carob.toml"):
            return state
        return os.stat_result([*state[:4], os.geteuid() + 1, *state[5:]], {"st_mtime_ns": state.st_mtime_ns})

    return owned


@contextmanager
def service(reply: bytes) -> Iterator[str]:
    """Answers every request with these bytes."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.request.recv(1 << 16)
                self.wfile.write(reply)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


HEADS = {
    "long": b"x: " + b"y" * (8 << 20) + b"\r\n",
    "many": b"".join(b"x%d: y\r\n" % number for number in range(200_000)),
    "no-end": b"y" * (8 << 20),
}


@pytest.mark.limit(60)
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_service_with_a_huge_head(head: bytes, carob: Carob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project_of(suite(), tmp_path))
    with service(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n{}") as url:
        ran = carob("run", "s.yaml", "-t", url, "-o", 'body={"message": "{prompt}"}')
    assert (ran.code, ran.statuses) == (1, {"a": "ERROR"}), ran
    assert ran.err == ""
    assert len(ran.out) < 4_000


CROWD = """
import json, os, socket, sys, urllib.request
from urllib.parse import urlsplit
url = os.environ["OPENAI_BASE_URL"]
split = urlsplit(url)
crowd = [socket.create_connection((split.hostname, split.port)) for _ in range(300)]
sent = urllib.request.Request(f"{url}/chat/completions", b"{}", {"content-type": "application/json"})
print(json.dumps({"final_message": urllib.request.urlopen(sent, timeout=20).read().decode()}))
"""


@pytest.mark.limit(60)
def test_three_hundred_connections_of_strangers(carob: Carob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they fill up is not what the agent needs, which has the address with the token."""
    monkeypatch.chdir(project_of({**suite(), "crowd.py": CROWD}, tmp_path))
    body = b'{"said": "hello"}'
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    with service(f"{head}connection: close\r\n\r\n".encode() + body) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        ran = carob("run", "s.yaml", "-t", f"command:{sys.executable} crowd.py", "--tape", "record")
    assert (ran.code, ran.statuses) == (0, {"a": "PASS"}), ran


@pytest.mark.thorough
@pytest.mark.limit(300)
@pytest.mark.parametrize("ids", ["same", "own"])
def test_three_hundred_thousand_rows(ids: str, carob: Carob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = suite(id="{q}" if ids == "same" else "{n}-{q}", prompt="{q}", each="rows.csv")
    rows = "".join(f"hello,{number}\n" for number in range(300_000))
    monkeypatch.chdir(project_of({**case, "rows.csv": f"q,n\n{rows}"}, tmp_path))
    ran = carob("lint", "--errors-only", "s.yaml")
    if ids == "own":
        assert (ran.code, ran.out, ran.err) == (0, "s.yaml: carob-1 1, 300000 cases, 600000 checks\n", "")
    else:
        assert (ran.code, ran.out) == (4, "")
        assert [line.endswith("[duplicate-id]") for line in ran.err.splitlines()] == [True] * 4
        assert "and in 299996 more rows" in ran.err
