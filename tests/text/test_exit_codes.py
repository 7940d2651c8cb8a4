"""The exit code that a result states, and paths that a pattern means."""

from __future__ import annotations

import pytest

from carob.text.exit_codes import DEEPEST, HEAD_LINES, stated_exit_code
from carob.text.free_text import is_free_text
from carob.text.globs import matches_glob, why_bad_glob

STATED = "Process exited with code 1"
NESTED: object = {"exit_code": 3}
for _ in range(DEEPEST + 1):
    NESTED = {"metadata": NESTED}
CODES: dict[str, tuple[object, int | None]] = {
    "a number": ({"exit_code": 2}, 2),
    "a number as text": ({"exitCode": "-1"}, -1),
    "a flag": ({"exit_code": True}, None),
    "words": ({"exit_code": "none"}, None),
    "a status of gRPC": ({"grpc_status": 5}, None),
    "around the result": ({"metadata": {"exit_code": 0}}, 0),
    "too deep": (NESTED, None),
    "a line before the output": (f"{STATED}\nOutput:\nexited with code 7", 1),
    "only in the output": (f"Output:\n{STATED}{chr(10) * 20}done", None),
    "a line after the output": (f"{'line' + chr(10)}" * (HEAD_LINES + 20) + STATED, 1),
    "blocks of text": ([{"type": "text", "text": STATED}], 1),
    "blocks without text": ([{"type": "image"}], None),
    "a list of values": ([1, 2], None),
    "nothing": (None, None),
}


@pytest.mark.parametrize(("result", "code"), CODES.values(), ids=CODES)
def test_the_exit_code_is_the_one_that_a_result_states(result: object, code: int | None) -> None:
    assert stated_exit_code(result) == code


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("src/", "src/deep/a.py", True),
        ("./a?.py", "ab.py", True),
        ("a?.py", "a/.py", False),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("a.py", "abpy", False),
        ("[", "[", True),
    ],
)
def test_which_paths_a_pattern_means(pattern: str, path: str, matches: bool) -> None:
    assert matches_glob(pattern, path) is matches


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (" ", "an empty pattern"),
        ("../a", "`..` is in no path"),
        ("a/../b", "`..` is in no path"),
        ("[z-a]", "cannot be read"),
        ("a..b", ""),
    ],
)
def test_a_pattern_that_no_path_can_match_is_none(pattern: str, why: str) -> None:
    assert why_bad_glob(pattern).startswith(why) if why.startswith(("an", "`")) else why in why_bad_glob(pattern)
    assert bool(why_bad_glob(pattern)) == bool(why)


@pytest.mark.parametrize(
    ("value", "is_free"),
    [
        ("A-17", False),
        ("in four short words", True),
        ("a" * 41, True),
        ("の" * 13, True),
        ("の" * 12, False),
        (7, False),
    ],
)
def test_wording_is_what_may_be_put_otherwise(value: object, is_free: bool) -> None:
    assert is_free_text(value) is is_free
