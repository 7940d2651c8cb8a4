"""What a type checker sees of the library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

USE = """
import karat
from pathlib import Path

suite = karat.load_suite(Path("suite.json"))
reveal_type(suite.cases[0].prompt)


async def agent(prompt: str) -> str:
    return prompt


result = karat.run(suite, agent, timeout=3, results_dir="out")
reveal_type(result.ok)
reveal_type(result.records[0].verdict.status)
reveal_type(karat.judge(suite.cases[0], result.records[0].trace).checks)
reveal_type(karat.rescore(result.journal, suite).summary.passed)


async def later() -> None:
    reveal_type(await karat.arun(suite, agent))


karat.run(suite, 7)
karat.runn(suite, agent)
"""
SEEN = ['str"', 'bool"', 'verdict.CaseStatus"', "tuple[karat.model.verdict.CheckResult", 'int"', 'RunResult"']


def test_the_library_is_typed(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(tmp_path / "use.py")]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    notes = [line for line in told.splitlines() if "Revealed type" in line]
    assert len(notes) == 6, told
    for seen, note in zip(SEEN, notes, strict=True):
        assert seen in note
    errors = [line for line in told.splitlines() if "error:" in line]
    assert len(errors) == 2, told
    assert 'Argument 2 to "run" has incompatible type "int"' in errors[0]
    assert 'has no attribute "runn"' in errors[1]
