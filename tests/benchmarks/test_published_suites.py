"""Files of other tools in a folder: each is read by its format, and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.published.suites import main

CONFIG = """
prompts: ["Say {{word}}"]
providers: [echo]
tests:
  - vars: {word: hi}
    assert: [{type: contains, value: hi}, {type: llm-rubric, value: polite}]
"""


def test_files_of_other_tools_are_found_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "shop" / "notes.json").write_text('{"no": "suite"}')
    assert main(["--from", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "1 files of 1 repositories, 1 read, 0 refused" in shown
    assert "1 cases; 2 expectations judged,\n0 not judged by nature," in shown
