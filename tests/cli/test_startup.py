"""What starting Carob loads, opens, writes and reads: as little as there is to it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cli.support import eval_set, write

HEAVY = ("asyncio", "jiter", "msgspec", "pydantic", "pydantic_core", "regex", "rich", "yaml")
QUICK = {"cli", "errors", "features", "options", "plugins", "suites", "system", "text", "version"}
"""The rooms of Carob that a command may load which runs nothing."""

LOADED = """
import json, sys
from carob.cli.main import run
code = run(json.loads(sys.argv[1]))
print(json.dumps([code, sorted(sys.modules)]))
"""

GUARDED = """
import carob, json, sys
guard = carob.Guard("policy.yaml")
with guard.conversation():
    made = bool(guard.allow("pay", {"id": 1}))
print(json.dumps([made, sorted(sys.modules)]))
"""

WATCHED = """
import json, sys

seen = []


def hook(event, args):
    if event == "open":
        path, mode, flags = args
        writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (mode is None and flags & 3)
        seen.append(["write" if writes else "read", str(path)])
    elif event.startswith(("socket.", "subprocess.", "os.mkdir", "os.rename", "os.remove", "os.system", "shutil.")):
        seen.append([event, repr(args)])


sys.addaudithook(hook)
exec(sys.argv[1])
print(json.dumps([seen, sorted(sys.modules)]))
"""


def python(code: str, *arguments: str) -> Any:
    """What a Python of its own prints last, as JSON. It writes no bytecode: that is Python's doing, not ours."""
    command = [sys.executable, "-B", "-c", code, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["run", "--list", "suite.json"], ["--help"], ["run", "--list", "--help"], ["run", "--help"]],
    ids=" ".join,
)
def test_quick_commands_load_nothing_heavy(arguments: list[str]) -> None:
    write("suite.json", eval_set())
    code, modules = python(LOADED, json.dumps(arguments))
    assert code == 0
    assert "click" in modules
    assert not {name for name in HEAVY if name in modules}
    assert {name.split(".")[1] for name in modules if name.startswith("carob.")} <= QUICK
    of_features = {name for name in modules if name.startswith("carob.features.") and name.count(".") > 2}
    assert {name.rpartition(".")[2] for name in of_features} <= {"feature"}


def loaded(modules: list[str]) -> list[str]:
    """Those of Carob."""
    return [name for name in modules if name.split(".")[0] == "carob"]


def test_a_run_and_its_rescore_load_what_one_case_needs() -> None:
    write("agent.py", "def answer(prompt): return prompt")
    write("suite.yaml", "carob: 1\ncases: [{id: a, prompt: hi, expected: {must_say_any: [hi]}}]")
    code, modules = python(LOADED, json.dumps(["run", "suite.yaml", "--target", "python:agent:answer"]))
    assert (code, len(loaded(modules)) <= 200) == (0, True), loaded(modules)
    [journal] = Path("carob-results").glob("*.jsonl")
    code, modules = python(LOADED, json.dumps(["rescore", str(journal)]))
    assert (code, len(loaded(modules)) <= 140) == (0, True), loaded(modules)


def test_a_guard_loads_what_its_rules_need() -> None:
    write("policy.yaml", "carob: 1\nrules: [{id: once, each: {call: pay}, at_most: 1, why: Pay once.}]")
    decide = (
        "guard = carob.Guard('policy.yaml')\nwith guard.conversation(): made = bool(guard.allow('pay', {'id': 1}))\n"
    )
    code = f"import carob, json, sys\n{decide}print(json.dumps([made, sorted(sys.modules)]))"
    made, modules = python(code)
    assert (made, len(loaded(modules)) <= 80) == (True, True), loaded(modules)


def test_checks_and_targets_load_what_few_of_them_need_when_they_need_it() -> None:
    modules = python("import json, sys, carob.api, carob.targets.python; print(json.dumps(sorted(sys.modules)))")
    assert "carob.checks.catalog" in modules
    assert not {"importlib.metadata", "http.client", "email"} & {*modules}


@pytest.mark.parametrize("name", [*HEAVY, *(f"carob.{room}" for room in sorted(QUICK))])
def test_what_is_guarded_exists(name: str) -> None:
    assert find_spec(name)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with what Carob must not read on its own."""
    for name in (".env", "carob.toml", "pyproject.toml"):
        write(name, "this is not for you")


@pytest.mark.usefixtures("home")
def test_importing_carob_opens_no_socket_writes_nothing_and_reads_no_dotenv() -> None:
    events, modules = python(WATCHED, "import carob")
    assert [entry for entry in events if entry[0] != "read"] == []
    mine = [Path(path) for kind, path in events if kind == "read"]
    assert {path.suffix for path in mine} <= {".py", ".pyc", ".pyi", ".pth", ".so"}
    assert not {path.name for path in mine} & {".env", "carob.toml", "pyproject.toml"}
    assert not {name for name in (*HEAVY, "click", "socket") if name in modules}


@pytest.mark.usefixtures("home")
def test_using_every_public_name_is_as_quiet() -> None:
    events, modules = python(WATCHED, "import carob; [getattr(carob, name) for name in carob.__all__]")
    assert [entry for entry in events if entry[0] != "read"] == []
    assert not {Path(path).name for kind, path in events if kind == "read"} & {".env", "carob.toml", "pyproject.toml"}
    assert "carob.api" in modules
    assert not {name for name in ("rich", "click", "yaml") if name in modules}


def test_the_hook_sees_what_it_is_there_to_see() -> None:
    code = "import socket; open('x', 'w').close(); open('.env').read(); socket.socket(socket.AF_UNIX).close()"
    write(".env", "A=1")
    events, _ = python(WATCHED, code)
    assert ["write", "x"] in events
    assert ["read", ".env"] in events
    assert any(event == "socket.__new__" for event, _ in events)
