"""With a sandbox, writes outside of the workspace are prevented; those of bubblewrap itself are not seen."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import carob

AGENT = """\
#!/usr/bin/env python3
import json, subprocess, sys

calls = []
for line in json.load(sys.stdin)["prompt"].splitlines():
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    result = {"exit_code": ran.returncode, "output": ran.stdout + ran.stderr}
    calls.append({"name": "shell", "arguments": {"command": line}, "result": result})
print(json.dumps({"final_message": "Done.", "tool_calls": calls}))
"""


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed: apt-get install bubblewrap")
def test_a_sandbox_prevents_what_is_only_reported_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text("x = 1\n")
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "agent.py").chmod(0o755)
    (tmp_path / "carob.toml").write_text(
        '[targets.free]\nuse = "command:./agent.py"\nworkspace = "repo"\n'
        '[targets.boxed]\nuse = "command:./agent.py"\nworkspace = { folder = "repo", sandbox = "bubblewrap" }\n'
    )
    outside = tmp_path / "outside"
    prompt = f"echo hacked > {outside}\necho y = 2 > a.py"
    expected = {"outside": [], "files": {"changed": ["a.py"]}}
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": prompt, "expected": expected}]}
    (tmp_path / "s.json").write_text(json.dumps(suite))
    (boxed,) = carob.run("s.json", "boxed")
    assert (str(boxed.status), outside.exists()) == ("PASS", False), boxed.verdict.reason
    (free,) = carob.run("s.json", "free")
    assert (str(free.status), outside.exists()) == ("FAIL", True)
    assert (tmp_path / "repo" / "a.py").read_text() == "x = 1\n"


HIDDEN = {
    "in the cache": "python3 -c \"import py_compile as c; c.compile('/tmp/good.py', "
    "__import__('importlib.util').util.cache_from_source('a.py'), invalidation_mode=c.PycInvalidationMode(3))\"",
    "next to where it is imported": "python3 -c \"import py_compile as c; c.compile('/tmp/good.py', 'b.pyc')\"",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_byte_code_of_the_agent_decides_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a comparison of files ignores must not make a command of ours pass."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text("x = 1\n")
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "agent.py").chmod(0o755)
    (tmp_path / "carob.toml").write_text('[targets.free]\nuse = "command:./agent.py"\nworkspace = "repo"\n')
    good = tmp_path / "good.py"
    good.write_text("x = 2\n")
    prompt = HIDDEN[name].replace("/tmp/good.py", str(good))
    module = "a" if name == "in the cache" else "b"
    run = f"python3 -c 'import {module}; assert {module}.x == 2'"
    suite = {"carob": 1, "cases": [{"id": "a", "prompt": prompt, "expected": {"after": [{"run": run}]}}]}
    (tmp_path / "s.json").write_text(json.dumps(suite))
    (record,) = carob.run("s.json", "free")
    assert [str(check.status) for check in record.verdict.checks if check.name == "after"] == ["failed"]
