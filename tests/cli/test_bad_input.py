"""Bad input, entry by entry: a clear message and the right exit code, or a correct report; never a pass.

Folders that cannot be written and disks that fill up are in `test_bad_disks`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from cli.support import HELLO, Carob, case, eval_set, report_of, results, write

GOOD = json.dumps(eval_set())
TARGET = ("-t", "python:agent.py:greet")


def expecting(**expected: Any) -> dict[str, Any]:
    return eval_set(case(expected=expected))


def deep(*path: str) -> dict[str, Any]:
    """A suite with an unknown key at a place."""
    scoring = {"hard_fail": ["formatting"], "soft_score": {"threshold": 0.5, "weights": {"formatting": 1}}}
    numbers = [{"value": 12}]
    suite = expecting(**HELLO, scoring=scoring, must_ground_numbers=numbers, ui=[{"role": "img"}])
    place: Any = suite
    for step in path:
        place = place[int(step) if step.isdigit() else step]
    place["surprise"] = 1
    return suite


SUITES = {
    "empty": ("", "s.json:1:1: the file is empty. `carob init` writes a first suite. [empty-file]"),
    "blank": (" \n\t", "s.json:1:1: the file is empty. `carob init` writes a first suite. [empty-file]"),
    "not-json": (
        "suite: yes",
        "s.json:1:1: not JSON: expected value. A suite is JSON, or YAML in a .yaml file. [not-json]",
    ),
    "half-a-file": (GOOD[:-5], "[not-json]"),
    "utf-16": (GOOD.encode("utf-16"), "the file is UTF-16, not UTF-8. Convert it: iconv"),
    "utf-16-without-bom": (GOOD.encode("utf-16-le"), "the file is UTF-16, not UTF-8"),
    "latin-1": (GOOD.replace("hello", "h\xe9llo").encode("latin-1"), "not UTF-8: byte 0xe9"),
    "nul-byte": (GOOD.replace("hello", "h\0llo"), "a NUL byte"),
    "binary": (bytes(range(256)), "s.json:1:1: "),
    "nan": (GOOD.replace('["hello"]', "NaN"), "NaN is not JSON"),
    "infinity": (GOOD.replace('["hello"]', "Infinity"), "is not JSON"),
    "too-large-a-number": (GOOD.replace('"A"', '"A", "x-n": 1e999', 1), "does not fit in 64 bits"),
    "lone-surrogate": (GOOD.replace("hello", "\\ud800"), "half of a surrogate pair is missing"),
    "nested-too-deeply": ("[" * 100_000, "nested too deeply"),
    "duplicate-key": (GOOD.replace('"id":', '"id": "B", "id":'), "cases[0].id: duplicate key"),
    "duplicate-id": (eval_set(case("A"), case("B"), case("A")), "cases[2].id: cases[0] already has the id 'A'"),
    "no-suite": ("3", "not a suite"),
    "no-cases": ({"version": "0.3", "cases": []}, "the suite has no cases"),
    "no-check": (expecting(), "the case checks nothing"),
    "only-scoring": (expecting(scoring={"hard_fail": ["formatting"]}), "the case checks nothing"),
    "unknown-version": (eval_set(version="9.9"), "version: unknown value '9.9'. Known: 0.1, 0.2 and 0.3"),
    "unknown-field-of-the-suite": (deep(), "surprise: unknown field"),
    "unknown-field-of-a-case": (deep("cases", "0"), "cases[0].surprise: unknown field"),
    "unknown-field-of-expected": (deep("cases", "0", "expected"), "cases[0].expected.surprise: unknown field"),
    "unknown-field-of-scoring": (deep("cases", "0", "expected", "scoring"), "expected.scoring.surprise: unknown field"),
    "unknown-field-of-soft-score": (
        deep("cases", "0", "expected", "scoring", "soft_score"),
        "expected.scoring.soft_score.surprise: unknown field",
    ),
    "unknown-group": (
        deep("cases", "0", "expected", "scoring", "soft_score", "weights"),
        "expected.scoring.soft_score.weights.surprise: unknown value 'surprise'. Known: tool_hygiene",
    ),
    "unknown-field-of-a-number": (
        deep("cases", "0", "expected", "must_ground_numbers", "0"),
        "must_ground_numbers[0].surprise: unknown field",
    ),
    "unknown-field-of-an-element": (deep("cases", "0", "expected", "ui", "0"), "ui[0].surprise: unknown field"),
    "unknown-field-of-a-golden-case": (
        [{"id": "A", "input": "p", "expected": ["x"], "prompt": 1}],
        "[0].prompt: unknown",
    ),
    "unknown-field-of-a-decision": (
        [{"id": "A", "input": "p", "expected": {"tool_used": []}}],
        "[0].expected.tool_used: unknown field. Did you mean 'tools_used'?",
    ),
    "id-of-a-number": (eval_set(case(id=7)), "cases[0].id: expected a string, found a number"),
    "id-with-a-line-end": (eval_set(case(id="A\nB")), "cases[0].id: "),
    "no-prompt": (eval_set({"id": "A", "expected": HELLO}), "cases[0].prompt: this field is required and missing"),
    "blank-prompt": (eval_set(case(prompt=" ")), "cases[0].prompt: "),
    "cases-of-an-object": ({"version": "0.3", "cases": {}}, "cases: expected a list, found an object"),
    "case-of-a-string": ({"version": "0.3", "cases": ["A"]}, "cases[0]: expected an object, found a string"),
    "expected-of-null": (eval_set(case(expected=None)), "cases[0].expected: expected an object, found null"),
    "phrases-of-a-string": (expecting(must_say_any="hello"), "must_say_any: expected a list, found a string"),
    "phrase-of-a-number": (expecting(must_say_any=[1]), "must_say_any[0]: expected a string, found a number"),
    "true-of-a-string": (expecting(must_label_assumptions="yes"), "must_label_assumptions: expected true"),
    "levers-of-a-float": (expecting(required_levers=1.5), "required_levers: expected a whole number"),
    "no-levers": (expecting(required_levers=0), "required_levers: "),
    "no-phrases": (expecting(must_say_any=[]), "the case checks nothing"),
    "blank-phrase": (expecting(must_not_say=[" "]), "must_not_say[0]: "),
    "unknown-outcome": (expecting(outcome="tool_succes"), "Did you mean 'tool_success'?"),
    "bad-regex": (expecting(must_match_regex=["("]), "must_match_regex[0]: "),
    "regex-of-nothing": (expecting(must_match_regex=["x*"]), "matches the empty string"),
    "threshold-over-1": (
        expecting(**HELLO, scoring={"soft_score": {"threshold": 1.5}}),
        "scoring.soft_score.threshold: must be at most 1, found 1.5",
    ),
    "negative-weight": (
        expecting(**HELLO, scoring={"soft_score": {"weights": {"formatting": -1}}}),
        "weights.formatting: must be at least 0, found -1",
    ),
    "unknown-hard-fail": (expecting(**HELLO, scoring={"hard_fail": ["formating"]}), "Did you mean 'formatting'?"),
}


@pytest.mark.parametrize("command", ["run", "lint --errors-only", "run --list"])
@pytest.mark.parametrize(("content", "says"), SUITES.values(), ids=SUITES)
def test_suites(carob: Carob, content: object, says: str, command: str) -> None:
    write("s.json", content)
    ran = carob(*command.split(), "s.json", *(TARGET if command == "run" else ()))
    if command == "run --list" and ran.code == 0:
        assert ran.out  # a suite whose cases have ids and prompts can be listed whatever they expect
        return
    assert (ran.code, ran.out) == (4, "")
    assert says in ran.err
    assert all(line.startswith("s.json:") and line.endswith("]") for line in ran.err.splitlines())
    assert not Path("carob-results").exists()


@pytest.mark.parametrize("command", ["run", "lint --errors-only", "run --list"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("gone.json", "gone.json: no such file. Check the path. [missing-file]", id="missing"),
        pytest.param("", ": no such file", id="no-name"),
        pytest.param("folder", "folder: is a directory, not a suite file", id="a-folder"),
        pytest.param("agent.py/x.json", "agent.py/x.json: cannot be read: Not a directory", id="below-a-file"),
        pytest.param("x" * 5000, "cannot be read: File name too long", id="too-long"),
        pytest.param("loop.json", "loop.json: cannot be read: Too many levels of symbolic links", id="loop"),
    ],
)
def test_files_that_cannot_be_read(carob: Carob, name: str, says: str, command: str) -> None:
    Path("folder").mkdir()
    Path("loop.json").symlink_to("loop.json")
    ran = carob(*command.split(), name, *(TARGET if command == "run" else ()))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert says in ran.err


def test_a_bom_is_no_harm(carob: Carob) -> None:
    write("s.json", b"\xef\xbb\xbf" + GOOD.encode())
    assert carob("run", "s.json", *TARGET).statuses == {"A": "PASS"}
    assert carob("run", "--list", "s.json").out == "A\t\tprompt of A\n"


RECORDINGS = {
    "missing": (None, "cannot be read: No such file or directory"),
    "empty": ("", "contains no trace"),
    "not-json": ("hello\n", "r.jsonl:1:1: "),
    "no-object": ("[]\n", "r.jsonl:1:1: a JSON list, and a recording has one JSON object on each line"),
    "no-case-id": ('{"final_message": "hello"}\n', "it has no `case_id`"),
    "no-answer": ('{"case_id": "A"}\n', "it has no `final_message`"),
    "unknown-key": ('{"case_id": "A", "final_mesage": "hello"}\n', "Did you mean 'final_message'?"),
    "wrong-type": ('{"case_id": "A", "final_message": ["hello"]}\n', "Expected `str"),
    "utf-16": ('{"case_id": "A", "final_message": "hello"}\n'.encode("utf-16"), "r.jsonl:1:1: "),
}


@pytest.mark.parametrize(("content", "says"), RECORDINGS.values(), ids=RECORDINGS)
def test_recordings(carob: Carob, content: str | bytes | None, says: str) -> None:
    if content is not None:
        write("r.jsonl", content)
    ran = carob("run", write("s.json", GOOD), "-t", "replay:r.jsonl")
    assert (ran.code, ran.out) == (4, "")
    assert says in ran.err
    assert not Path("carob-results").exists()


HELLO = '{"case_id": "%s", "final_message": "hello"}\n'
BAD_ROWS = {
    "twice": (HELLO % "B" + HELLO % "A" * 2, "r.jsonl:3:1: case 'A' is recorded twice"),
    "torn": (HELLO % "B" + '{"case_id": "A", "fin', "r.jsonl:2:1: the line is cut off"),
}


@pytest.mark.parametrize(("content", "says"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_row_that_cannot_be_read_is_an_error_of_its_case_alone(carob: Carob, content: str, says: str) -> None:
    write("r.jsonl", content)
    (one,) = json.loads(GOOD)["cases"]
    suite = write("s.json", json.dumps({**json.loads(GOOD), "cases": [one, {**one, "id": "B"}]}))
    ran = carob("run", suite, "-t", "replay:r.jsonl")
    assert (ran.code, ran.statuses) == (1, {"A": "ERROR", "B": "PASS"})
    assert says in ran.out


CONFIGURATIONS = {
    "not-toml": ("target = ", "carob.toml: it is not TOML"),
    "unknown-key": ("targt = 'x:y'", "unknown key 'targt'. Did you mean 'target'?"),
    "unknown-key-of-a-target": ("[targets.a]\nuse = 'x:y'\ntimout = 3", "carob.toml:3: unknown key 'timout'"),
    "no-use": ("[targets.a]\ntimeout = 3", "use"),
    "no-target": ("[targets.a]\nuse = 'nothing'", "'nothing' is not a target"),
    "unknown-target": ("target = 'b'\n[targets.a]\nuse = 'x:y'", "`target` names 'b'"),
    "zero-timeout": ("[targets.a]\nuse = 'x:y'\ntimeout = 0", "timeout"),
    "utf-16": ("target = 'x:y'".encode("utf-16"), "carob.toml: it cannot be read"),
}


@pytest.mark.parametrize(("content", "says"), CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_configurations(carob: Carob, content: str | bytes, says: str) -> None:
    write("carob.toml", content)
    ran = carob("run", write("s.json", GOOD), *TARGET)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert says in ran.err
    assert not Path("carob-results").exists()


AGENTS = {
    "no-module": ("python:gone:ask", "there is no module 'gone'"),
    "no-file": ("python:gone.py:ask", "there is no file"),
    "no-function": ("python:agent.py:gret", "Did you mean 'greet'?"),
    "not-a-function": ("python:agent.py:time", "is a module, not a function"),
    "no-colon": ("python:agent", "does not name a function"),
    "broken-import": ("python:broken.py:ask", "cannot be imported: ZeroDivisionError: division by zero at "),
    "syntax-error": ("python:syntax.py:ask", "cannot be imported: SyntaxError"),
    "no-prompt": ("python:broken2.py:ask", "does not take the prompt"),
    "no-command": ("command:./gone", "is not found"),
    "not-executable": ("command:./agent.py", "is not executable"),
    "unclosed-quote": ("command:'x", "cannot be split"),
    "unknown-kind": ("pyton:agent.py:greet", "Did you mean 'python'?"),
    "no-kind": ("agent.py", "there is no target 'agent.py'"),
}


@pytest.mark.parametrize(("target", "says"), AGENTS.values(), ids=AGENTS)
def test_targets_that_cannot_be_opened(carob: Carob, target: str, says: str) -> None:
    write("broken.py", "1 / 0\n")
    write("broken2.py", "def ask(): pass\n")
    write("syntax.py", "def ask(:\n")
    ran = carob("run", write("s.json", GOOD), "-t", target)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert says in ran.err
    assert not Path("carob-results").exists()


HOSTILE = {
    "ansi": "before \x1b[2J\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m after",
    "nul": "before \x00 after",
    "pipe": "before | a | b || after",
    "backticks": "before `a` ```b``` after",
    "script": "before <script>alert(1)</script><img src=x onerror=alert(1)> after",
    "markdown": "before **b** [x](javascript:alert(1)) ![i](http://x/y) # h after",
    "line-ends": "before\r\n\n| --- |\u2028\x85 after",
    "reordering": "before \u202eevil\u202c \u200b after",
    "lone-surrogate": "before \ud800 and \udfff after",
    "astral": "before \U0001f600 after",
    "backslashes": "before \\| \\\\ after",
}
ANSWERING = """\
import json, sys
TEXT = json.loads({text!r})


