"""Files that are no suite at all: one clear line each, at its place."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from carob.errors import ExitCode, SuiteError, UsageError
from carob.suites import load
from carob.suites.documents import source
from catalogs import CATALOG
from suites.support import lines

GOOD = '{"version": "0.3", "cases": [{"id": "A", "prompt": "p", "expected": {"must_say_any": ["é"]}}]}'
FORMATS = (
    "a suite is an object with 'carob: 1' and 'cases' or 'rules' (Carob 1), an object with 'cases' (eval set) "
    "or a list of cases with 'input' and an 'expected' object (golden decisions), "
    "or with 'input' and 'expected_contains' or 'must_not_contain' (golden QA). "
    "Files of bfcl, tau-bench, tau2, agentevals, deepeval, pydantic-evals, coder-eval, skill-evals, "
    "promptfoo and adk are suites too."
)
LONE = "half of a surrogate pair is missing. Write the character itself, or both halves. [lone-surrogate]"
TOO_BIG = "the number does not fit in 64 bits. Write it as a string. [out-of-range]"
TWICE = "duplicate key. Keep one. [duplicate-key]"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            b"", ["s.json:1:1: the file is empty. `carob init` writes a first suite. [empty-file]"], id="empty"
        ),
        pytest.param(
            b"\xef\xbb\xbf \n",
            ["s.json:1:1: the file is empty. `carob init` writes a first suite. [empty-file]"],
            id="only-a-bom",
        ),
        pytest.param(b"\xef\xbb\xbf" + GOOD.encode(), [], id="bom"),
        pytest.param(
            GOOD.encode("utf-16"),
            ["s.json:1:1: the file is UTF-16, not UTF-8. Convert it: iconv -f UTF-16 -t UTF-8. [not-utf-8]"],
            id="utf-16-with-bom",
        ),
        pytest.param(
            GOOD.encode("utf-16-le"),
            ["s.json:1:1: the file is UTF-16, not UTF-8. Convert it: iconv -f UTF-16 -t UTF-8. [not-utf-8]"],
            id="utf-16-without-bom",
        ),
        pytest.param(
            GOOD.encode("utf-32"),
            ["s.json:1:1: the file is UTF-32, not UTF-8. Convert it: iconv -f UTF-32 -t UTF-8. [not-utf-8]"],
            id="utf-32-with-bom",
        ),
        pytest.param(
            GOOD.encode("utf-32-be"),
            ["s.json:1:1: the file is UTF-32, not UTF-8. Convert it: iconv -f UTF-32 -t UTF-8. [not-utf-8]"],
            id="utf-32-without-bom",
        ),
        pytest.param(
            '["é",\n"é'.encode() + b"\xff",
            ["s.json:2:3: not UTF-8: byte 0xff at offset 10. Save the file as UTF-8. [not-utf-8]"],
            id="not-utf-8",
        ),
        pytest.param(
            b'["abc",\n "\x00"]',
            ["s.json:2:3: a NUL byte at offset 10: this is not text. Save the suite as UTF-8. [nul-byte]"],
            id="nul",
        ),
        pytest.param(
            b"hello",
            ["s.json:1:1: not JSON: expected value. A suite is JSON, or YAML in a .yaml file. [not-json]"],
            id="not-json",
        ),
        pytest.param(
            '["é",\n1,]',
            ["s.json:2:3: not JSON: trailing comma. Remove the comma before it. [not-json]"],
            id="trailing-comma",
        ),
        pytest.param(
            '{"é": 1 2}',
            ["s.json:1:9: not JSON: expected `,` or `}`. Put a comma before it. [not-json]"],
            id="column-in-characters",
        ),
        pytest.param(
            '{"cases": [NaN]}',
            ["s.json:1:12: NaN is not JSON. Write a number, or leave the key out. [not-json]"],
            id="nan",
        ),
        pytest.param(
            "[-Infinity]",
            ["s.json:1:3: Infinity is not JSON. Write a number, or leave the key out. [not-json]"],
            id="infinity",
        ),
        pytest.param("[" * 100_000, ["s.json:1:202: nested too deeply: more than 200 levels. [too-deep]"], id="bomb"),
        pytest.param(
            '{"x-é": ["a\\ud83d\\ude00", "\\ud800"],\n "b": "\\\\\\udc00", "\\ud801": 1}',
            [f"s.json:1:28 x-é[1]: {LONE}", f"s.json:2:10 b: {LONE}", f's.json:2:20 ["\\ud801"]: {LONE}'],
            id="lone-surrogates",
        ),
        pytest.param("[" + "9" * 5000 + "]", [f"s.json:1:4303: {TOO_BIG}"], id="five-thousand-digits"),
        pytest.param("3", [f"s.json:1:1: not a suite: {FORMATS} [unknown-format]"], id="a-number"),
        pytest.param(
            '\n {"case": []}',
            [f"s.json:2:2: not a suite: {FORMATS} Did you mean 'cases'? [unknown-format]"],
            id="no-cases",
        ),
        pytest.param("[]", ["s.json:1:1: the suite has no cases. [empty-suite]"], id="empty-golden-set"),
        pytest.param(
            '{"version": "0.1", "cases": []}',
            ["s.json:1:29 cases: the suite has no cases. [empty-suite]"],
            id="no-case",
        ),
        pytest.param(
            '{"a": {"b": 1, "\\u0062": 2, "b": 3},\n"a": 4}',
            [
                f"s.json:1:1: not a suite: {FORMATS} [unknown-format]",
                f"s.json:1:16 a.b: {TWICE}",
                f"s.json:1:29 a.b: {TWICE}",
                f"s.json:2:1 a: {TWICE}",
            ],
            id="duplicate-keys",
        ),
        pytest.param(
            GOOD.replace("}}", '}, "x-n": [1e999, 18446744073709551616, 18446744073709551615, -9223372036854775809]}'),
            [f"s.json:1:{c} cases[0].x-n[{i}]: {TOO_BIG}" for c, i in ((102, 0), (109, 1), (153, 3))],
            id="numbers-that-no-journal-holds",
        ),
    ],
)
def test_bad_bytes(data: bytes | str, expected: list[str]) -> None:
    assert lines(data) == expected


@pytest.mark.parametrize("name", ["gone.json", "gone/../gone.yaml", "a\0b"])
def test_a_missing_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path / name, CATALOG)
    assert caught.value.exit_code == ExitCode.USAGE
    assert caught.value.where == str(tmp_path / name)
    assert caught.value.slug == ("missing-file" if "\0" not in name else "unreadable-file")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(str(tmp_path), CATALOG)
    assert (
        str(caught.value) == f"{tmp_path}: is a directory, not a suite file. Name a suite file inside it. [not-a-file]"
    )


def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "s.json"
    os.mkfifo(pipe)
    with pytest.raises(UsageError) as caught:
        load(pipe, CATALOG)
    fix = "Name a file, or /dev/stdin for what is piped in."
    assert str(caught.value) == f"{pipe}: is not a regular file. {fix} [not-a-file]"


def test_what_the_shell_pipes_in_is_read() -> None:
    inner, outer = os.pipe()
    os.write(outer, GOOD.encode())
    os.close(outer)
    try:
        assert [case.id for case in load(f"/dev/fd/{inner}", CATALOG).cases] == ["A"]
    finally:
        os.close(inner)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(GOOD)
    path.chmod(stat.S_IWUSR)
    with pytest.raises(UsageError, match=r"cannot be read: Permission denied. \[unreadable-file\]"):
        load(path, CATALOG)


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST", 1 << 20)
    path = tmp_path / "s.json"
    path.write_bytes(b"[" + b" " * (1 << 20))
    with pytest.raises(UsageError, match=r"larger than 1 MiB.*Split it.*\[too-large\]"):
        load(path, CATALOG)
    path.write_text(GOOD.ljust(1 << 19))
    assert load(path, CATALOG).file == str(path)


def test_the_file_is_named_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text("{")
    with pytest.raises(SuiteError) as caught:
        load("./s.json", CATALOG)
    assert [problem.file for problem in caught.value.problems] == ["./s.json"]
    assert caught.value.exit_code == ExitCode.USAGE
