"""`carob run --list` and `carob lint --errors-only`: reading suites without running anything."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.support import Carob, case, eval_set, write

ROWS = eval_set(case("A", category="x", prompt="First?"), case("B", prompt="two\n\tlines \x1b[31m"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("s.json", ROWS, id="json"),
        pytest.param("s.json", b"\xef\xbb\xbf" + json.dumps(ROWS).encode(), id="bom"),
        pytest.param(
            "s.yaml",
            'version: "0.3"\ncases:\n'
            "- {id: A, category: x, prompt: 'First?', expected: {must_say_any: [a]}}\n"
            '- {id: B, prompt: "two\\n\\tlines \\e[31m", expected: {must_say_any: [a]}}\n',
            id="yaml",
        ),
        pytest.param(
            "s.json",
            [
                {"id": "A", "category": "x", "input": "First?", "expected": ["a"]},
                {"id": "B", "input": "two\n\tlines \x1b[31m", "expected": {"tools_used": []}},
            ],
            id="golden",
        ),
    ],
)
def test_list(carob: Carob, name: str, content: object) -> None:
    file = write(name, content)
    ran = carob("run", "--list", file)
    assert carob("run", file, "--list") == ran
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "A\tx\tFirst?\nB\t\ttwo\\n\\tlines \\x1b[31m\n"


def test_list_of_several_suites(carob: Carob) -> None:
    first_suite, two = write("one.json", eval_set(case("A"))), write("two.json", eval_set(case("B")))
    assert carob("run", "--list", first_suite, two).out == "A\t\tprompt of A\nB\t\tprompt of B\n"


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        pytest.param("", "empty-file", id="empty"),
        pytest.param(eval_set(case("A"), case("A")), "duplicate-id", id="duplicate-id"),
        pytest.param({"cases": []}, "empty-suite", id="no-case"),
        pytest.param('{"cases": [], "cases": [1]}', "duplicate-key", id="duplicate-key"),
        pytest.param("[NaN]", "not-json", id="nan"),
    ],
)
def test_list_says_what_is_wrong(carob: Carob, content: object, slug: str) -> None:
    ran = carob("run", "--list", write("s.json", content))
    assert (ran.code, ran.out) == (4, "")
    assert f"[{slug}]" in ran.err


def test_validate_reports_every_problem_of_every_file(carob: Carob) -> None:
    bad = eval_set(
        case("A", expected={"must_not_sya": ["x"], "outcome": "tool_sucess"}), case("A"), case("C", expected={})
    )
    ran = carob(
        "lint",
        "--errors-only",
        write("bad.json", json.dumps(bad)),
        write("good.json", eval_set()),
        "gone.json",
        write("[].json", "[]"),
    )
    assert ran.code == 4
    assert ran.out == "good.json: eval-set 0.3, 1 case, 2 checks\n"
    lines = ran.err.splitlines()
    assert all(": " in line and line.endswith("]") for line in lines)
    assert "cases[0].expected.must_not_sya: unknown field. Did you mean 'must_not_say'? [unknown-field]" in ran.err
    assert "Did you mean 'tool_success'?" in ran.err
    assert "[duplicate-id]" in ran.err
    assert "[no-checks]" in ran.err
    assert "gone.json: no such file. Check the path. [missing-file]" in ran.err
    assert "[].json:1:1: the suite has no cases. [empty-suite]" in ran.err


def test_a_problem_stands_at_its_line_and_column(carob: Carob) -> None:
    write(
        "s.json", '{"version": "0.3",\n "cases": [\n  {"id": "A", "prompt": "p",\n   "expected": {"must_say": ["x"]}}]}'
    )
    ran = carob("lint", "--errors-only", "s.json")
    assert ran.err == (
        "s.json:4:17 cases[0].expected.must_say: unknown field. Did you mean 'must_say_any'? [unknown-field]\n"
    )


@pytest.mark.parametrize("command", ["lint --errors-only", "run"])
def test_warnings_do_not_fail_a_suite(carob: Carob, command: str) -> None:
    suite: dict[str, Any] = eval_set(case(expected={"required_sources": ["github"]}), version="0.1")
    target = ["-t", "python:agent.py:greet"] if command == "run" else []
    ran = carob(*command.split(), write("s.json", suite), *target)
    assert ran.code == (0 if command != "run" else 1)
    assert "warning: this field is new in version 0.2, the suite says 0.1" in ran.err


@pytest.mark.parametrize("command", ["lint --errors-only", "lint", "run --list"])
def test_names_of_files_and_cases_cannot_steer_the_terminal(carob: Carob, command: str) -> None:
    hostile = "b\u202ec"
    ran = carob(*command.split(), write("a\x1b[31m\u202e.json", eval_set(case(hostile, category=hostile))))
    assert ran.code == 0
    assert not {"\x1b", "\u202e"} & {*ran.out, *ran.err}
    assert r"\u202e" in ran.out
