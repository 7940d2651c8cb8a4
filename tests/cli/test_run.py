"""`carob run`: every kind of target and suite, every option of the core."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.support import HELLO, Carob, case, eval_set, journal_of, process, program, report_of, results, traces, write

YAML = """\
# the same suite, as people like to write it
version: "0.3"
cases:
  - id: A
    prompt: prompt of A
    expected:
      must_say_any: [hello]
"""
PAGE = '- main:\n  - heading "My Activity" [level=2]\n  - list:\n    - listitem: one\n    - listitem: two\n'
GOLDEN = [{"id": "A", "input": "prompt of A", "expected_contains": ["hello"]}]


def header() -> dict[str, Any]:
    with journal_of().open("rb") as journal:
        header_line: dict[str, Any] = json.loads(journal.readline())
    return header_line


@pytest.mark.parametrize(
    ("target", "tools"),
    [
        pytest.param(lambda: "python:agent.py:greet", [], id="python-sync"),
        pytest.param(lambda: "python:agent.py:greet_later", ["wave"], id="python-async"),
        pytest.param(program, ["wave"], id="command"),
        pytest.param(lambda: traces(A={"final_message": "hello", "tools_called": ["wave"]}), ["wave"], id="replay"),
    ],
)
def test_every_kind_of_target(carob: Carob, target: Callable[[], str], tools: list[str]) -> None:
    ran = carob("run", write("suite.json", eval_set()), "--target", target())
    assert (ran.code, ran.statuses, ran.err) == (0, {"A": "PASS"}, "")
    assert ran.out.splitlines()[1].startswith("1 passed in ")
    assert report_of()["cases"][0]["tools_called"] == tools


@pytest.mark.parametrize("target", ["python:agent:greet", "python:agent.py:greet", "command:./agent"])
def test_workers_run_the_same_targets(target: str) -> None:
    program()
    ran = process("run", write("suite.json", eval_set()), "-t", target)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("PASS")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("suite.json", eval_set(), id="eval-set"),
        pytest.param("suite.json", eval_set(version="0.1"), id="eval-set-0.1"),
        pytest.param("suite.yaml", YAML, id="yaml"),
        pytest.param("suite.yml", YAML, id="yml"),
        pytest.param("suite.json", GOLDEN, id="golden-qa"),
        pytest.param(
            "suite.yaml", "- id: A\n  input: prompt of A\n  expected: {reason_contains: [hello]}\n", id="golden-yaml"
        ),
    ],
)
def test_every_format(carob: Carob, name: str, content: object) -> None:
    suite = write(name, content)
    assert carob("run", suite, "-t", traces(A="Hello.")).statuses == {"A": "PASS"}
    assert carob("run", suite, "-t", traces(A="Good day.")).statuses == {"A": "FAIL"}


def test_failures_show_the_reason_and_an_excerpt(carob: Carob) -> None:
    suite = write("suite.json", eval_set(case("A", expected={"must_not_say": ["guess"]}), case("B")))
    ran = carob("run", suite, "-t", traces(A="It is only a guess of mine.", B="Nothing."))
    assert ran.code == 1
    assert ran.out.split("\n2 ")[0].splitlines()[:12] == [
        "FAIL     A  0.00s",
        "FAIL     B  0.00s",
        "",
        "FAIL     A  0.00s",
        "         a check failed",
        "         asked     prompt of A",
        "         answered  It is only a guess of mine.",
        "         failed    must_not_say[0] (formatting)",
        "                   expected  no 'guess'",
        "                   found     guess",
        "                   in        final_message: It is only a [guess] of mine.",
        "",
    ]


THREE = eval_set(case("A", category="x"), case("B", category="y"), case("C"))


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        pytest.param(["--cases", "B"], ["B"], id="one-case"),
        pytest.param(["--cases", "C, A"], ["A", "C"], id="cases-in-suite-order"),
        pytest.param(["--cases", "A,A,"], ["A"], id="twice-and-empty"),
        pytest.param(["--cases", "A", "--cases", "C"], ["A", "C"], id="given-twice"),
        pytest.param(["--category", "x,y"], ["A", "B"], id="categories"),
        pytest.param(["--category", "x", "--cases", "A,B"], ["A"], id="both"),
    ],
)
def test_selections(carob: Carob, options: list[str], ids: list[str]) -> None:
    ran = carob("run", write("suite.json", THREE), "-t", "python:agent.py:greet", *options)
    assert (ran.code, list(ran.statuses)) == (0, ids)
    assert report_of()["summary"]["total"] == len(ids)


def test_several_suites_give_a_run_each(carob: Carob) -> None:
    first, second = write("one.json", eval_set(case("A"))), write("two.yaml", YAML.replace("id: A", "id: B"))
    ran = carob("run", first, second, "-t", "python:agent.py:greet")
    assert (ran.code, ran.statuses) == (0, {"A": "PASS", "B": "PASS"})
    assert [path.name.split("-")[0] for path in sorted(results()[".jsonl"])] == ["one", "two"]
    assert len(results()[".md"]) == 2


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        pytest.param(["--cases", "A,C"], ["A", "C"], id="a-case-of-each"),
        pytest.param(["--cases", "D"], ["D"], id="a-case-of-one"),
        pytest.param(["--category", "y"], ["D"], id="a-category-of-one"),
    ],
)
def test_a_selection_may_stand_in_any_of_several_suites(carob: Carob, options: list[str], ids: list[str]) -> None:
    first_suite = write("one.json", eval_set(case("A"), case("B")))
    two = write("two.json", eval_set(case("C"), case("D", category="y")))
    ran = carob("run", first_suite, two, "-t", "python:agent.py:greet", *options)
    assert (ran.code, list(ran.statuses)) == (0, ids)


def test_nothing_is_run_unless_every_suite_is_sound(carob: Carob) -> None:
    first_suite, two = write("one.json", eval_set()), write("two.json", "[]")
    ran = carob("run", first_suite, two, "-t", "python:agent.py:greet")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "two.json:1:1: the suite has no cases. [empty-suite]\n"
    assert not Path("carob-results").exists()


@pytest.mark.parametrize(
    ("option", "statuses", "said"),
    [
        pytest.param("1", "A:FAIL", "stopped after 1 failed case; not run: two.json, three.json", id="in-the-middle"),
        pytest.param(
            "2", "A:FAIL B:FAIL", "stopped after 2 failed cases; not run: two.json, three.json", id="at-the-end"
        ),
        pytest.param(
            "3", "A:FAIL B:FAIL C:FAIL", "stopped after 3 failed cases; not run: three.json", id="counted-together"
        ),
        pytest.param("9", "A:FAIL B:FAIL C:FAIL D:FAIL", "", id="not-enough"),
    ],
)
def test_enough_failures_stop_the_suites_that_follow(carob: Carob, option: str, statuses: str, said: str) -> None:
    suites = [
        write("one.json", eval_set(case("A"), case("B"))),
        write("two.json", eval_set(case("C"))),
        write("three.json", eval_set(case("D"))),
    ]
    limit = ["--fail-fast"] if option == "1" else ["--max-failures", option]
    ran = carob("run", *suites, "-t", "python:agent.py:mute", "--workers", "0", *limit)
    assert (ran.code, ran.statuses) == (1, dict(pair.split(":") for pair in statuses.split()))
    assert ran.err == (f"carob: {said}\n" if said else "")
    assert len(results()[".jsonl"]) == 3 - said.count(".json")


def test_the_exit_code_is_that_of_the_worst_suite(carob: Carob) -> None:
    first_suite, two = write("one.json", eval_set(case("A"))), write("two.json", eval_set(case("B")))
    ran = carob("run", first_suite, two, "-t", traces(A="Nothing.", B="Hello."))
    assert (ran.code, ran.statuses) == (1, {"A": "FAIL", "B": "PASS"})


def test_timeout(carob: Carob) -> None:
    ran = carob("run", write("suite.json", eval_set()), "-t", "python:agent.py:hang", "--timeout", "0.05")
    assert (ran.code, ran.statuses) == (1, {"A": "ERROR"})
    assert "timeout: the case took longer than 0.05 s" in ran.out


@pytest.mark.parametrize("allowed", [False, True])
def test_what_was_not_observed_is_no_success(carob: Carob, allowed: bool) -> None:
    suite = write("suite.json", eval_set(case(expected={"tool_calls_none": ["delete"]})))
    ran = carob("run", suite, "-t", "python:agent.py:greet", *(["--allow-unknown"] if allowed else []))
    assert (ran.code, ran.statuses) == (0 if allowed else 1, {"A": "PARTIAL"})
    assert "the target gave no tool_calls" in ran.out


def test_results_dir(carob: Carob) -> None:
    ran = carob("run", write("suite.json", eval_set()), "-t", "python:agent.py:greet", "--results-dir", "out/deep")
    assert ran.code == 0
    assert {path.suffix for path in Path("out/deep").iterdir()} == {".jsonl", ".json", ".md"}
    assert not Path("carob-results").exists()


TOML = """
target = "local"

