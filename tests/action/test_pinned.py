"""Actions of others are pinned by digest, and no input is part of a shell line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ["action.yml", ".github/workflows/ci.yml", "docs/ci.md", "src/carob/features/setup/write/texts.py"]
PINNED = re.compile(r"@(?:[0-9a-f]{40} # v\d+\.\d+\.\d+|COMMIT # the commit of a release)")


@pytest.mark.parametrize("name", FILES)
def test_actions_are_pinned_by_digest(name: str) -> None:
    uses = re.findall(r"^\s*(?:- )?uses: (.*)$", (ROOT / name).read_text(), re.MULTILINE)
    assert uses
    assert [use for use in uses if not PINNED.search(use) and not use.startswith("./")] == []


@pytest.mark.parametrize("name", ["action.yml", ".github/workflows/ci.yml"])
def test_no_input_is_in_a_shell_line(name: str) -> None:
    lines = re.findall(r"^\s*(?:- )?run: (.*(?:\n {8,}.*)*)", (ROOT / name).read_text(), re.MULTILINE)
    assert lines
    assert [line for line in lines if "${{" in line] == []