def ask(prompt):
    return TEXT


if __name__ == "__main__":
    print(json.dumps({{"final_message": TEXT}}))
"""


def hostile_target(kind: str, text: str) -> str:
    """A target that answers with this text; `json` spells lone surrogates as escapes."""
    write("hostile.py", ANSWERING.format(text=json.dumps(text)))
    write("r.jsonl", json.dumps({"case_id": "A", "final_message": text}) + "\n")
    command = f"command:{sys.executable} hostile.py"
    return {"python": "python:hostile.py:ask", "command": command, "replay": "replay:r.jsonl"}[kind]


def controls(text: str) -> list[str]:
    return [
        char for char in text if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160 or char in "\u202e\u200b"
    ]


@pytest.mark.parametrize("kind", ["python", "command", "replay"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_responses_are_inert_in_every_report(carob: Carob, kind: str, text: str) -> None:
    suite = write("s.json", expecting(must_say_any=["never said"], must_not_say=["after"]))
    ran = carob("run", suite, "-t", hostile_target(kind, text))
    assert (ran.code, ran.statuses) == (1, {"A": "FAIL"})
    assert controls(ran.out) == []
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert report_of()["cases"][0]["response"] == whole
    raw, markdown = (results()[suffix][0].read_text() for suffix in (".json", ".md"))
    assert controls(raw) == []
    assert controls(markdown) == []
    page = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown)
    assert not any(tag in page for tag in ("<script", "<img", "<a ", "<strong", "<code", "<pre", "<h1>h"))
    assert [row.count("<th") - row.count("<thead") + row.count("<td") for row in page.split("<tr>")[1:]] == [8, 8]


@pytest.mark.parametrize("kind", ["python", "command", "replay"])
def test_a_response_of_50_mb(carob: Carob, kind: str) -> None:
    size = 50 << 20
    big = f"""\
