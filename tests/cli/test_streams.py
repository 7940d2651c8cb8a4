"""Whatever becomes of the output, the run goes on and the exit code is that of the verdict."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from cli.support import SCRIPT, case, eval_set, process, report_of, results, write

MANY = eval_set(*(case(f"case-{number}") for number in range(200)))
RUN = ["run", "suite.json", "-t", "python:agent.py:mute", "--workers", "0"]


def with_reader_gone(*arguments: str, err_too: bool = False) -> tuple[int, str]:
    """The exit code and stderr of a command whose reader reads nothing and leaves."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(
            [SCRIPT, *arguments],
            stdout=writing,
            stderr=writing if err_too else subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)
    return ran.returncode, ran.stderr or ""


COMMANDS = {
    "list": (["run", "--list", "suite.json"], 0),
    "schema": (["lint", "--schema", "eval-set"], 0),
    "self-test": (["audit", "--self"], 0),
    "validate-bad": (["lint", "--errors-only", "suite.json", "bad.json"], 4),
    "run-that-fails": (RUN, 1),
    "help": (["--help"], 0),
}
BOTH = ["validate-bad", "run-that-fails"]
"""Enough to see what becomes of a command that cannot say anything at all."""


@pytest.mark.parametrize(
    ("command", "err_too"),
    [
        *(pytest.param(name, False, id=f"{name}-stdout") for name in COMMANDS),
        *(pytest.param(name, True, id=f"{name}-both") for name in BOTH),
        *(
            pytest.param(name, True, id=f"{name}-both", marks=pytest.mark.thorough)
            for name in COMMANDS
            if name not in BOTH
        ),
    ],
)
def test_a_broken_pipe(command: str, err_too: bool) -> None:
    arguments, code = COMMANDS[command]
    write("suite.json", MANY)
    write("bad.json", "[]")
    output, err = with_reader_gone(*arguments, err_too=err_too)
    assert output == code
    assert "Traceback" not in err
    assert "BrokenPipe" not in err
    if arguments == RUN:
        assert report_of()["summary"]["fail"] == 200


