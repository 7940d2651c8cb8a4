"""`--cpu-times` says which files took the processors' time, and how much of it in child processes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BUSY = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
SAMPLES = {
    "test_busy_child": f"import subprocess, sys\ndef test_it():\n    subprocess.run([sys.executable, '-c', {BUSY!r}])",
    "test_busy_itself": "import time\ndef test_it():\n    end = time.process_time() + 0.2\n"
    "    while time.process_time() < end: pass",
    "test_idle": "import time\ndef test_it():\n    time.sleep(0.3)",
}
LINE = re.compile(r" +([\d.]+) s (test_\w+)\.py \(([\d.]+) s in children\)")


@pytest.mark.parametrize("processes", [pytest.param("0", marks=pytest.mark.thorough), "2"])
def test_files_are_listed_by_what_they_took(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    pytester.makepyfile(**SAMPLES)
    options = ("-p", "cpu_times", "-p", "no:asyncio", "-n", processes)
    lines = pytester.runpytest_subprocess(*options, "--cpu-times").outlines
    found = [match.groups() for line in lines if (match := LINE.fullmatch(line))]
    assert [name for _, name, _ in found] == ["test_busy_child", "test_busy_itself", "test_idle"]
    assert [float(children) >= 0.2 for _, _, children in found] == [True, False, False]
    assert "processor time" not in pytester.runpytest_subprocess(*options).stdout.str()