import json
TEXT = "hello " + "x" * {size} + " the end"


def ask(prompt):
    return TEXT


if __name__ == "__main__":
    print(json.dumps({{"final_message": TEXT}}))
"""
    write("big.py", big)
    if kind == "replay":
        write("r.jsonl", json.dumps({"case_id": "A", "final_message": "hello " + "x" * size + " the end"}) + "\n")
    suite = expecting(must_say_any=["hello"], must_not_say=["nowhere", "hello"])
    suite["cases"].append(case("A2", expected={"must_match_regex": ["the end"]}))
    write("s.json", suite)
    target = {"python": "python:big.py:ask", "command": f"command:{sys.executable} big.py", "replay": "replay:r.jsonl"}
    ran = carob("run", "s.json", "-t", target[kind], "--cases", "A,A2" if kind == "python" else "A")
    assert ran.statuses == ({"A": "FAIL", "A2": "PARTIAL"} if kind == "python" else {"A": "FAIL"})
    assert f"only the first 1,048,576 of {size + 14:,} bytes were kept" in ran.out
    checks = report_of()["cases"][0]["checks"]
    names = {kind: [check["name"] for check in checks_of_kind] for kind, checks_of_kind in checks.items()}
    assert names == {"passed": ["outcome", "must_say_any"], "failed": ["must_not_say"], "unknown": ["must_not_say"]}
    assert sum(path.stat().st_size for paths in results().values() for path in paths) < 6 << 20


BROKEN_AGENTS = {
    "raises": ("def ask(prompt): raise ValueError('\x1b[31mno')", "agent: ValueError: \\x1b[31mno"),
    "exits": ("import sys\ndef ask(prompt): sys.exit(3)", "agent: SystemExit: 3"),
    "nothing": ("def ask(prompt): pass", "bad-answer: the agent returned None"),
    "a-number": ("def ask(prompt): return 7", "bad-answer: the agent returned a value of type int"),
    "unknown-key": ("def ask(prompt): return {'final_mesage': 'x'}", "Did you mean 'final_message'?"),
    "no-message": ("def ask(prompt): return {'tool_calls': []}", "it has no `final_message`"),
    "wrong-type": ("def ask(prompt): return {'final_message': 7}", "bad-answer: "),
    "not-json": ("def ask(prompt): return {'final_message': 'x', 'metadata': {'x': object()}}", ""),
}


@pytest.mark.parametrize(("code", "says"), BROKEN_AGENTS.values(), ids=BROKEN_AGENTS)
def test_agents_that_break_their_contract(carob: Carob, code: str, says: str) -> None:
    write("odd.py", code)
    ran = carob("run", write("s.json", expecting(must_not_say=["nowhere"])), "-t", "python:odd.py:ask")
    assert ran.statuses == {"A": "ERROR" if says else "PASS"}
    assert ran.code == (1 if says else 0)
    assert says in ran.out
    assert controls(ran.out) == []


def test_a_regex_that_runs_away(carob: Carob) -> None:
    """Its case is an ERROR, and the others are judged as usual."""
    expected = {"must_match_regex": ["(?:a|aa)+$"], "must_not_match_regex": ["(?:a|aa)+$"]}
    suite = eval_set(*(case(key, expected={key: value}) for key, value in expected.items()), case("B"))
    write("slow.py", "def ask(prompt): return 'hello ' + 'a' * 60 + '!'\n")
    ran = carob("run", write("s.json", suite), "-t", "python:slow.py:ask")
    assert (ran.code, ran.statuses) == (
        1,
        {"must_match_regex": "ERROR", "must_not_match_regex": "ERROR", "B": "PASS"},
    )
    assert ran.out.count("a check could not be carried out") == 2
    assert "RegexTimeout: regex '(?:a|aa)+$' took too long on a text of 67 characters" in ran.out
    broken = [check for entry in report_of()["cases"] for check in entry["checks"]["unknown"]]
    assert [(check["name"], check["error"]) for check in broken] == [(key, True) for key in expected]