def test_a_reader_that_leaves_early() -> None:
    write("suite.json", MANY)
    line = f"set -o pipefail; {SCRIPT} run --list suite.json | head -n 1"
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "case-0\t\tprompt of case-0\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
@pytest.mark.parametrize("arguments", [RUN, ["run", "--list", "suite.json"]], ids=["run", "list"])
def test_an_output_that_is_full(arguments: list[str]) -> None:
    write("suite.json", MANY)
    with open("/dev/full", "w") as full:
        ran = subprocess.run([SCRIPT, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 3
    assert ran.stderr == "carob: the output could not be written: No space left on device. [output]\n"
    if arguments == RUN:
        assert report_of()["summary"]["fail"] == 200


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_streams_that_are_closed(closed: str) -> None:
    write("suite.json", MANY)
    ran = subprocess.run(
        ["sh", "-c", f"{SCRIPT} {' '.join(RUN)} {closed}"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr == ""
    assert report_of()["summary"]["fail"] == 200
    (journal,) = results()[".jsonl"]
    assert journal.read_text().count("\n") == 202


def test_an_encoding_that_lacks_a_character() -> None:
    suite = write("suite.json", eval_set(case(prompt="✓", expected={"must_say_any": ["✓"]})))
    latin = {"PYTHONIOENCODING": "latin-1"}
    assert process("run", "--list", suite, env=latin).stdout == "A\t\t\\u2713\n"
    ran = process("run", suite, "-t", "python:agent.py:mute", "--workers", "0", env=latin)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "expected  '\\u2713'" in ran.stdout


def test_names_that_are_not_utf_8() -> None:
    write("suite.json", eval_set())
    name = b"caf\xe9.json"
    Path(os.fsdecode(name)).write_bytes(Path("suite.json").read_bytes())
    assert process("run", "--list", name).returncode == 0
    assert process("lint", "--errors-only", name).stdout == "caf\\udce9.json: eval-set 0.3, 1 case, 2 checks\n"
    ran = process("run", name, "-t", "python:agent.py:greet", "--workers", "0")
    assert (ran.returncode, ran.stderr) == (0, "")
    (journal,) = results()[".jsonl"]
    assert process("rescore", str(journal)).returncode == 0
    ran = process("run", "suite.json", "-t", b"python:caf\xe9.py:greet")
    assert ran.returncode == 4
    assert ran.stderr.startswith("carob: the target 'python:caf\\udce9.py:greet' is not UTF-8.")


def on_a_terminal(*arguments: str, **environ: str) -> tuple[int, str]:
    """The exit code and what a terminal gets."""
    terminal, end = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **environ}
    with subprocess.Popen([SCRIPT, *arguments], stdin=end, stdout=end, stderr=end, env=env) as running:
        os.close(end)
        shown = b""
        while True:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # what Linux answers once nobody is left to write
                break
    os.close(terminal)
    return running.returncode, shown.decode()


def test_a_terminal_gets_a_progress_bar_and_colours() -> None:
    write("suite.json", eval_set(case("A"), case("B")))
    code, shown = on_a_terminal(*RUN)
    assert code == 1
    assert re.search(r"2/2.*2 FAIL", shown)
    after = shown.rpartition("\x1b[2K")[2]
    assert after.lstrip().startswith("\x1b[31mFAIL")
    assert after.count("FAIL") == 2
    assert "\x1b[1m\x1b[31m0 passed, 2 failed in " in after


BUSY = """\
from pathlib import Path


def answer(prompt):
    with Path("asked").open("a") as asked:
        asked.write("x")
    if Path("asked").stat().st_size <= 2:
        return {"error": {"kind": "busy\\x1b[2J[b]", "message": "429", "retry_after": 0.01}}
    return "Hello."
"""
RETRIED = ["run", "suite.json", "-t", "python:busy.py:answer", "--workers", "0", "--retries", "2"]
RETRY = r"RETRY    \[red\]:smile:  busy\\x1b\[2J\[b\], again in \d\.\ds\r?\n"
AFTER = r"PASS.*  \[red\]:smile:  \d\.\d\ds  after 2 errors\r?\n"


def test_a_case_that_was_tried_again_is_told_on_a_terminal_and_elsewhere() -> None:
    write("suite.json", eval_set(case("[red]:smile:")))
    write("busy.py", BUSY)
    code, shown = on_a_terminal(*RETRIED)
    assert code == 0
    assert len(re.findall(RETRY, shown)) == 2
    Path("asked").unlink()
    ran = process(*RETRIED)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.match(RETRY * 2 + AFTER, ran.stdout)


def test_cases_look_the_same_wherever_they_are_shown() -> None:
    write("suite.json", eval_set(case("a"), case("b", expected={"must_say_any": ["nothing"]}), case("c")))
    code, shown = on_a_terminal(*RUN, NO_COLOR="1")
    piped = process(*RUN).stdout
    again = process("rescore", str(results()[".jsonl"][0]), "--results-dir", "again").stdout
    lines = [
        [re.sub(r"[\d.]+s$", "", line) for line in text.splitlines() if line.startswith(("PASS", "FAIL"))]
        for text in (shown.rpartition("\x1b[2K")[2], piped, again)
    ]
    assert code == 1
    failed = ["FAIL     a  ", "FAIL     c  "]
    assert lines == [failed, *[["FAIL     a  ", "PASS     b  ", "FAIL     c  ", *failed]] * 2], "what passed is folded"


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["no-color", "dumb"])
def test_a_terminal_that_wants_no_colours(environ: dict[str, str]) -> None:
    write("suite.json", eval_set(case("A"), case("B")))
    code, shown = on_a_terminal(*RUN, **environ)
    assert code == 1
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", shown)
    assert shown.count("FAIL ") >= 2
