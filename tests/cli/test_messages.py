"""Messages that once sent people the wrong way, and rules that hold for all of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import carob as package
from carob.cli.main import carob as group
from carob.errors import CarobError, Diagnostic
from carob.targets.catalog import target_kinds
from carob.text.wording import with_article
from cli.fixtures import DOUBLED_STOP
from cli.support import Carob, case, eval_set, traces, write

SOURCES = sorted(Path(package.__file__).parent.rglob("*.py"))
CASE = "cases: [{id: a, prompt: hi, expected: {must_say_any: [x]}}]\n"
CONVERSATION = "cases: [{id: a, turns: [{prompt: hi, expected: {must_say_any: [x]}}]}]\n"


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        pytest.param(
            "carob: 2\n" + CASE,
            "this version of Carob reads format 1, not 2. Write 'carob: 1', or update Carob. [unknown-value]",
            id="another-format-number",
        ),
        pytest.param(
            "carob: '1'\n" + CASE,
            "expected 1, found the text '1'. Write it without quotes. Write 'carob: 1'. [wrong-type]",
            id="quoted",
        ),
        pytest.param(
            "carob: true\n" + CASE, "expected 1, found true. Write 'carob: 1'. [wrong-type]", id="not-a-number"
        ),
        pytest.param(
            "Carob: 1\n" + CASE,
            "this file has no 'carob: 1' and is read as an eval set, which has no 'Carob'."
            " Write 'carob: 1' at the top. [missing-carob]",
            id="capital-letter",
        ),
        pytest.param(
            "carob: 1\ncases: [{id: a, prompt: hi, expected: {must_say_any: refund}}]\n",
            "expected a list, found a string. Write ['refund']. [wrong-type]",
            id="entry-without-its-list",
        ),
        pytest.param(
            "carob: 1\ncases: [{id: a, prompt: hi, expected: {tool_calls: [lookup]}}]\n",
            "expected an object, found a string. Write {tool: 'lookup'}. [wrong-type]",
            id="name-without-its-object",
        ),
        pytest.param(
            "version: '1'\n" + CASE,
            "an eval set has no version 1. A suite in Carob's own format has 'carob: 1' instead. [unknown-value]",
            id="version-1",
        ),
        pytest.param(
            "version: 1.0\n" + CONVERSATION,
            "this file has no 'carob: 1' and is read as an eval set, which has no 'turns'."
            " Write 'carob: 1' in place of 'version'. [missing-carob]",
            id="version-and-keys-of-carob-1",
        ),
        pytest.param(
            CONVERSATION,
            "this file has no 'carob: 1' and is read as an eval set, which has no 'turns'."
            " Write 'carob: 1' at the top. [missing-carob]",
            id="keys-of-carob-1",
        ),
        pytest.param(
            "defaults: {}\n" + CASE,
            "this file has no 'carob: 1' and is read as an eval set, which has no 'defaults'."
            " Write 'carob: 1' at the top. [missing-carob]",
            id="key-of-carob-1-at-the-top",
        ),
        pytest.param(
            "carob: 1\ncases: [{id: a, prompt: hi, expected: {no_false_success: 'true'}}]\n",
            "expected true, found the text 'true'. Write it without quotes. [wrong-type]",
            id="quoted-flag",
        ),
    ],
)
def test_one_problem_with_its_fix(carob: Carob, suite: str, message: str) -> None:
    ran = carob("lint", "--errors-only", write("suite.yaml", suite))
    assert ran.code == 4
    assert [line.partition(": ")[2] for line in ran.err.splitlines()] == [message]


def test_eval_set_without_version_is_asked_about_carob_1(carob: Carob) -> None:
    ran = carob("lint", "--errors-only", write("suite.yaml", CASE))
    assert ran.code == 0
    assert "Write 'carob: 1' at the top for a suite in Carob's own format" in ran.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("shop.yml", "shop.yaml"), ("evals/shp.yaml", "evals/shop.yaml"), ("shop", "shop.yaml"), ("other.toml", "")],
)
def test_missing_file_names_the_nearest_one(carob: Carob, typed: str, meant: str) -> None:
    for name in ("shop.yaml", "evals/shop.yaml", "evals/returns.yaml"):
        write(name, "carob: 1\n" + CASE)
    fix = f"Did you mean '{meant}'?" if meant else "Check the path."
    assert carob("lint", "--errors-only", typed).err == f"carob: {typed}: no such file. {fix} [missing-file]\n"


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("It is 19.5 degrees.", "19.5"),
        ("It is 1,219 degrees.", "1,219"),
        ("It is 190.", "190"),
        ("It cost 19k.", "19k"),
        ("It cost 19 million.", "19 million"),
    ],
)
def test_a_part_of_a_number_is_not_that_number(carob: Carob, answer: str, number: str) -> None:
    suite = write("s.json", eval_set(case(expected={"must_say_any": ["nothing", "19"]})))
    ran = carob("run", suite, "-t", traces(A=answer))
    assert (
        f"'19' is only a part of '{number}', which is another number; write it as the answer does: {answer}" in ran.out
    )
    ran = carob("run", suite, "-t", traces(A="Neither."))
    assert "another number" not in ran.out


def test_answer_under_another_name(carob: Carob) -> None:
    write("agent.py", "def ask(prompt): return {'answer': 'hello'}\ncount = 3")
    suite = write("s.json", eval_set(case()))
    ran = carob("run", suite, "-t", "python:agent.py:ask")
    assert "unknown key 'answer'. Did you mean 'final_message'?" in ran.out
    ran = carob("run", suite, "-t", "python:agent.py:count")
    assert "is an int, not a function." in ran.err


@pytest.mark.parametrize(
    ("name", "content", "stem"),
    [
        ("shop.yaml", "carob: 1\n" + CASE, "shop-results"),
        ("shop.yaml", "version: '0.3'\n" + CASE, "minimum-eval-results"),
        ("shop.json", '[{"id": "a", "input": "hi", "expected_contains": ["x"]}]', "shop-results"),
    ],
)
def test_reports_are_named_by_their_suite(carob: Carob, name: str, content: str, stem: str) -> None:
    carob("run", write(name, content), "-t", traces(a="x"), "--report", "junit")
    journal = next(Path("carob-results").glob("shop-*.jsonl")).stem.removeprefix("shop-")
    assert {file.name for file in Path("carob-results").glob(f"{stem}-*")} == {
        f"{stem}-{journal}.{extension}" for extension in ("json", "md", "junit.xml")
    }


@pytest.mark.parametrize(
    "command", ["view", "compare --history", "compare @last @last", "run --failed", "compare --save @last"]
)
def test_folder_of_eval_sets_is_named_only_where_they_are(carob: Carob, command: str) -> None:
    assert ".claude" not in carob(*command.split()).err
    Path(".claude/evals").mkdir(parents=True)
    assert ".claude/evals/results" in carob(*command.split()).err


def test_help_of_run_shows_every_kind_of_target() -> None:
    command = group.get_command(None, "run")  # type: ignore[arg-type]  # it needs no context
    assert command is not None
    for kind in target_kinds():
        assert re.search(rf"^ +(?:.*; )?{kind.name}:", command.help or "", re.MULTILINE), kind.name


@given(st.lists(st.sampled_from(["no", "such file", ".", "..", "...", "?", "!", "…", "../x", "a/..", " "])))
@example(["cd", " ", "..", " "])
def test_no_message_doubles_a_full_stop(parts: list[str]) -> None:
    text = "".join(parts)
    for quoted in (f"cannot be read: {text}.", f"{text}. Fix it."):
        error = str(CarobError(quoted, fix="Write it anew."))
        assert not DOUBLED_STOP.search(error), error
        diagnostic = str(Diagnostic("s.yaml", 1, 1, "cases", quoted, "slug"))
        assert not DOUBLED_STOP.search(diagnostic), diagnostic


def test_a_message_ends_before_its_fix_begins() -> None:
    assert str(CarobError("it raised ValueError: x", fix="Fix it.")) == "it raised ValueError: x. Fix it. [error]"
    assert str(CarobError("is it? ", fix="")) == "is it?  [error]"


def test_articles_follow_their_noun() -> None:
    assert [with_article(noun) for noun in ("int", "dict", "OSError")] == ["an int", "a dict", "an OSError"]
    placed = re.compile(r"(?:^|\W)an? $", re.IGNORECASE)
    mistakes = [
        f"{source.name}: {ast.unparse(after)}"
        for source in SOURCES
        if "__name__" in (text := source.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.JoinedStr)
        for before, after in zip(node.values, node.values[1:], strict=False)
        if isinstance(before, ast.Constant) and placed.search(str(before.value)) and "__name__" in ast.unparse(after)
    ]
    assert mistakes == [], "use with_article"


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        pytest.param("    prompt: *all", "Put a text that begins with * in quotes.", id="star"),
        pytest.param("    prompt: {call: *}", "Put a text that begins with * in quotes.", id="lone-star"),
        pytest.param("    prompt: #17", "what follows # is a comment, unless it is in quotes.", id="hash"),
        pytest.param("    prompt:p\n    tags: [a]", "Put a space after 'prompt:' in line 4.", id="no-space"),
        pytest.param("    prompt: [p, q]", "found a list. Write one text.", id="list-for-a-text"),
        pytest.param("    prompt: p\n    tags: {a: b}", "Write [ ] around it, or '- ' before", id="no-list"),
        pytest.param("    prompt: p\n    expected: [{must_say_any: [a]}]", "without [ ] and '- '.", id="list-of-keys"),
        pytest.param("    prompt: p\n    expected: hi", "Write KEY: VALUE, with keys such as outcome", id="no-key"),
        pytest.param("    prompt: p\n    expected: {max_words: 3 words}", "Write 3, without quotes", id="unit"),
        pytest.param("    prompt: p\n    expected: {tool_calls: pay}", "Write [{tool: 'pay'}].", id="bare-tool"),
        pytest.param("    prompt: p\n    expected: {must_say_any: [a: b]}", "text with ': ' in quotes", id="pair"),
        pytest.param("    prompt: p\n    expected: {regex_any: [a]}", "Did you mean 'must_match_regex'?", id="regex"),
        pytest.param("   prompt: p", "this one begins in column 4, the one above it in 5.", id="indentation"),
        pytest.param("\tprompt: p", "Indent with spaces: there is a tab.", id="tab"),
        pytest.param("    prompt: @writes", "Put a text that begins with @ in quotes.", id="at-sign"),
        pytest.param("    prompt: `ls`", "Put a text that begins with ` in quotes.", id="backquote"),
        pytest.param("    prompt: Say this: now", "Put a text with ': ' in quotes.", id="colon"),
        pytest.param("    prompt: {name} wants", "Put a text that begins with { in quotes.", id="brace"),
        pytest.param('    prompt: "\\d+"', "Write it in single quotes", id="escape"),
        pytest.param('    prompt: "p', "Close the quotes that begin in line 4.", id="quotes"),
        pytest.param("    tags: [a", "Close the list that begins in line 4 with ].", id="list"),
        pytest.param("    expected: { max_words: 3", "Close the object that begins in line 4 with }.", id="object"),
        pytest.param("    prompt: p\n      tags: [a]", "this one begins in column 7, the one above", id="too-far"),
    ],
)
def test_yaml_that_is_refused_says_what_to_write(carob: Carob, line: str, fix: str) -> None:
    ran = carob("lint", "--errors-only", write("s.yaml", f"carob: 1\ncases:\n  - id: a\n{line}\n"))
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert fix in ran.err


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("[1,]", "trailing comma. Remove the comma before it."),
        ("{'a': 1}", "Put texts in double quotes."),
        ("{\"a\": 'x'}", "Put texts in double quotes."),
        ('{"a": “x”}', "Put texts in straight double quotes."),
        ("{a: 1}", "Put keys in double quotes."),
        ('{ // mine\n"a": 1}', "JSON has no comments: remove it."),
        ('{"a": 1 # mine\n}', "JSON has no comments: remove it."),
        ('{"a": True}', "Write true."),
        ('{"a": 1\n"b": 2}', "Put a comma before it."),
        ('{"a": [', "The file ends too early: close what is open."),
        ('{"a": "x\ny"}', r"Write a line break in a text as \n."),
        ('{"a": "\\d"}', r"Write \\ for \ in a text."),
        ("# notes", "A suite is JSON, or YAML in a .yaml file."),
        ('{"kind": "header"}\n{"kind": "case"}', "A journal has one on each line: carob rescore JOURNAL."),
    ],
)
def test_json_that_is_refused_says_what_to_write(carob: Carob, text: str, fix: str) -> None:
    ran = carob("lint", "--errors-only", write("s.json", text))
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert fix in ran.err


@pytest.mark.parametrize(
    ("rules", "fix"),
    [
        ("rules: [{id: r, each: {call: pay}, at_most: 1}]", "Write 'carob: 1' at the top."),
        ("[{id: r, each: {call: pay}, at_most: 1}]", "it belongs in a rule, in 'rules' of a file with 'carob: 1'."),
        ("carob: 1\nrules: []", "Write one: - {id: NAME, each: {call: TOOL}, at_most: 1}"),
        ("carob: 1\nrules: {r: {each: {call: pay}, at_most: 1}}", "Write [ ] around it, or '- ' before each."),
    ],
)
def test_a_file_of_rules_says_how_it_begins(carob: Carob, rules: str, fix: str) -> None:
    write("c.jsonl", '{"messages": [{"role": "user", "content": "hi"}]}\n')
    ran = carob("check", "c.jsonl", "--rules", write("policy.yaml", rules))
    assert (ran.code, fix in ran.err) == (4, True)


@pytest.mark.parametrize(
    ("target", "fix"),
    [
        ("127.0.0.1:3000/api/chat", "Did you mean 'http://127.0.0.1:3000/api/chat'?"),
        ("localhost:3000", "Did you mean 'http://localhost:3000'?"),
        ("agent.py:ask", "Did you mean 'python:agent.py:ask'?"),
        ("agent.py", "Name the function in it: 'python:agent.py:FUNCTION'."),
        ("server.js", "Did you mean 'command:node server.js', or the http:// address of the service that it starts?"),
        ("log.jsonl", "Did you mean 'replay:log.jsonl'?"),
        ("node:server.js", "Did you mean 'command:node server.js', or the http:// address of a service?"),
        ("agents:server.mjs", "Did you mean 'command:agents server.mjs'"),
        ("pyton:agent.py:ask", "Did you mean 'python'?"),
        ("python:agent.ts:answer", "agent.ts is not Python: start it as a service"),
    ],
)
def test_a_target_that_is_none_says_what_it_may_be(carob: Carob, target: str, fix: str) -> None:
    ran = carob("run", write("s.json", eval_set(case())), "-t", target)
    assert ran.code == 4
    assert fix in ran.err


def test_a_program_is_no_suite(carob: Carob) -> None:
    ran = carob("run", write("agent.py", "def ask(prompt): return 'hi'"), "-t", "python:agent.py:ask")
    assert (ran.code, "is a program, not a suite. Name the suite" in ran.err) == (4, True)


@pytest.mark.parametrize(("typed", "name"), [("test", "run"), ("diff", "compare"), ("new", "init"), ("rnu", "run")])
def test_the_word_of_another_tool_is_understood(carob: Carob, typed: str, name: str) -> None:
    assert f"No such command '{typed}'. Did you mean '{name}'?" in carob(typed).err


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        ("watch policy.yaml", "It takes no argument. A file goes with --rules or --suite."),
        ("convert s.yaml s.json", "Write it as `carob convert SUITE`. A file goes with --output."),
        ("init .", "It takes no argument."),
        ("guard policy.yaml", "Commands: check, hook, install, log, mcp, serve."),
        ("tape chek s.yaml", "Did you mean 'check'?"),
        ("audit j.jsonl --min-kill 90", "'90' is not a share, such as 0.95 or 95%."),
        ("run s.yaml --min-pass-rate 2", "'2' is not a share, such as 0.95 or 95%."),
        ("check c.jsonl --max-broken 5", "'5' is not a share, such as 0.5% or 0.005."),
        ("run s.yaml --parallel 4", "No such option '--parallel'. Did you mean '--workers'?"),
        ("run --eval-file s.yaml --cases a", "The file is an argument: `carob run s.yaml --cases a"),
        ("run --list --eval-file=s.yaml", "The file is an argument: `carob run --list s.yaml"),
        ("run s.yaml --case a", "Did you mean '--cases A,B'?"),
        ("run s.yaml --model small", "Did you mean '--option KEY=VALUE'?"),
        ("check c.jsonl --policy p.yaml", "Did you mean '--rules FILE'?"),
        ("run s.yaml --workers many", "'many' is not a whole number."),
        ("guard serve p.yaml --port 99999", "99999 is not in the range"),
    ],
)
def test_a_command_line_that_cannot_be_read_says_how_it_is_written(carob: Carob, command: str, fix: str) -> None:
    ran = carob(*command.split())
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert fix in ran.err


def test_the_name_of_a_file_says_its_format(carob: Carob, tmp_path: Path) -> None:
    for name, begins in {"page.html": "<!doctype html>", "page.json": "{", "page.md": "#"}.items():
        carob("coverage", write("s.json", eval_set(case())), "--output", str(tmp_path / name))
        assert (tmp_path / name).read_text().lower().startswith(begins)


def test_a_share_may_be_written_in_percent(carob: Carob) -> None:
    run = ("run", write("s.json", eval_set(case())), "-t", traces(A="x"))
    carob(*run)
    carob(*run)
    reached, missed = (carob("compare", "@last", "@last", "--min-pass-rate", rate).out for rate in ("1%", "0.01"))
    assert reached == missed


def test_journals_that_are_not_there(carob: Carob) -> None:
    assert "Run a suite first: carob run SUITE" in carob("compare", "@last-5", "@last").err
    assert "A run writes one: carob run SUITE" in carob("audit", "gone.jsonl").err
    carob("run", write("s.json", eval_set(case())), "-t", traces(A="x"))
    (journal,) = Path("carob-results").glob("*.jsonl")
    assert f"Did you mean '{journal}'?" in carob("audit", "carob-results/s.jsonl").err
    assert "Did you mean" in carob("run", "--failed", "@lats").err


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("results_dir = secret-4711", 'Put texts in quotes: results_dir = "..."'),
        ('[targets]\nx = "a"\n[targets.x]\nuse = "b"', "[targets.x] is there already"),
    ],
)
def test_toml_that_is_refused_says_what_to_write(carob: Carob, text: str, fix: str) -> None:
    write("carob.toml", text)
    ran = carob("run", write("s.json", eval_set(case())), "-t", "python:agent.py:ask")
    assert (ran.code, fix in ran.err, "4711" in ran.err) == (4, True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[targets.x]\nurl = "http://127.0.0.1:3000"\n', "unknown key 'url'. A target has `use`, such as"),
        ("workers = 4\n", "unknown key 'workers'. It is an option of the command: --workers."),
        ('[targets.x]\nuse = "command:a"\nevidence = ["logs"]\n', "Did you mean 'log'? Known: log, models, spans,"),
        ('[targets.x]\nuse = "http://x/y"\nbody = "{message}"\n', "Did you mean 'prompt' or 'messages'?"),
        ('[targets.x]\nuse = "http://x/y"\nbody = "{prompt}"\nanswer = "a.b"\n', "found 'a'. Write $.a.b"),
        ('rules = ["polcy.yaml"]\n', "`rules` of the configuration: 'polcy.yaml': no such file."),
    ],
)
def test_a_table_of_the_configuration_says_what_it_lacks(carob: Carob, text: str, message: str) -> None:
    write("carob.toml", text)
    ran = carob("run", write("s.json", eval_set(case())), "-t", "x" if "[targets.x]" in text else traces(A="x"))
    assert (ran.code, message in ran.err) == (4, True)


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("an answer", "For an answer alone, give {'final_message': ANSWER}"),
        ([{"role": "user"}], "give carob.trace_from_messages(MESSAGES)"),
        (3, "Give a carob.Trace, or a dict with `final_message` and `tool_calls`."),
    ],
)
def test_what_is_no_trace_says_what_to_give(given: Any, fix: str) -> None:
    with pytest.raises(package.CarobError, match=re.escape(fix)):
        package.check(given, must_say_any=["x"])
    with pytest.raises(package.CarobError, match="the case comes before the trace"):
        package.judge(given, {"final_message": "x"})


def test_a_turn_that_was_not_awaited_says_so() -> None:
    async def ask() -> None: ...

    with pytest.raises(package.CarobError, match="write `await`"):
        package.check(turn := ask())  # type: ignore[arg-type]
    turn.close()


def test_a_name_that_carob_lacks_is_likened_to_those_it_has() -> None:
    with pytest.raises(AttributeError, match="Did you mean 'compare_runs'"):
        package.compare  # noqa: B018


@pytest.mark.parametrize(
    ("rule", "fix"),
    [
        pytest.param("{id: r, each: pay, at_most: 1}", "Write {call: 'pay'}.", id="a-name"),
        pytest.param("{id: r, each: {tool: pay}, at_most: 1}", "Did you mean 'call'?", id="tool"),
        pytest.param("{id: r, at_most: 1}", "Write each: {call: TOOL}.", id="no-each"),
        pytest.param("{id: r, each: {call: pay}, where: each.arguments.a =< 5}", "Write <= for =<.", id="sign"),
        pytest.param("{id: r, each: {call: pay}, where: each.arguments.a = 5}", "Write == for =.", id="one-sign"),
        pytest.param(
            "{id: r, each: {call: pay}, where: each.arguments.a > 5 and each.arguments.b == 'x or y'}",
            "Write && for and.",
            id="word",
        ),
        pytest.param(
            "{id: r, each: {call: pay}, where: arguments.a <= 5}", "Did you mean 'each.arguments.a'?", id="no-root"
        ),
        pytest.param("{id: r, each: {call: pay}, where: len(each.arguments.a) > 5}", "Write size(...).", id="len"),
        pytest.param("{id: r, each: {call: pay}, where: each.arguments.a == None}", "Write null.", id="none"),
        pytest.param("{id: r, each: {call: pay}, where: 'each.arguments.a >'}", "It ends too early", id="cut-off"),
        pytest.param("polcy.yaml", "'polcy.yaml': no such file. Did you mean 'policy.yaml'?", id="file"),
    ],
)
def test_a_rule_that_is_refused_says_what_to_write(carob: Carob, rule: str, fix: str) -> None:
    write("policy.yaml", "carob: 1\nrules: []\n")
    ran = carob("lint", "--errors-only", write("suite.yaml", f"carob: 1\nrules:\n  - {rule}\n{CASE}"))
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert fix in ran.err


@pytest.mark.parametrize(
    ("amount", "warns"), [("{lte: 5}", True), ("{$eq: {lte: 5}}", False), ("{lte: 5, unit: EUR}", False)]
)
def test_a_matcher_without_its_sign_is_asked_about(carob: Carob, amount: str, warns: bool) -> None:
    expected = f"{{tool_calls: [{{tool: pay, arguments: {{amount: {amount}}}}}]}}"
    ran = carob(
        "lint", "--errors-only", write("s.yaml", f"carob: 1\ncases: [{{id: a, prompt: p, expected: {expected}}}]\n")
    )
    assert (ran.code, "arguments.amount.lte: warning:" in ran.err) == (0, warns)
    assert ("Did you mean '$lte'? If not, write it under '$eq'." in ran.err) is warns


@pytest.mark.parametrize(
    ("agent", "fix"),
    [
        ("def ask(prompt): return 'paid'", '{"final_message": "...", "tool_calls": [{"name": "...", "arguments"'),
        (
            "def ask(prompt): print('paid')",
            'Return the text, or {"final_message": "...", "tool_calls": [{"name": "..."',
        ),
        ("def ask(prompt): return [{'role': 'assistant'}]", "Return the text, or {"),
        ("def ask(prompt): return {'choices': []}", "unknown key 'choices'. Return the text, or {"),
        ("class ask:\n    def run(self): pass\n    def __init__(self, config): pass", "name a function that calls it."),
        ("import no_such_package\ndef ask(prompt): return 'paid'", "Install it where Carob is ("),
    ],
)
def test_an_agent_that_cannot_be_judged_says_what_to_return(carob: Carob, agent: str, fix: str) -> None:
    write("agent.py", agent)
    suite = write("s.json", eval_set(case(expected={"tool_calls": [{"tool": "pay"}]})))
    ran = carob("run", suite, "-t", "python:agent.py:ask")
    assert ran.code in (1, 4)
    assert fix in re.sub(r"\s+", " ", ran.out + ran.err)


def test_a_matrix_shows_no_secret_and_names_what_to_write(carob: Carob) -> None:
    write("agent.py", "def ask(prompt): return 'x'")
    run = ("run", write("s.json", eval_set(case())), "-t", "python:agent.py:ask")
    ran = carob(*run, "--matrix", "OPENAI_API_KEY=sk-4711,sk-4712")
    assert (ran.code, "471" in ran.out + ran.err) == (4, False)
    assert "--matrix MODEL=A,B" in carob(*run, "--matrix", "model=small,large").err
    ran = carob(*run, "-t", "python:agent.py:ask")
    assert (ran.code, "is named twice" in ran.err, "--repeat N" in ran.err) == (4, True, True)


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        ("check c.jsonl --rules p.yaml --format html", "For a report, write -o report.html"),
        ("check s.yaml --rules p.yaml", "If it is a suite, run it: carob run s.yaml"),
        (
            "check c.jsonl --rules s.yaml",
            "carob: s.yaml: there is nothing to check the conversations against. It has no rules.",
        ),
        ("run evals -t python:agent.py:ask", "such as 'evals/shop.yaml'."),
        ("coverage carob-results s.yaml", "It has journals of runs: name the suite here"),
        ("run test_desk.py -t python:agent.py:ask", "Run it with pytest, where `carob.check` judges"),
        ("run s.yaml -t http://127.0.0.1:9/chat", "Let `carob init --inspect http://127.0.0.1:9/chat --write` find"),
        ("draft notes.txt", "neither JSON, nor CSV, Parquet, SQLite"),
        ("guard log carob-results", "Name a file that a guard wrote."),
        ("guard mcp p.yaml -- no-such-server", "there is no program 'no-such-server'."),
        ("tape show s.yaml", "This is a suite."),
        ("view nowhere", "Run a suite first: carob run SUITE."),
        ("run s.yaml -t replay:list.json", "a JSON list, and a recording has one JSON object on each line"),
        ("run s.yaml -t python:agnet.py:ask", "Did you mean 'agent.py'?"),
        ("run s.yaml -t python:agnt:ask", "Did you mean 'agent'?"),
        ("run s.yaml -t replay:other.jsonl", "others.jsonl'? [config]"),
        ("check cc.jsonl --rules p", "p: no such file. Did you mean 'p.yaml'?"),
        ("check c.jsonl --suite s.yaml", "s.yaml: there is nothing to check the conversations against. It has no"),
        ("draft other.jsonl", "Did you mean 'others.jsonl'?"),
        ("init --inspect localhost:3000", "Did you mean 'http://localhost:3000'?"),
        ("init --yes --target agent.py:ask", "Did you mean 'python:agent.py:ask'?"),
        ("lint judged.yaml", "which people's labels decide: meets"),
    ],
)
def test_a_file_in_the_wrong_place_says_where_it_belongs(carob: Carob, command: str, fix: str) -> None:
    write("s.yaml", f"carob: 1\n{CASE}")
    write("others.jsonl", "{}")
    write("p.yaml", "carob: 1\nrules: [{id: r, each: {call: pay}, at_most: 1}]\n")
    write("c.jsonl", '{"messages": [{"role": "user", "content": "hi"}]}\n')
    write("list.json", '[{"case_id": "a"}]')
    write("agent.py", "def ask(prompt): return 'x'")
    write("judged.yaml", f"carob: 1\n{CASE.replace('must_say_any: [x]', 'llm_rubric: polite')}")
    write("carob-results/s.jsonl", "{}")
    write("evals/shop.yaml", f"carob: 1\n{CASE}")
    write("test_desk.py", "def test_desk(): ...")
    write("notes.txt", "Where is my order?\n")
    ran = carob(*command.split())
    assert ran.code == 4
    assert fix in ran.err
    assert "Traceback" not in ran.err


def test_a_golden_of_another_tool_says_how_to_accept_the_rest(carob: Carob) -> None:
    write("goldens.json", '[{"input": "hi", "expected_output": "x", "expected_tools": []}]')
    write("agent.py", "def ask(prompt): return {'final_message': 'x', 'tool_calls': []}")
    ran = carob("run", "goldens.json", "-t", "python:agent.py:ask")
    assert (ran.code, "--allow-unjudged accepts the rest" in ran.out) == (1, True)


def test_runs_before_the_last_say_what_they_must_be(carob: Carob) -> None:
    carob("run", write("s.json", eval_set(case())), "-t", traces(A="x"))
    assert "Name the journal, to compare with a run against another target." in carob("compare", "@last-2", "@last").err


def test_lint_names_an_assertion_that_promptfoo_does_not_have(carob: Carob) -> None:
    write("tests.yaml", "prompts: [hi]\nproviders: [echo]\ntests: [{assert: [{type: tool_called, value: pay}]}]\n")
    ran = carob("lint", "tests.yaml")
    assert "tests.yaml:3:19" in ran.out
    assert "expected: {tool_calls: [{tool: NAME}]}. [unknown-field]" in ran.out
