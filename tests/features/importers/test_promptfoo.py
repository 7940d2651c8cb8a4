"""promptfoo configurations: prompts × tests × variables, files, assertions, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from carob.checks.catalog import catalog_for
from carob.engine.authoring import read_trace
from carob.errors import SuiteError
from carob.features.importers.promptfoo import files, suite, templates
from carob.features.importers.promptfoo.assertions import CRITERIA, UNJUDGED, from_text, known_types, path_of
from carob.features.importers.promptfoo.providers import CODE, target_of
from carob.features.importers.promptfoo.templates import BadTemplateError, render
from carob.model.suite import Suite
from carob.model.trace import Trace
from carob.plugins.project import Project
from carob.scoring.verdicts import run_check
from carob.suites.reading import convert, read_suite
from catalogs import CATALOG


def read(folder: Path, config: object, **files: str) -> Suite:
    for name, text in files.items():
        place = folder / name.replace("__", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    data = config if isinstance(config, str) else json.dumps(config)
    return read_suite(data.encode(), str(folder / "promptfooconfig.yaml"), CATALOG)


def problems(folder: Path, config: object, **files: str) -> list[str]:
    with pytest.raises(SuiteError) as refused:
        read(folder, config, **files)
    return [
        f"{Path(one.file).name}:{one.line}:{one.column} {one.message} [{one.slug}]" for one in refused.value.problems
    ]


def one_test(*assertions: object, **test: object) -> dict[str, object]:
    return {"prompts": ["Say {{x}}"], "tests": [{"vars": {"x": "a"}, "assert": [*assertions], **test}]}


def args(suite: Suite, case: int = 0) -> list[tuple[str, Any]]:
    return [(spec.name, msgspec.json.decode(spec.args)) for spec in suite.cases[case].checks]


@pytest.mark.parametrize(
    ("chosen", "prompts"),
    [
        (["Plain"], ["plain x"]),
        (["poem"], ["poem x"]),
        (["shop:*"], ["order x", "refund x"]),
        (["shop"], ["order x", "refund x"]),
        (["poem", "Plain"], ["plain x", "poem x"]),
        (None, ["plain x", "poem x", "order x", "refund x"]),
    ],
)
def test_a_test_names_its_prompts_by_label_id_or_group(tmp_path, chosen, prompts):
    listed = [
        {"raw": "plain {{x}}", "label": "Plain"},
        {"raw": "poem {{x}}", "id": "poem"},
        {"raw": "order {{x}}", "label": "shop:order"},
        {"raw": "refund {{x}}", "id": "shop:refund"},
    ]
    test = {"vars": {"x": "x"}, **({"prompts": chosen} if chosen else {})}
    suite = read(tmp_path, {"prompts": listed, "tests": [test]})
    assert [case.prompt for case in suite.cases] == prompts


def test_a_prompt_that_is_listed_twice_is_one(tmp_path):
    suite = read(tmp_path, {"prompts": ["Say {{x}}", "Say {{x}}", "Tell {{x}}"], "tests": [{"vars": {"x": "a"}}]})
    assert [case.prompt for case in suite.cases] == ["Say a", "Tell a"]


def test_variables_are_found_from_the_file_of_their_test(tmp_path):
    files = {
        "tests/more__yaml": "- vars: ../vars/v_*.yaml\n",
        "vars/v_1__yaml": "x: a\n",
        "vars/v_2__yaml": "y: b\n",
    }
    (case,) = read(tmp_path, {"prompts": ["{{x}} and {{y}}"], "tests": ["file://tests/*.yaml"]}, **files).cases
    assert case.prompt == "a and b"


def test_prompts_tests_and_lists_of_variables_are_multiplied(tmp_path):
    config = {
        "prompts": ["Say {{x}}", "file://p.txt"],
        "defaultTest": {"vars": {"y": "?"}, "assert": [{"type": "not-contains", "value": "sorry"}]},
        "tests": [{"vars": {"x": ["a", "b"]}, "assert": [{"type": "icontains", "value": "{{x}}"}]}],
    }
    suite = read(tmp_path, config, p__txt="Tell {{x}}{{y}}\n---\nName {{ x | upper }}\n")
    assert [case.prompt for case in suite.cases] == ["Say a", "Say b", "Tell a?", "Tell b?", "Name A", "Name B"]
    assert len({case.id for case in suite.cases}) == 6
    assert args(suite, 1) == [
        ("answer_text", {"contains": "sorry", "negated": True}),
        ("answer_text", {"contains": "b", "ignore_case": True}),
    ]


def test_files_of_tests_are_read_in_their_place(tmp_path):
    config = {"prompts": ["{{q}}"], "tests": ["file://more/*.yaml", "file://rows.csv", "file://rows.jsonl"]}
    suite = read(
        tmp_path,
        config,
        **{
            "more/a__yaml": "- vars: {q: one}\n  assert: [{type: equals, value: '1'}]\n",
            "rows__csv": "q,__expected,__expected2,__metadata:kind,__threshold\n"
            "two,contains: b,not-icontains:C,x,0.5\n",
            "rows__jsonl": '{"vars": {"q": "three"}, "assert": [{"type": "is-json"}]}\n',
        },
    )
    assert [case.prompt for case in suite.cases] == ["one", "two", "three"]
    row = suite.cases[1]
    assert (row.scoring.threshold, row.metadata) == (0.5, {"kind": "x"})
    assert [item["contains"] for _, item in args(suite, 1)] == ["b", "C"]
    assert args(suite, 2) == [("json_text", {})]


def test_scenarios_combine_their_configurations_and_tests(tmp_path):
    scenario = {
        "config": [{"vars": {"language": "fr"}}, {"vars": {"language": "de"}}],
        "tests": [{"vars": {"word": "hello"}, "assert": [{"type": "contains", "value": "x"}]}],
    }
    suite = read(tmp_path, {"prompts": ["{{word}} in {{language}}"], "scenarios": [scenario]})
    assert [case.prompt for case in suite.cases] == ["hello in fr", "hello in de"]


def test_tests_of_one_conversation_are_its_turns(tmp_path):
    tests = [
        {"vars": {"q": q}, "metadata": {"conversationId": "c"}, "assert": [{"type": "contains", "value": q}]}
        for q in ("one", "two")
    ]
    (case,) = read(tmp_path, {"prompts": ["{{q}}"], "tests": tests}).cases
    assert [turn.prompt for turn in case.turns] == ["one", "two"]
    assert [len(turn.checks) for turn in case.turns] == [1, 1]


def test_a_prompt_of_messages_is_what_its_user_says(tmp_path):
    chat = [
        {"role": "system", "content": "Be kind"},
        {"role": "user", "content": "A"},
        {"role": "user", "content": "{{x}}"},
    ]
    (case,) = read(tmp_path, {**one_test({"type": "contains", "value": "a"}), "prompts": [json.dumps(chat)]}).cases
    assert (case.prompt, case.setup_prompts) == ("a", ("A",))


ANSWERS = ("", "Paris", "paris, Rome", '{"a": 1}', 'Here: {"a": 2} done', "one two three", "kitten", "12\n", "sorry")
ASSERTIONS: tuple[dict[str, Any], ...] = (
    {"type": "equals", "value": "Paris"},
    {"type": "equals", "value": {"a": 1}},
    {"type": "not-equals", "value": 12},
    {"type": "contains-any", "value": "Paris, Rome"},
    {"type": "icontains-all", "value": ["PARIS", "rome"]},
    {"type": "starts-with", "value": "Par"},
    {"type": "regex", "value": "^\\d+$"},
    {"type": "not-regex", "value": "(?<x>o)\\w"},
    {"type": "word-count", "value": {"min": 2}},
    {"type": "levenshtein", "value": "sitting", "threshold": 3},
    {"type": "is-json", "value": {"required": ["a"]}},
    {"type": "contains-json", "value": "required: [a]"},
    {"type": "not-is-json"},
    {"type": "assert-set", "threshold": 0.5, "assert": [
        {"type": "contains", "value": "Paris", "weight": 2}, {"type": "contains", "value": "Rome"}]},
    {"type": "tool-call-f1", "value": ["find"], "threshold": 0.5},
    {"type": "trace-span-count", "value": {"pattern": "chat*", "min": 1}},
    {"type": "javascript", "value": "output.length > 3"},
    {"type": "llm-rubric", "value": "is polite"},
)  # fmt: skip


@pytest.mark.parametrize("assertion", ASSERTIONS, ids=lambda one: f"{one['type']}-{str(one.get('value'))[:12]}")
def test_the_converted_assertion_has_the_same_verdict(tmp_path, assertion):
    data = json.dumps(one_test(assertion)).encode()
    made = convert(data, str(tmp_path / "promptfooconfig.yaml"), CATALOG)
    assert made.unequal == 0
    cases = [read(tmp_path, data.decode()).cases[0], read_suite(made.text.encode(), "s.yaml", CATALOG).cases[0]]
    before, after = ([c for c in CATALOG.checks(case.checks) if c.name != "outcome"] for case in cases)
    for answer in ANSWERS:
        trace = Trace(case_id="x", final_message=answer)
        assert [run_check(one, trace).status for one in before] == [run_check(one, trace).status for one in after]


@pytest.mark.parametrize(
    ("assertion", "name", "given", "negated"),
    [
        ({"type": "latency", "threshold": 1500}, "max_seconds", {"seconds": 1.5}, False),
        ({"type": "not-cost", "threshold": 0.1}, "max_cost_usd", {"usd": 0.1}, True),
        ({"type": "word-count", "value": " 3 "}, "answer_text", {"min_words": 3, "max_words": 3}, False),
        ({"type": "trajectory:tool-used", "value": ["a"]}, "tool_calls", {"tool": "a"}, False),
        ({"type": "not-trajectory:tool-used", "value": "a"}, "tool_calls_none", {"tool": "a"}, False),
        ({"type": "trajectory:tool-sequence", "value": ["a", "b"]}, "tool_order", {"tools": ["a", "b"]}, False),
        (
            {"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {"x": 1}, "mode": "exact"}},
            "tool_calls",
            {"tool": "a", "arguments": {"$eq": {"x": 1}}},
            False,
        ),
        (
            {"type": "trajectory:tool-sequence", "value": {"steps": ["a", "b"], "mode": "exact"}},
            "tools_used",
            {"tools": ["a", "b"], "match": "ordered"},
            False,
        ),
        (
            {"type": "trace-error-spans", "value": {"max_count": 2}},
            "spans",
            {"max_errors": 2},
            False,
        ),
    ],
    ids=lambda one: one.get("type", "") if isinstance(one, dict) else "",
)
def test_what_is_not_in_the_text_is_a_check_of_carob(tmp_path, assertion, name, given, negated):
    wanted = {**given, "$not": True} if negated else given
    assert args(read(tmp_path, one_test(assertion))) == [(name, wanted)]


RUBRICS = [
    ({"value": "is {{tone}}"}, "meets", "is polite"),
    ({"value": "is polite", "threshold": 0.8}, "meets", "is polite"),
    ({"value": "file://rubric.txt"}, "unjudged", "its text is in a file"),
    ({"value": ["a", "b"]}, "unjudged", "its value is a list"),
    ({"value": ""}, "unjudged", "it is empty"),
    ({"value": "x" * 2001}, "unjudged", "more than 2,000 characters"),
    ({"value": "is polite", "transform": "output.trim()"}, "unjudged", "its transform is code"),
]


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize(("more", "name", "text"), RUBRICS)
def test_a_rubric_is_a_criterion(tmp_path, kind, more, name, text):
    suite = one_test({"type": kind, **more})
    suite["tests"][0]["vars"] = {**suite["tests"][0].get("vars", {}), "tone": "polite"}
    ((found, given),) = args(read(tmp_path, suite))
    assert found == name
    assert text in str(given)
    ((found, given),) = args(read(tmp_path, one_test({"type": f"not-{kind}", **more})))
    assert found == "unjudged"


def test_a_rubric_that_is_there_twice_is_one_criterion(tmp_path):
    suite = one_test({"type": "llm-rubric", "value": "is polite"})
    suite["tests"][0]["assert"] *= 2
    assert [name for name, _ in args(read(tmp_path, suite))] == ["meets", "unjudged"]


def test_what_of_a_rubric_people_do_not_use_is_said(tmp_path):
    suite = read(tmp_path, one_test({"type": "llm-rubric", "value": "is polite", "threshold": 0.8}))
    assert "for people to decide, without its threshold" in "".join(suite.warnings)


@pytest.mark.parametrize("kind", sorted({*UNJUDGED} - {*CRITERIA}))
def test_what_another_tool_judges_is_kept_and_counted(tmp_path, kind):
    ((name, given),) = args(read(tmp_path, one_test({"type": kind, "value": "nice"})))
    assert name == "unjudged"
    assert given["what"].startswith(kind)
    assert "nice" in given["what"]


TABLE = yaml.safe_load((Path(__file__).parent / "promptfoo_assertions.yaml").read_text())


@pytest.mark.parametrize("row", TABLE, ids=lambda row: json.dumps(row["assert"])[:60])
def test_what_an_assertion_says_of_recordings(tmp_path, row):
    suite = one_test(row["assert"], options=row.get("options", {}))
    suite["providers"] = [{"id": "p", "config": {"tools": row["tools"]}}] if "tools" in row else []
    catalog = catalog_for(Project(trust_code=row.get("trusted", False)))
    (case,) = read_suite(json.dumps(suite).encode(), str(tmp_path / "promptfooconfig.yaml"), catalog).cases
    checks = catalog.checks(case.checks)
    if "not_judged" in row:
        assert [run_check(check, Trace(case_id="x", final_message="a")).status for check in checks] == ["unjudged"]
        assert row["not_judged"] in checks[0].description
    for wanted in ("passed", "failed", "unknown", "error"):
        for recording in row.get(wanted, ()):
            found = {run_check(check, trace_of(recording, case)).status for check in checks}
            worst = next(status for status in ("error", "failed", "unknown", "passed") if status in found)
            assert worst == wanted, recording


def trace_of(recording: Any, case: Any) -> Trace:
    """A text is an answer, a list the calls next to it; an object the short form of a recording."""
    if isinstance(recording, str):
        recording = {"final_message": recording}
    elif isinstance(recording, list):
        recording = {"tool_calls": recording}
    return read_trace({"final_message": "Done.", "tool_calls": [], **recording}, case)


def test_a_test_without_assertions_is_not_judged_and_no_pass(tmp_path):
    assert args(read(tmp_path, one_test())) == [("unjudged", {"what": "no assertion: a person looks at the answer"})]


def test_weights_count_where_a_threshold_decides(tmp_path):
    weighed = [{"type": "contains", "value": "a", "weight": 3}, {"type": "contains", "value": "b"}]
    (case,) = read(tmp_path, one_test(*weighed, threshold=0.7)).cases
    assert case.scoring.threshold == 0.7
    assert sorted((case.scoring.weights or {}).values()) == [1.0, 3.0]
    (plain,) = read(tmp_path, one_test(*weighed)).cases
    assert plain.scoring.weights is None


@pytest.mark.parametrize(
    ("transform", "path"),
    [
        ("output.answer", "$.answer"),
        ("JSON.parse(output).rows[0]['text']", "$.rows[0]['text']"),
        ("return json.a.b;", "$.a.b"),
        ("output.toLowerCase()", None),
    ],
)
def test_a_transform_is_read_as_far_as_it_is_a_path(tmp_path, transform, path):
    assert path_of(transform) == path
    suite = read(tmp_path, one_test({"type": "contains", "value": "a"}, options={"transform": transform}))
    ((name, given),) = args(suite)
    assert (name, given.get("at")) == (("answer_text", path) if path else ("code", None))


@pytest.mark.parametrize(
    ("cell", "assertion"),
    [
        ("Paris", {"type": "equals", "value": "Paris"}),
        ("contains: Paris", {"type": "contains", "value": "Paris"}),
        ("not-icontains:x", {"type": "not-icontains", "value": "x"}),
        ("levenshtein(3): kitten", {"type": "levenshtein", "value": "kitten", "threshold": 3.0}),
        ("is-json", {"type": "is-json"}),
        ("grade: is polite", {"type": "llm-rubric", "value": "is polite"}),
        ("javascript: output.length > 3", {"type": "javascript", "value": "output.length > 3"}),
        ("python: len(output) > 3", {"type": "python", "value": "len(output) > 3"}),
        ("file://check.py:is_short", {"type": "python", "value": "file://check.py:is_short"}),
        ("file://check.js", {"type": "javascript", "value": "file://check.js"}),
        ("http://x: y", {"type": "equals", "value": "http://x: y"}),
    ],
)
def test_a_cell_of_a_table_is_an_assertion(cell, assertion):
    assert from_text(cell) == assertion


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ({"type": "contains"}, "needs a text"),
        ({"type": "contains-any", "value": []}, "needs a list"),
        ({"type": "contains-all", "value": ["a", ""]}, "empty text"),
        ({"type": "latency"}, "needs a number"),
        ({"type": "word-count"}, "needs a whole number"),
        ({"type": "word-count", "value": "many"}, "needs a whole number"),
        ({"type": "levenshtein", "value": 3}, "levenshtein needs a text"),
        ({"type": "trace-span-count", "value": {"max": 3}}, "needs a `pattern`"),
        ({"type": "skill-used", "value": {"name": "a", "min": -1}}, "needs whole numbers"),
        ({"type": "equals", "value": "file://\0"}, "is not the name of a file"),
        ({"type": "word-count", "value": {}}, "needs a whole number"),
        ({"type": "word-count", "value": {"min": "3"}}, "needs a whole number"),
        ({"type": "trajectory:tool-used", "value": {"min": 1}}, "needs the `name` of a tool"),
        ({"type": "trajectory:tool-used", "value": {"name": ""}}, "needs the `name` of a tool"),
        ({"type": "trajectory:tool-used", "value": {"name": 3}}, "needs the `name` of a tool"),
        ({"type": "trajectory:tool-args-match", "value": "find"}, "needs `name` and `args`"),
        ({"type": "trajectory:tool-sequence", "value": "a"}, "needs a list of tools"),
        ({"type": "trajectory:tool-sequence", "value": {"steps": []}}, "needs a list of tools"),
        ({"type": "javascript", "value": 3}, "needs code as `value`"),
        ({"type": "is-json", "value": 3}, "needs a JSON Schema"),
        ({"$ref": "#/assertionTemplates/gone"}, "there is no assertion '#/assertionTemplates/gone'"),
        ({"type": "regex", "value": "(?i)a"}, "JavaScript has no (?i)"),
        ({"type": "regex", "value": "("}, "bad-regex"),
        ({"type": "is-json", "value": {"type": "nonsense"}}, "bad-schema"),
        ({"value": "a"}, "`type`"),
    ],
)
def test_an_assertion_that_is_wrong_is_an_error_at_its_place(tmp_path, assertion, message):
    text = "prompts: [hi]\ntests:\n  - assert:\n      - {type: contains, value: a}\n      - " + json.dumps(assertion)
    (found,) = problems(tmp_path, text)
    assert found.startswith("promptfooconfig.yaml:5:")
    assert message in found


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"prompts": ["x"], "tests": "file://gone.yaml"}, "no such file"),
        ({"prompts": ["x"], "tests": "file://gone/*.yaml"}, "no file matches"),
        ({"prompts": ["x"], "tests": "file://a.yaml"}, "a.yaml → b.yaml → a.yaml"),
        ({"prompts": ["x"], "tests": "file:///etc/passwd"}, "outside the project"),
        ({"prompts": ["x"], "tests": "file://../../secret.yaml"}, "outside the project"),
        ({"prompts": ["x"], "tests": "https://sheets.example/1"}, "is not here"),
        ({"prompts": ["x"], "tests": "file://make.py:tests"}, "no code is run"),
        ({"prompts": ["x"], "tests": "file://wide.csv"}, "3 cells"),
        ({"prompts": ["x"], "tests": "file://torn.jsonl"}, "not JSON"),
        ({"prompts": ["x"], "tests": "file://twice.yaml"}, "duplicate key"),
        ({"prompts": ["x"], "tests": "file://twice.json"}, "duplicate key"),
        ({"prompts": ["x"], "tests": [3]}, "expected a test"),
        ({"prompts": ["x"], "redteam": {"purpose": "p"}}, "a model makes its tests"),
        ({"prompts": [3], "tests": []}, "found a number"),
        ({"prompts": ["x"], "tests": [{"threshold": 0, "assert": [{"type": "is-json"}]}]}, "decides nothing"),
        ({"prompts": ["x"], "tests": [{"vars": "file://rows.yaml"}]}, "expected variables, found a list"),
        ({"prompts": ["x"], "tests": [{"vars": {c: [*map(str, range(30))] for c in "abc"}}]}, "combinations"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_nothing_is_skipped(tmp_path, config, message):
    files = {
        "a__yaml": "- file://b.yaml\n",
        "b__yaml": "- file://a.yaml\n",
        "rows__yaml": "- a\n",
        "make__py": "raise SystemExit",
        "wide__csv": "q,r\n1,2,3\n",
        "torn__jsonl": '{"vars": {}\n',
        "twice__yaml": "- vars: {x: a}\n  vars: {x: b}\n",
        "twice__json": '[{"vars": {"x": "a", "x": "b"}}]',
    }
    assert any(message in found for found in problems(tmp_path, config, **files))


@pytest.mark.parametrize(
    ("prompt", "variables", "why"),
    [
        ("file://p.py", {"x": "a"}, "code (p.py)"),
        ("exec:make.sh", {"x": "a"}, "its prompt is generated by exec"),
        ("langfuse://prompt@1", {"x": "a"}, "its prompt is generated by langfuse"),
        ("{{x}}", {"x": "file://cat.png"}, "not text (cat.png)"),
        ("{{x}}", {"x": "{% for %}"}, "cannot be filled in"),
        ("{{x}}", {"x": ""}, "empty"),
    ],
)
def test_a_case_whose_prompt_is_not_known_is_skipped_with_the_reason(tmp_path, prompt, variables, why):
    config = one_test({"type": "contains", "value": "a"}, vars=variables)
    (case,) = read(tmp_path, {**config, "prompts": [prompt]}).cases
    assert why in case.skip


FILLED_IN = {
    "the last line break of a variable": ("{{x}}|", {"x": 'say "hi"\n'}, 'say "hi"|'),
    "only the last": ("{{x}}|", {"x": "a\n\n"}, "a\n|"),
    "text within JSON": ('{"q": "{{x}}", "n": 1.0}', {"x": 'a "b"'}, '{\n  "q": "a \\"b\\"",\n  "n": 1\n}'),
    "a message": ('[{"role": "user", "content": "{{x}}"}]', {"x": 'a\n"b"'}, 'a\n"b"'),
    "JSON only once it is filled in": ('{"n": {{x}}}', {"x": 3}, '{"n": 3}'),
    "the line break of a template": ("{% if x %}{{x}}{% endif %}\n", {"x": "a"}, "a\n"),
    "a list that is no list of messages": ('[1, "{{x}}"]', {"x": "a"}, '[\n  1,\n  "a"\n]'),
    "nothing where a variable is not set": ("{{x}} {{ y | default(z) }}|", {"x": "a"}, "a |"),
    "a number": ("{{x}} {{y}}", {"x": 2.0, "y": 0.5}, "2 0.5"),
    "an object as JSON": (
        "{{ x | dump }} {{ x | dump(1) }}",
        {"x": {"a": ["ü"]}},
        '{"a":["ü"]} {\n "a": [\n  "ü"\n ]\n}',
    ),
    "a variable that names another": ("{{x}}", {"x": "{{y}}!", "y": "a"}, "a!"),
    "a variable that names one that is not set": ("{{x}}", {"x": "{{y}}!"}, "{{y}}!"),
    "a list of messages": ("{% for m in x %}{{ m.say }}{% endfor %}", {"x": [{"say": "a"}, {"say": "b"}]}, "ab"),
    "a list of numbers": ("{{x}}", {"x": [1, 2]}, "1,2"),
    "an empty list": ("{{x}}|", {"x": []}, "|"),
    "a YAML file": ("{{x}}", {"x": "file://list.yaml"}, '["a",{"b":"ü"}]'),
    "a JSON file": ("{{x}}", {"x": "file://list.json"}, '["a", 1.0]'),
    "a table": ("{{x}}", {"x": "file://rows.csv"}, "a,b\n1,2"),
    "a text file": ("{{x}}", {"x": "file://long.txt"}, "text"),
}
"""As promptfoo 0.121 does it."""


@pytest.mark.parametrize(("prompt", "variables", "expected"), FILLED_IN.values(), ids=FILLED_IN)
def test_prompts_are_filled_in_as_promptfoo_does(tmp_path, prompt, variables, expected):
    files = {
        "list__yaml": "- a\n- b: ü\n",
        "list__json": '["a", 1.0]\n',
        "rows__csv": "a,b\n1,2\n",
        "long__txt": "\n text \n\n",
    }
    config = {"prompts": [prompt], "tests": [{"vars": variables, "assert": [{"type": "equals", "value": "{{x}}"}]}]}
    (case,) = read(tmp_path, config, **files).cases
    assert case.prompt == expected


@pytest.mark.parametrize(
    ("module", "limit", "config", "message"),
    [
        (files, "MOST_FILES", {"prompts": ["x"], "tests": "file://rows/*.csv"}, "files match"),
        (files, "MOST_ROWS", {"prompts": ["x"], "tests": "file://rows/a.csv"}, "it has more than"),
        (suite, "MOST_CASES", {"prompts": ["x"], "tests": [{}, {}]}, "cases. Split it."),
    ],
)
def test_what_is_too_much_is_refused(tmp_path, monkeypatch, module, limit, config, message):
    monkeypatch.setattr(module, limit, 1)
    rows = {"rows/a__csv": "q\n1\n2\n", "rows/b__csv": "q\n1\n"}
    assert any(message in found for found in problems(tmp_path, config, **rows))


@pytest.mark.parametrize("text", ["{{ 'a' * 10**9 }}", "{% for i in range(9) %}{% endfor %}", "{{ x.upper() }}"])
def test_a_template_runs_nothing(text):
    with pytest.raises(BadTemplateError):
        render(text, {"x": "a"})


@pytest.mark.parametrize("text", ["{{ x | upper }}", "{{ x | upper }}" + " " * 700])
def test_a_template_that_grows_too_long_is_refused(text, monkeypatch):
    monkeypatch.setattr(templates, "LONGEST", 1000)
    assert render("{{ x | upper }}", {"x": "a" * 1000}) == "A" * 1000
    with pytest.raises(BadTemplateError, match="filled-in template is too long"):
        render(text, {"x": "a" * 1001})


@pytest.mark.parametrize("name", ["t.json", "t.yaml"])
def test_a_file_of_tests_is_a_list_in_json_or_yaml(tmp_path, name):
    tests = [{"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "a"}]}, "file://more.json"]
    config = {"prompts": ["{{q}}"], "tests": f"file://{name}"}
    suite = read(tmp_path, config, **{name.replace(".", "__"): json.dumps(tests), "more__json": json.dumps(tests[:1])})
    assert [case.prompt for case in suite.cases] == ["a", "a"]


def test_a_large_table_is_read(tmp_path):
    rows = "".join(f"question {n},contains: {n}\n" for n in range(5_000))
    suite = read(tmp_path, {"prompts": ["{{q}}"], "tests": "file://t.csv"}, t__csv=f"q,__expected\n{rows}")
    assert len(suite.cases) == 5_000


def test_a_table_over_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("carob.suites.documents.source.LARGEST", 1_000)
    table = "q\n" + "x\n" * 1_000
    assert any(
        "is larger than" in one for one in problems(tmp_path, {"prompts": ["x"], "tests": "file://t.csv"}, t__csv=table)
    )


@pytest.mark.parametrize(
    ("provider", "spec", "options"),
    [
        (
            {"id": "https", "config": {
                "url": "https://x.example/chat", "body": {"q": "{{prompt}}"}, "transformResponse": "json.answer"}},
            "https://x.example/chat",
            {"method": "POST", "body": {"q": "{prompt}"}, "answer": "$.answer"},
        ),
        (
            {"id": "openai:chat:m", "config": {"apiBaseUrl": "http://127.0.0.1/v1", "temperature": 0}},
            "openai:http://127.0.0.1/v1",
            {"model": "m", "parameters": {"temperature": 0}},
        ),
        ("openai:gpt-4o", "", {}),
        ("exec:./p.sh -q", CODE, {"provider": "exec:./p.sh -q", "config": {}, "folder": ""}),
        ({"id": "file://p.py", "config": {"a": 1}},
            CODE, {"provider": "file://p.py", "config": {"a": 1}, "folder": ""}),
        (
            {"id": "https://x.example", "config": {"body": {"said": [{"text": "{{prompt}}"}]}}},
            "https://x.example",
            {"method": "POST", "body": {"said": [{"text": "{prompt}"}]}},
        ),
        ({"id": "https://x.example", "config": {"body": {"said": ["{{other}}"]}}}, "", {}),
        ({"id": "https://x.example", "config": {"body": {}, "transformResponse": "json.a + 1"}}, "", {}),
        ({"id": "exec:./p.sh", "config": ["a"]}, "", {}),
        ("python:p.py:ask", CODE, {"provider": "python:p.py:ask", "config": {}, "folder": ""}),
        ("file://provider.js", "", {}),
        ("package:a:b", "", {}),
        ({"id": "http://x", "config": {"body": {"q": "{{prompt}}"}, "headers": {"a": "{{env.KEY}}"}}}, "", {}),
    ],
)  # fmt: skip
def test_a_provider_is_a_target_only_where_it_has_an_equal(provider, spec, options):
    assert target_of([provider]) == (spec, options)
    assert target_of([provider, provider]).spec == ""


def test_every_known_type_is_read_or_named_as_unjudged():
    assert len(known_types()) == len(set(known_types())) > 60


@pytest.mark.parametrize(
    ("named", "file", "text", "expected"),
    [
        ("prompts.txt", "prompts.txt", "Say {{x}}\n---\nTell {{x}}\n", ["Say a", "Tell a"]),
        ("file://prompts.txt", "prompts.txt", "Say {{x}}\n --- \nTell {{x}}", ["Say a", "Tell a"]),
        ("my prompts.txt", "my prompts.txt", "Say {{x}}", ["Say a"]),
        ("p.yaml", "p.yaml", "- {role: user, content: 'Say {{x}}'}\n", ["Say a"]),
        ("prompts/*.md", "prompts/a.md", "Say\n---\n{{x}}", ["Say\n---\na"]),
        ("*.csv", "p.csv", "prompt,label\nSay {{x}},one\n\"Tell, then, {{x}}\",\n", ["Say a", "Tell, then, a"]),
        ("p.csv", "p.csv", "prompt\nSay {{x}}\n\nTell {{x}}\n", ["Say a", "Tell a"]),
        ("p.csv", "p.csv", "Say {{x}}\nTell {{x}}\n", ["Say a", "Tell a"]),
        ("Say *{{x}}*", "p.csv", "prompt", ["Say *a*"]),
        ("Is this /etc/hosts?", "p.csv", "prompt", ["Is this /etc/hosts?"]),
        ("Why **not**?", "p.csv", "prompt", ["Why **not**?"]),
        ("What does prompts.txt say", "p.csv", "prompt", ["What does prompts.txt say"]),
    ],
)  # fmt: skip
def test_a_prompt_may_be_the_name_of_a_file(tmp_path, named, file, text, expected):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    suite = read(tmp_path, {**one_test({"type": "contains", "value": "a"}), "prompts": [named]})
    assert [case.prompt for case in suite.cases] == expected


@pytest.mark.parametrize("named", ["prompts.txt", "gone/p.csv"])
def test_a_file_of_prompts_that_is_missing_is_no_prompt(tmp_path, named):
    (found,) = problems(tmp_path, {**one_test({"type": "contains", "value": "a"}), "prompts": [named]})
    assert "missing-file" in found


def test_a_table_of_prompts_without_its_column_is_refused(tmp_path):
    (found,) = problems(tmp_path, {**one_test(), "prompts": ["p.csv"]}, p__csv="text,label\na,b\n")
    assert "no column `prompt`" in found


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "contains", "value": "a", "weight": 0},
        {"type": "assert-set", "weight": 0, "assert": [{"type": "contains", "value": "a"}]},
    ],
)
def test_an_assertion_without_weight_cannot_fail_and_is_said_not_to_be_checked(tmp_path, assertion):
    suite = read(tmp_path, one_test({"type": "contains", "value": "b"}, assertion))
    assert args(suite) == [("answer_text", {"contains": "b"})]
    (warning,) = suite.warnings
    assert "with a weight of 0 it cannot fail" in warning


@pytest.mark.parametrize("pattern", ["file://../data/*.yaml", "file://../data/one.yaml", "file://../**/one.yaml"])
@pytest.mark.parametrize("started_in", ["evals", "other"])
def test_files_of_the_project_may_be_in_other_folders(tmp_path, monkeypatch, pattern, started_in):
    for folder in ("evals", "data", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / started_in / "package.json").write_text("{}") if started_in == "other" else None
    (tmp_path / "data" / "one.yaml").write_text("- {vars: {x: b}, assert: [{type: contains, value: b}]}")
    (tmp_path / "evals" / "promptfooconfig.yaml").write_text(f"prompts: ['Say {{{{x}}}}']\ntests: {pattern}\n")
    monkeypatch.chdir(tmp_path / started_in)
    path = "promptfooconfig.yaml" if started_in == "evals" else "../evals/promptfooconfig.yaml"
    suite = read_suite(Path(path).read_bytes(), path, CATALOG)
    assert [case.prompt for case in suite.cases] == ["Say b"]
