"""Command lines as a shell reads them, as far as they show what is run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.text.command_lines import read_command, read_line, wrapped_words
from carob.text.exit_codes import stated_exit_code
from carob.text.globs import matches_glob

LINES = {
    "pytest": (["pytest"], True, False),
    "cd x && pytest -q": (["cd x", "pytest -q"], True, False),
    "pytest; true": (["pytest", "true"], False, False),
    "pytest || true": (["pytest", "true"], False, False),
    "pytest | tail": (["pytest", "tail"], False, False),
    "pytest &": (["pytest"], False, False),
    "pytest 2>&1": (["pytest"], True, False),
    "git 'push' origin": (["git push origin"], True, False),
    'sh -c "git pu"sh': (["sh -c git push", "git push"], True, False),
    "bash -lc 'cd a && pytest'": (["bash -lc cd a && pytest", "cd a", "pytest"], True, False),
    "A=1 timeout 60 pytest": (["timeout 60 pytest", "pytest"], True, False),
    "if true; then git push; fi": (["true", "git push"], False, False),
    "a\nb": (["a", "b"], False, False),
    "/usr/bin/git push": (["git push"], True, False),
    "./run.sh": (["run.sh"], True, True),
    "python3 tool.py": (["python3 tool.py"], True, True),
    "python3 -m pytest": (["python3 -m pytest"], True, False),
    "echo $(git push)": (["echo $", "git push"], False, False),
    "echo 'unclosed": ([], False, True),
    'sh -c "echo \'unclosed"': (["sh -c echo 'unclosed"], False, True),
}


@pytest.mark.parametrize(("line", "expected"), LINES.items(), ids=LINES)
def test_commands_of_a_line(line: str, expected: tuple[list[str], bool, bool]) -> None:
    read = read_line(line)
    assert ([c.line for c in read.commands], read.is_chain, bool(read.why_unread)) == expected


@given(st.text(alphabet="ab '\"\\;&|()$`<>{}\n-=", max_size=40))
def test_any_line_is_read(line: str) -> None:
    read = read_line(line)
    assert all(command.words for command in read.commands)


@pytest.mark.parametrize(
    "line",
    ["uv run --extra dev pytest -q", "sudo -u app pytest -q", "env -u A timeout 6 pytest -q", "npx -y pytest -q"],
)
def test_what_an_option_of_a_wrapper_takes_hides_no_command(line: str) -> None:
    read = read_line(line)
    assert "pytest -q" in [command.line for command in read.commands]
    assert read.is_chain
    assert read.last_step == 0 or "timeout" in line


def test_a_list_of_words_is_a_command() -> None:
    command = read_command(["bash", "-lc", "pytest; true"])
    assert command is not None
    assert [each.line for each in command.commands] == ["pytest", "true"]
    assert read_command([]) is None
    assert wrapped_words(["env", "-i", "A=1", "git", "push"]) == ("git", "push")


CODES = {
    "Process exited with code 1": 1,
    "Chunk ID: a\nWall time: 0.1 s\nProcess exited with code 1\nOutput:\nFAILED": 1,
    "Process exited with code 0\nOutput:\nExit code 1": 0,
    "Exit code 1\nE assert": 1,
    "Command: pytest\nOutput: FAILED\nError: (none)\nExit Code: 1\nSignal: (none)": 1,
    "<returncode>2</returncode>\n<output>\nx": 2,
    '{"output": "x", "metadata": {"exit_code": 1}}': 1,
    "3 tests passed": None,
    "the exit code 1 means failure": None,
}


@pytest.mark.parametrize(("result", "code"), CODES.items(), ids=range(len(CODES)))
def test_exit_codes_that_results_state(result: str, code: int | None) -> None:
    assert stated_exit_code(result) == code


GLOBS = [
    ("tests/**", "tests/a/b.py", True),
    ("**/*.py", "a.py", True),
    ("*.py", "src/a.py", False),
    ("src/", "src/a.py", True),
    ("a[bc]?.py", "abx.py", True),
    ("**/__pycache__/**", "x/__pycache__/a.pyc", True),
]


@pytest.mark.parametrize(("pattern", "path", "found"), GLOBS)
def test_patterns_of_paths(pattern: str, path: str, found: bool) -> None:
    assert matches_glob(pattern, path) is found