[targets.local]
use = "python:agent.py:greet"
"""


@pytest.mark.parametrize(
    ("file", "toml"),
    [
        pytest.param("carob.toml", TOML, id="carob.toml"),
        pytest.param(
            "pyproject.toml", "[tool.carob]" + TOML.replace("[targets", "[tool.carob.targets"), id="pyproject"
        ),
    ],
)
def test_named_targets(carob: Carob, file: str, toml: str) -> None:
    write(file, toml)
    suite = write("suite.json", eval_set())
    assert carob("run", suite).code == 0
    assert carob("run", suite, "-t", "local").code == 0
    ran = carob("run", suite, "-t", "lokal")
    assert ran.code == 4
    assert "there is no target 'lokal' (configured: 'local'). Did you mean 'local'?" in ran.err
    assert [json.loads(path.read_bytes())["target"] for path in results()[".json"]] == ["local", "local"]


def test_the_configuration_is_found_from_below(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    write("carob.toml", TOML + "\ntimeout = 5\n")
    write("evals/deep/suite.json", eval_set())
    monkeypatch.chdir("evals/deep")
    assert carob("run", "suite.json").code == 0


def test_results_dir_of_the_configuration(carob: Carob) -> None:
    write("carob.toml", 'results_dir = "kept"\n' + TOML)
    suite = write("suite.json", eval_set())
    assert carob("run", suite).code == 0
    assert carob("rescore", str(journal_of("kept"))).code == 0
    assert len(results("kept")[".jsonl"]) == 2
    assert not Path("carob-results").exists()


VOCABULARY = """
[{0}targets.app]
use = "replay:traces.jsonl"

