"""The program of a coding agent: one that is not there ends the run before any case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.fixtures import carob, here
from cli.support import Ran

__all__ = ["carob", "here"]


@pytest.mark.parametrize("kind", ["claude-code", "codex", "gemini", "opencode", "mini-swe-agent"])
@pytest.mark.parametrize("program", ["no-such-program", "./no-such-program"])
def test_a_program_that_is_not_there_is_named(
    tmp_path: Path, carob: Callable[..., Ran], kind: str, program: str
) -> None:
    Path("calc").mkdir()
    Path("carob.toml").write_text(
        f'[targets.coder]\nuse = "{kind}:"\nworkspace = "calc"\noptions = {{ program = "{program}" }}\n'
    )
    Path("s.yaml").write_text("carob: 1\ncases: [{ id: a, prompt: Fix it., expected: { max_tool_calls: 3 } }]\n")
    ran = carob("run", "s.yaml", "-t", "coder")
    assert ran.code == 4
    assert f"'{program}', the program of" in ran.err
    assert "[no-agent]" in ran.err
