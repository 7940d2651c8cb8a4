"""Whatever a file holds: a suite or problems inside the file, never a traceback; YAML and JSON agree."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from carob.errors import SuiteError
from carob.model.suite import Case, Suite
from carob.suites import loads
from catalogs import CATALOG

KEYS = [
    *("id", "prompt", "input", "expected", "scoring", "cases", "version", "metadata", "x-n", "category", "hard_fail"),
    *("soft_score", "weights", "threshold", "setup_prompts", "constraints", "name", "$schema", "min_pass_rate", "é\n"),
    *CATALOG.fields,
]
VALUES = ["A", "0.1", "0.3", "tool_success", "(", "a*", "", " ", "qa", "é😀", "\u2028", "x" * 100, "a\tb"]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**21), 10**21)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(VALUES)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
keys = st.sampled_from(KEYS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
trees = st.recursive(
    scalars, lambda below: st.lists(below, max_size=4) | st.dictionaries(keys, below, max_size=6), max_leaves=25
)
expected = st.dictionaries(st.sampled_from(KEYS), trees, max_size=4)
cases = st.fixed_dictionaries(
    {"id": st.sampled_from(["A", "B", "C"]), "prompt": st.just("p")},
    optional={"expected": expected, "scoring": trees, "x-n": trees, "input": st.just("i"), "must_not_contain": trees},
)
suites = st.fixed_dictionaries({"cases": st.lists(cases, max_size=3)}, optional={"version": scalars, "metadata": trees})

anything = trees | suites | st.lists(cases, max_size=3)

SMALL = 1 << 16

JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))
"""Some scripts and emoji need them, and they are inert."""


def result(data: str | bytes, file: str) -> Suite | SuiteError:
    try:
        return loads(data.encode() if isinstance(data, str) else data, file, CATALOG)
    except SuiteError as error:
        return error


def assert_inside(error: SuiteError, text: str) -> None:
    rows = text.split("\n")
    assert error.problems
    for problem in error.problems:
        assert 1 <= problem.line <= len(rows)
        assert 1 <= problem.column <= len(rows[problem.line - 1]) + 1
        assert problem.message
        assert problem.slug
        assert str(problem).translate(JOINERS).isprintable()
    assert [(p.line, p.column) for p in error.problems] == sorted((p.line, p.column) for p in error.problems)


@given(tree=anything, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_any_json_is_a_suite_or_problems_inside_the_file(tree: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    found = result(text, "s.json")
    if isinstance(found, SuiteError):
        assert_inside(found, text)


@given(text=st.text(max_size=40) | st.text(alphabet='{}[]",:\\ud8c0é1eE+- \nnulltrue&*!#|>?%@`', max_size=60))
@pytest.mark.parametrize("file", ["s.json", "s.yaml"])
@example(text="\ud800")
def test_any_text_is_a_suite_or_problems_inside_the_file(text: str, file: str) -> None:
    text = text.encode(errors="replace").decode()
    found = result(text, file)
    if isinstance(found, SuiteError):
        assert_inside(found, text.removeprefix("\ufeff"))


@given(data=st.binary(max_size=60))
@pytest.mark.parametrize("file", ["s.json", "s.yaml"])
def test_any_bytes_are_refused_or_read(data: bytes, file: str) -> None:
    found = result(data, file)
    if isinstance(found, SuiteError):
        assert len(found.problems) == len(str(found).splitlines())


def plain(case: Case) -> tuple[Any, ...]:
    specs = [(spec.name, bytes(spec.args), spec.path) for spec in case.checks]
    return case.id, case.prompt, case.category, case.outcome, specs, case.scoring, case.metadata


@given(tree=anything)
@example(
    tree={
        "cases": [{"id": "A", "prompt": "no", "expected": {"must_say_any": ["on", "1"]}, "x-n": [1.5, None, True, "~"]}]
    }
)
def test_yaml_and_json_spell_the_same_suite(tree: Any) -> None:
    assume(isinstance(tree, dict | list))  # a bare number is no suite, and nothing more is said of it
    as_json = result(json.dumps(tree), "s.json")
    as_yaml = result(yaml.dump(tree, Dumper=Quoting, allow_unicode=False), "s.yaml")
    if isinstance(as_json, Suite):
        assert isinstance(as_yaml, Suite), str(as_yaml)
        assert list(map(plain, as_yaml.cases)) == list(map(plain, as_json.cases))
    else:
        assert isinstance(as_yaml, SuiteError)
        assert {(p.path, p.message) for p in as_yaml.problems} == {(p.path, p.message) for p in as_json.problems}


@given(tree=anything, indent=st.sampled_from([None, 1]))
@example(tree={"cases": [{"id": "A", "prompt": "p", "expected": {"must_say_any": ["a"], "x-n": 1}}]}, indent=None)
@example(tree={"cases": [{"id": "A", "prompt": "p", "expected": {"must_say_any": ["a"]}, "x-n": 1e200}]}, indent=1)
def test_a_large_file_reads_as_a_small_one(tree: Any, indent: int | None) -> None:
    text = json.dumps(tree, indent=indent)
    assert seen(result(text + "\n" * SMALL, "s.json")) == seen(result(text, "s.json"))


@pytest.mark.parametrize(
    "text",
    [
        '{"cases": [], "cases": [{"id": "A", "prompt": "p", "expected": {"must_say_any": ["a"]}}]}',
        '{"cases": [{"id": "A", "id": "B", "prompt": "p", "expected": {"must_say_any": ["a"]}}]}',
        '{"name": {"a": 1, "a": 2}, "cases": [{"id": "A", "prompt": "p", "expected": {"must_say_any": ["a"]}}]}',
        '{"name": NaN, "cases": [{"id": "A", "prompt": "p", "expected": {"must_say_any": ["a"]}}]}',
        '{"cases": [{"id": "A", "prompt": "\\ud800", "expected": {"must_say_any": ["a"]}}]}',
        '{"cases": [{"id": "A", "prompt": "p", "x-n": ' + "[" * 300 + "]" * 300 + "}]}",
        '{"cases": [{"id": "A", "prompt": "p", "expected": {"must_say_any": ["a"]}},]}',
    ],
    ids=["cases-twice", "key-twice-in-a-case", "key-twice-beside", "nan", "surrogate", "deep", "comma"],
)
def test_what_is_wrong_with_a_large_file_is_told_as_of_a_small_one(text: str) -> None:
    told = result(text + "\n" * SMALL, "s.json")
    assert isinstance(told, SuiteError)
    assert seen(told) == seen(result(text, "s.json"))


def seen(found: Suite | SuiteError) -> Any:
    if isinstance(found, SuiteError):
        return found.problems
    return found.format, found.version, found.name, found.metadata, found.warnings, list(map(plain, found.cases))


class Quoting(yaml.SafeDumper):
    """Writes strings in quotes and numbers as JSON spells them, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
Quoting.add_representer(
    float, lambda dumper, number: dumper.represent_scalar("tag:yaml.org,2002:float", json.dumps(number))
)
# YAML 1.1 knows no float without a dot, and would write `!!float 5e-324`.
Quoting.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"-?\d+(\.\d+)?[eE][-+]?\d+$"), list("-0123456789"))