[{0}targets.app.ui_vocabulary]
"Two entries are listed" = [{{ role = "listitem", min = 2 }}]
"A heading says {{what}}." = [{{ role = "heading", name = "{{What}}" }}]
"""


@pytest.mark.parametrize(("file", "section"), [("carob.toml", ""), ("pyproject.toml", "tool.carob.")])
@pytest.mark.parametrize(
    ("sentence", "status"),
    [
        pytest.param("Two entries are listed.", "PASS", id="known"),
        pytest.param("A heading says my  activity", "PASS", id="with-a-slot"),
        pytest.param("A heading says Alerts.", "FAIL", id="with-a-slot-not-met"),
        pytest.param("Confetti falls.", "PARTIAL", id="unknown"),
    ],
)
def test_ui_vocabulary(carob: Carob, file: str, section: str, sentence: str, status: str) -> None:
    write(file, VOCABULARY.format(section))
    suite = write("suite.json", eval_set(case(expected={"ui": [sentence]})))
    traces(A={"final_message": "Done.", "page": PAGE})
    ran = carob("run", suite, "-t", "app")
    assert ran.statuses == {"A": status}
    assert ("define it in the target's ui_vocabulary" in ran.out) == (status == "PARTIAL")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        pytest.param('"x"', "Expected `array`, got `str`", id="no-list"),
        pytest.param('[{ rol = "x" }]', "unknown field `rol`", id="unknown-key"),
        pytest.param("[{ visible = true }]", "give at least one of 'role', 'name', 'name_contains'", id="no-element"),
        pytest.param('[{ role = "x", min = 0 }]', "min 0 without max passes on every page", id="cannot-fail"),
        pytest.param("[]", "the list is empty", id="empty"),
        pytest.param('[{ name = "{where}" }]', "the sentence has no {where}", id="unknown-slot"),
    ],
)
def test_a_ui_vocabulary_that_cannot_be_used(carob: Carob, entry: str, why: str) -> None:
    write("carob.toml", f'{TOML}\n[targets.local.ui_vocabulary]\n"A {{1}} {{what}} is there" = {entry}\n')
    ran = carob("run", write("suite.json", eval_set()))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert "targets.local.ui_vocabulary: 'A {1} {what} is there': " in ran.err
    assert why in ran.err


def test_a_slot_that_stands_twice_in_a_sentence(carob: Carob) -> None:
    write("carob.toml", f'{TOML}\n[targets.local.ui_vocabulary]\n"{{a}} or {{A}}" = [{{ role = "x" }}]\n')
    ran = carob("run", write("suite.json", eval_set()))
    assert (ran.code, ran.out) == (4, "")
    assert "'{a} or {A}': {a} is in the sentence twice." in ran.err


def test_a_sentence_that_takes_too_long_to_compare(carob: Carob) -> None:
    write("carob.toml", f'{TOML}\n[targets.local.ui_vocabulary]\n"{{a}} {{b}} {{c}} {{d}}!" = [{{ role = "x" }}]\n')
    ran = carob("run", write("suite.json", eval_set(case(expected={"ui": ["x " * 2000]}))))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
    assert "'{a} {b} {c} {d}!' of ui_vocabulary takes too long to compare with 'x x " in ran.err


def test_options_of_the_target(carob: Carob) -> None:
    ran = carob("run", write("suite.json", eval_set()), "-t", "python:agent.py:greet", "-o", "spce_url=x")
    assert (ran.code, ran.err) == (
        4,
        "carob: unknown option 'spce_url' of a target of kind 'python'. It takes no options."
        " For an environment variable of the agent, write `env` in carob.toml, or --matrix SPCE_URL=A,B."
        " [unknown-option]\n",
    )
    assert not Path("carob-results").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param([], "Expected `int` >= 1", id="as-configured"),
        pytest.param(["-o", "recursion_limit=9"], "there is no module 'gone'", id="overridden"),
        pytest.param(["-o", "recursion_limit=many"], "got `str` - at `$.recursion_limit`", id="overridden-with-text"),
    ],
)
def test_options_override_those_of_the_configuration(carob: Carob, options: list[str], says: str) -> None:
    write("carob.toml", '[targets.graph]\nuse = "langgraph:gone:graph"\n[targets.graph.options]\nrecursion_limit = 0\n')
    ran = carob("run", write("suite.json", eval_set()), "-t", "graph", *options)
    assert (ran.code, ran.out) == (4, "")
    assert says in ran.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("app_url=http://x/?a=b", "http://x/?a=b"),
        ("wait_ms=3", 3),
        ('list=["a"]', ["a"]),
        ("empty=", ""),
        ("quoted=a b", "a b"),
        ("nan=NaN", "NaN"),
        (f"huge={10**30}", None),
        (f"deep={'[' * 100_000}", "[" * 100_000),
        ("bytes=\udce9", "\ufffd"),
    ],
)
def test_values_of_options(text: str, value: Any) -> None:
    from carob.cli.options import assignments

    (found,) = assignments(None, None, (text,)).values()  # type: ignore[arg-type]
    assert value is None or found == value
    assert msgspec.json.decode(msgspec.json.encode(found)) == found


def test_setup_prompts_are_sent_first(carob: Carob) -> None:
    suite = write("suite.json", eval_set(case(setup_prompts=["one", "two"])))
    assert carob("run", suite, "-t", program()).code == 0
    write("talk.py", "def ask(prompt, conversation):\n    return f'hello {len(conversation.messages)}'\n")
    carob("run", suite, "-t", "python:talk.py:ask")
    assert [json.loads(p.read_bytes())["cases"][0]["response"] for p in results()[".json"]][-1] == "hello 4"


def test_the_header_tells_what_was_run(carob: Carob) -> None:
    suite = write("suite.json", eval_set(case("A"), case("B")))
    carob("run", suite, "-t", "python:agent.py:greet", "--cases", "A", "--timeout", "9")
    head = header()
    assert (head["kind"], head["format"], head["suite"], head["total"]) == ("header", 1, "suite.json", 1)
    assert head["target"] == "python:agent.py:greet"
    assert (head["options"]["selection"], head["options"]["timeout"]) == ({"cases": ["A"]}, 9.0)
    assert head["versions"].keys() == {"carob", "python"}


def test_secrets_of_the_configuration_are_written_nowhere(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "hush-1234")
    write("carob.toml", 'secrets = ["API_KEY"]\n' + TOML)
    suite = write("suite.json", eval_set(case(prompt="the key", expected=HELLO)))
    write("leak.py", "import os\ndef ask(prompt): return 'hello ' + os.environ['API_KEY']\n")
    ran = carob("run", suite, "-t", "python:leak.py:ask")
    assert ran.statuses == {"A": "PASS"}
    for paths in results().values():
        for path in paths:
            assert b"hush-1234" not in path.read_bytes()
    assert report_of()["cases"][0]["response"] == "hello [removed]"


def test_a_secret_that_is_too_short_is_refused(carob: Carob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "abc")
    write("carob.toml", 'secrets = ["API_KEY"]\n' + TOML)
    ran = carob("run", write("suite.json", eval_set()))
    assert ran.code == 4
    assert "the secret API_KEY has fewer than 4 characters" in ran.err
