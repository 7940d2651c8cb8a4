"""Any format as Carob 1 in YAML: what is read back is what was there, whatever the texts hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

import carob
from carob.checks.catalog import catalog_for
from carob.plugins.project import find_project
from carob.suites import loads
from carob.suites.documents.yaml import YamlDocument
from carob.suites.documents.yaml_text import block

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((*ROOT.glob(".claude/evals/*.json"), *ROOT.glob("eval/golden_sets/*.json")))
CAROB_1 = [*ROOT.glob("examples/*/suite.yaml"), ROOT / "tests/conversations/refund_desk.yaml"]

ODD = [
    *("no", "On", "y", "NULL", "~", "", " ", "true", "1e3", "012", "0x1F", "1_000", ".5", "-", "---", "..."),
    *("12:30", "2026-03-12", "a: b", "a #b", "# a", "- a", "? a", "& a", "* a", "! a", "| a", "> a", "%a", "@a"),
    *("`a", "{a}", "{{a}}", "[a]", "a,b", "<<", "it's", '"', "'", "\\", '\\d+\\"', "a\tb", "a  b", " a", "a "),
    *("a\nb", "a\n", "a\n\nb\n", "\na", "a\n\n", "a \nb", " a\nb", "a\n# b\n--- \n", "a\n  b\n c", "a\n\tb"),
    *("a\rb", "a\r\nb", "a\x85b", "a\u2028b", "\x00", "\x07", "\x1b[31m", "\x7f", "\ufeff", "\u202eabc\u202c"),
    *(
        "\xa0",
        "\u200d",
        "😀",
        "👩\u200d👧",
        "é",
        "e\u0301",
        "\ufffe",
        "\U0010ffff",
        "中文",
        "a: |\n  x",
        "=",
        "null\n",
        "$eq",
        "$",
    ),
]

texts = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda below: st.lists(below, max_size=4) | st.dictionaries(texts, below, max_size=4), max_leaves=8
)
filled = st.dictionaries(texts, values, min_size=1, max_size=4) | st.lists(values, min_size=1, max_size=4)


@given(value=filled)
@example(value={text: [text, {text: text}, [text]] for text in ODD})
@example(value={"k" * 3000: {"k" * 2000: 1}, "😀" * 990: ["\n" * 3, "x" * 200, "y" * 200]})
@example(value=[[[]], [{}], {"": {"": []}}, -0.0, 1e16, 5e-324, 2**64 - 1])
def test_values_read_back(value: Any) -> None:
    text = "\n".join([*block(value), ""])
    read = YamlDocument(text.encode())
    assert repr(read.tree) == repr(value)
    assert read.diagnostics == []
    assert text.replace("\n", "").isprintable()


@given(value=st.dictionaries(texts, texts | st.lists(texts), min_size=1))
@example(value={text: text for text in ODD})
@example(value={"asked": ["ready?", "why? now", "so"]})
def test_texts_are_texts_to_other_readers_too(value: Any) -> None:
    assert yaml.safe_load("\n".join([*block(value), ""])) == value


phrases = texts.filter(lambda text: text.strip().isalpha())
prompts = st.sampled_from([text for text in ODD if text.strip(" \t\r\n\x85\u2028\x00\x07\x7f\ufeff\xa0\u200d")])
notes = st.fixed_dictionaries({}, optional={"metadata": values, "x-n": values})
expected = st.fixed_dictionaries(
    {"must_say_any": st.lists(phrases, min_size=1, max_size=2)},
    optional={
        "outcome": st.sampled_from(["response_only", "graceful_block"]),
        "tool_calls": st.just([{"tool": "a", "arguments": {"b": 1.0, "c": [1, "1e3"]}, "times": {"min": 1}}]),
        "answer_json": st.just({"type": "object", "required": ["no"]}),
        "min_pass_rate": st.sampled_from([0.5, 1]),
        "x-n": values,
        "must_label_assumptions": st.booleans(),
    },
)
scoring = st.fixed_dictionaries(
    {},
    optional={
        "hard_fail": st.just(["formatting"]),
        "soft_score": st.just({"threshold": 0.5, "weights": {"formatting": 2, "qa": 0.0}}),
    },
)
own_scoring = st.fixed_dictionaries({}, optional={"scoring": scoring})


@st.composite
def eval_cases(draw: st.DrawFn, number: int) -> dict[str, Any]:
    asked = draw(expected)
    beside = draw(own_scoring)
    inside = {} if beside else draw(own_scoring)
    extra = draw(
        st.fixed_dictionaries({}, optional={"setup_prompts": st.lists(prompts), "preconditions": st.lists(texts)})
    )
    return {"id": f"no{number}", "prompt": draw(prompts), **extra, "expected": asked | inside, **beside, **draw(notes)}


@st.composite
def golden_cases(draw: st.DrawFn, number: int) -> dict[str, Any]:
    decision = {"reason_contains": ["no", "1e3"], "tools_used": [], "x-n": draw(values)}
    limits = draw(st.fixed_dictionaries({}, optional={"constraints": values}))
    how = draw(st.sampled_from(["decision", "qa", "short", "both"]))
    asked = {
        "decision": {"expected": {**decision, **limits, "min_pass_rate": 0.5}},
        "qa": {"must_not_contain": ["off"], "expected_contains": ["012"]},
        "short": {"expected": ["~", "null"]},
        "both": {"expected": decision, "must_not_contain": ["off"]},
    }[how]
    beside = draw(st.fixed_dictionaries({}, optional={"constraints": values}))
    return {"id": f"off{number}", "input": draw(prompts), **asked, **beside, **draw(notes)}


tops = st.fixed_dictionaries(
    {},
    optional={
        "name": texts, "version": st.sampled_from(["0.1", "0.3.1"]), "$schema": texts, "captured_at": values,
        "integration_baseline": values, "metadata": values, "description": texts, "x-n": values,
    },
)  # fmt: skip


@settings(max_examples=12)
@given(top=tops, first=eval_cases(1), second=eval_cases(2))
def test_eval_sets_read_back(top: Any, first: Any, second: Any) -> None:
    assert_reads_back({**top, "cases": [first, second]})


@settings(max_examples=12)
@given(first=golden_cases(1), second=golden_cases(2))
def test_golden_sets_read_back(first: Any, second: Any) -> None:
    assert_reads_back([first, second])


def assert_reads_back(suite: Any) -> None:
    """The same cases, to the byte of each check, and the same notes but for the schema of editors."""
    before = carob.load_suite(suite)
    after = loads(carob.convert(suite).encode(), "s.yaml", catalog_for(find_project()))
    assert (after.format, after.name, after.description) == ("carob-1", before.name, before.description)
    assert after.cases == before.cases
    told = [[case.metadata for case in one.cases] + [{**one.metadata, "$schema": 0}] for one in (before, after)]
    assert json.dumps(told[0], sort_keys=True) == json.dumps(told[1], sort_keys=True)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_suites_read_back(path: Path) -> None:
    assert len(SHIPPED) == 5
    assert (
        loads(carob.convert(path).encode(), "s.yaml", catalog_for(find_project())).cases == carob.load_suite(path).cases
    )


def test_a_recorded_run_judged_by_the_converted_suite_comes_out_the_same(tmp_path: Path) -> None:
    suite = ROOT / ".claude/evals/synthesis-eval-set.v0.3.json"
    ran = carob.run(suite, lambda prompt: {"final_message": f"12 {prompt}", "tools_called": ["add_component"]})
    carob.convert(suite, tmp_path / "s.yaml")
    again = carob.rescore(ran.journal, tmp_path / "s.yaml")
    assert [record.verdict for record in again] == [record.verdict for record in ran]
    assert {check.status for record in ran for check in record.verdict.checks} == {
        carob.Status.PASSED,
        carob.Status.FAILED,
        carob.Status.UNKNOWN,
    }


@pytest.mark.parametrize("path", CAROB_1, ids=lambda path: path.parent.name)
def test_carob_1_in_json_reads_back_and_in_yaml_stays_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)  # the texts that a suite names are next to it
    assert carob.convert(path) == path.read_text()
    as_json = json.dumps(YamlDocument(path.read_bytes()).tree)
    assert (
        loads(carob.convert(as_json).encode(), "s.yaml", catalog_for(find_project())).cases
        == carob.load_suite(path).cases
    )


GOLDEN = [{"id": "Q", "input": "Which dyno?", "expected_contains": ["no"], "constraints": {"drive": "AWD"}}]
EVALS = {
    "version": "0.3",
    "$schema": "evil\n# \x1b[31m",
    "captured_at": "2026-03-12",
    "cases": [
        {
            "id": "A",
            "prompt": "one\ntwo",
            "expected": {"must_match_regex": ['\\d+ "no"'], "scoring": {"hard_fail": ["formatting"]}},
        }
    ],
}


def test_what_had_no_equal_is_a_comment() -> None:
    assert carob.convert(GOLDEN) == (
        "# Carob 1 from the golden set '<object>', with 'input' renamed to 'prompt' and expectations in 'expected'.\n"
        "carob: 1\ncases:\n"
        "  # Moved into metadata, where they are not judged either: constraints.\n"
        "  - id: Q\n    prompt: Which dyno?\n    metadata:\n      constraints:\n        drive: AWD\n"
        '    expected:\n      expected_contains: ["no"]\n'
    )
    assert carob.convert(EVALS) == (
        "# Carob 1 from the eval set '<object>'.\n"
        '# Left out: version "0.3". Carob 1 knows every field.\n'
        '# Left out: $schema "evil\\n# \\u001b[31m", that of eval sets. See: carob lint --schema carob-1.\n'
        "# Moved into metadata: captured_at.\n"
        'carob: 1\nmetadata:\n  captured_at: "2026-03-12"\ncases:\n'
        "  # 'scoring' was in 'expected'.\n"
        "  - id: A\n    prompt: |-\n      one\n      two\n"
        "    expected:\n      must_match_regex: ['\\d+ \"no\"']\n    scoring:\n      hard_fail: [formatting]\n"
    )
    as_yaml = "cases:\n  - { id: A, prompt: p, expected: { must_say_any: [a] } }  # why\n"
    assert "# Comments of the source file are not included.\n" in carob.convert(as_yaml)


async def test_the_twin_writes_too(tmp_path: Path) -> None:
    text = await carob.aconvert(GOLDEN, tmp_path / "q.yaml")
    assert (tmp_path / "q.yaml").read_text() == text
