"""Two runs held against each other, by the front door and by the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import carob
from carob.errors import CarobError
from carob.features.compare.builder import FOUND, _with_found
from carob.features.compare.model import Change, Comparison, Flip
from carob.features.compare.report import comparison_html, comparison_json, comparison_markdown, headline
from features.compare.runs import journal, many


def changes(comparison: Comparison) -> dict[str, str]:
    return {case.id: case.change.value for case in comparison.changes}


def test_every_kind_of_change_is_told_apart(tmp_path: Path) -> None:
    before = journal(tmp_path, "a", {"x-broke": "p", "x-mended": "f", "x-red": "f", "x-green": "p", "y-gone": "p",
                                     "y-asks": "p", "y-expects": "p", "y-erred": "p"})  # fmt: skip
    after = journal(
        tmp_path, "b",
        {"x-green": "p", "x-broke": "f", "x-mended": "p", "x-red": "f",
         "y-new": "p", "y-asks": "p", "y-expects": "p", "y-erred": "e"},
        y_asks={"prompt": "y-asks", "setup_prompts": []}, y_expects={"expected": {"must_say_any": ["ok"]}},
    )  # fmt: skip
    other = journal(tmp_path, "c", {"y-asks": "pp", "x-green": "p"}, y_asks={"setup_prompts": ["y-asks"]})
    comparison = carob.compare_runs(before, after)
    assert changes(comparison) == {
        "x-broke": "fell", "x-mended": "mended", "x-red": "stayed red", "y-gone": "gone", "y-new": "new",
        "y-expects": "expects otherwise", "y-erred": "erred",
    }  # fmt: skip
    assert comparison.compared == 5
    assert comparison.new.errors == 1
    assert carob.compare_runs(before, other).count(Change.PROMPT_CHANGED) == 1


def test_what_flickers_is_not_what_broke(tmp_path: Path) -> None:
    steady = many(10, letters=["pppppppp"])
    before = journal(tmp_path, "a", {**steady, "x-flickers": "pppppppp", "x-broke": "pppppppp", "x-mended": "ffffffpf"})
    after = journal(tmp_path, "b", {**steady, "x-flickers": "pppppppf", "x-broke": "fffpffff", "x-mended": "pppppppp"})
    comparison = carob.compare_runs(before, after)
    assert changes(comparison) == {"x-flickers": "flickers", "x-broke": "broke", "x-mended": "mended"}
    assert comparison.overall.test == "permutation"


def test_the_flipped_expectation_and_both_answers_are_shown(tmp_path: Path) -> None:
    comparison = carob.compare_runs(
        journal(tmp_path, "a", {"x-1": "p", "x-2": "p"}), journal(tmp_path, "b", {"x-1": "p", "x-2": "f"})
    )
    (case,) = comparison.changes
    assert [(flip.check, flip.before, flip.after) for flip in case.flips] == [
        ("must_say_any", "held in 1 of 1", "held in 0 of 1"),
        ("must_not_say[0]", "held in 1 of 1", "held in 0 of 1"),
    ]
    assert "bad" in case.flips[1].found
    assert case.base_excerpt is not None
    assert case.new_excerpt is not None
    assert (case.base_excerpt.answer, case.base_excerpt.calls) == ("ok", ("look() → success",))
    assert (case.new_excerpt.answer, case.new_excerpt.calls) == ("this is bad", ("look() → failure",))


NOT_SURE = "chance is excluded for none of them alone, which has too few runs"
STEEP = r"37\.5 points \(true change: {0}[245]\d(\.\d)? to {0}[245]\d(\.\d)?\), which is significant at 95 %"


@pytest.mark.parametrize(
    ("before", "after", "moved", "risen"),
    [
        pytest.param(many(111, 9), {**many(120), "case-0": "f", "case-1": "f", "case-2": "f"},
                     f"3 of 120 cases passed before and fail now: {NOT_SURE}; 9 were fixed",
                     r"rose by 5 points \(.*\), which is not significant at 95 %", id="some"),
        pytest.param(many(40, 40), many(70, 10), "none of 80 cases that passed before fails now; 30 were fixed",
                     "rose by " + STEEP.format("[+]"), id="up"),
        pytest.param(many(70, 10), many(40, 40), f"30 of 80 cases passed before and fail now: {NOT_SURE}; 0 were fixed",
                     "fell by " + STEEP.format("-"), id="down"),
        pytest.param(many(9, 1), many(9, 1), "none of 10 cases that passed before fails now; 0 were fixed",
                     r"stayed the same \(.*\), which is not"),
    ],
)  # fmt: skip
def test_words_first(before: dict[str, str], after: dict[str, str], moved: str, risen: str, tmp_path: Path) -> None:
    comparison = carob.compare_runs(journal(tmp_path, "a", before), journal(tmp_path, "b", after))
    assert re.match(f"{moved}; the pass rate {risen}", headline(comparison)), headline(comparison)


def test_all_forms_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob_line: Any) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = journal(tmp_path, "a", many(30, 2)), journal(tmp_path, "b", many(20, 12))
    comparison = carob.compare_runs(before, after)
    document = json.loads(comparison_json(comparison))
    assert document["headline"] == headline(comparison)
    assert document["overall"]["difference"]["value"] == pytest.approx(-10 / 32)
    for form in (
        comparison_markdown(comparison).decode(),
        comparison_html(comparison),
        carob_line("compare", str(before), str(after)).out,
    ):
        assert headline(comparison) in form
        assert "-31.2" in form or "31.2 points" in form


def test_hostile_names_and_answers_stay_inert(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>|`x`"
    comparison = carob.compare_runs(
        journal(tmp_path, "a", {evil: "p", "b": "p"}), journal(tmp_path, "b", {evil: "f", "b": "p"})
    )
    assert "<img" not in comparison_html(comparison)
    assert re.search(r"(?<!\\)<img", comparison_markdown(comparison).decode()) is None


def test_groups_are_corrected_for_how_many_are_looked_at(tmp_path: Path) -> None:
    base = {**many(12, prefix="x"), **many(12, prefix="y"), **many(12, prefix="z")}
    new = {**many(4, 8, prefix="x"), **many(12, prefix="y"), **many(12, prefix="z")}
    comparison = carob.compare_runs(journal(tmp_path, "a", base), journal(tmp_path, "b", new))
    by_name = {group.scope: group for group in comparison.groups}
    assert by_name["category x"].p == pytest.approx(3 * comparison.overall.p)
    assert by_name["category x"].sure == "worse"
    assert by_name["category y"].sure == ""


def edited(path: Path, change: Any) -> Path:
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"".join(line + b"\n" for line in change(lines)))
    return path


def test_a_run_that_is_not_complete_is_told_and_never_green(tmp_path: Path) -> None:
    before = journal(tmp_path, "a", many(5))
    after = edited(journal(tmp_path, "b", many(5)), lambda lines: lines[:4])
    comparison = carob.compare_runs(before, after, max_new_failures=0)
    assert "the new run is not complete" in "".join(comparison.notes)
    assert comparison.gates[0].verdict == "undecided"
    assert comparison.exit_code == 1


def test_an_edited_verdict_is_not_believed(tmp_path: Path) -> None:
    def forge(lines: list[bytes]) -> list[bytes]:
        return [line.replace(b'"status":"FAIL"', b'"status":"PASS"') for line in lines]

    after = edited(journal(tmp_path, "b", many(2, 3)), forge)
    comparison = carob.compare_runs(journal(tmp_path, "a", many(5)), after)
    assert comparison.count(Change.FELL) == 3
    assert "edited" in comparison.new.incomplete


def test_timings_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    def spoil(lines: list[bytes]) -> list[bytes]:
        changed = []
        for line in lines:
            record = msgspec.json.decode(line)
            if record["kind"] == "case":
                record["duration_ms"] = record["trace"]["duration_ms"] = -5.0
            changed.append(msgspec.json.encode(record))
        return changed

    before = journal(tmp_path, "a", many(5))
    after = edited(journal(tmp_path, "b", many(5)), spoil)
    assert "seconds" not in [measure.name for measure in carob.compare_runs(before, after).measures]


@pytest.mark.parametrize(
    ("before", "after"),
    [pytest.param({"a": "p"}, {"b": "p"}, id="no-common-case"), pytest.param({"a": "e"}, {"a": "p"}, id="all-erred")],
)
def test_nothing_to_compare_is_an_error(before: dict[str, str], after: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(CarobError, match="no case can be compared") as caught:
        carob.compare_runs(journal(tmp_path, "a", before), journal(tmp_path, "b", after))
    assert caught.value.exit_code == 4


def test_one_case_alone_is_told(tmp_path: Path) -> None:
    comparison = carob.compare_runs(journal(tmp_path, "a", {"a": "p"}), journal(tmp_path, "b", {"a": "f"}))
    assert "only one case" in comparison.notes[0]
    assert comparison.overall.sure == ""


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"not json\n", b'{"kind":"header","format":99}\n', b'{"carob_baseline":9}\n']
)
def test_what_is_no_run_is_told_in_a_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(CarobError) as caught:
        carob.compare_runs(tmp_path / "bad.jsonl", journal(tmp_path, "b", {"a": "p"}))
    assert caught.value.exit_code == 4
    assert "bad.jsonl" in str(caught.value)


def test_runs_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "carob-results").mkdir()
    green = journal(tmp_path, "carob-results", many(4))
    red = journal(tmp_path, "carob-results", many(3, 1))
    last = journal(tmp_path, "carob-results", many(2, 2))
    assert carob.compare_runs("@last", last).base.path == str(red.relative_to(tmp_path))
    assert carob.compare_runs("@last-green", "@last").base.path == str(green.relative_to(tmp_path))
    assert carob.compare_runs("carob-results", last).base.path == str(red.relative_to(tmp_path))
    with pytest.raises(CarobError, match="neither a file nor a run"):
        carob.compare_runs("v1.0", "@last")


def torn(lines: list[bytes]) -> list[bytes]:
    return lines[:-2]


def forged(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"status":"FAIL"', b'"status":"PASS"') for line in lines]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("harm", [torn, forged])
@pytest.mark.parametrize("gate", [{}, {"max_new_failures": 3}])
def test_a_torn_or_forged_journal_is_never_let_through(side: int, harm: Any, gate: Any, tmp_path: Path) -> None:
    table = many(5, 1)
    paths = [journal(tmp_path, "a", table), journal(tmp_path, "b", table)]
    assert carob.compare_runs(*paths, **gate).exit_code == 0
    edited(paths[side], harm)
    assert carob.compare_runs(*paths, **gate).exit_code == 1


def test_without_a_gate_every_form_says_so(tmp_path: Path) -> None:
    paths = journal(tmp_path, "a", many(5)), journal(tmp_path, "b", many(5))
    comparison, gated = carob.compare_runs(*paths), carob.compare_runs(*paths, max_new_failures=0)
    for form in (comparison_markdown, lambda one: comparison_html(one).encode()):
        assert b"NO GATE" in form(comparison)
        assert b"NO GATE" not in form(gated)
    assert json.loads(comparison_json(comparison))["gated"] is False


ROWS = {
    "carob": 1,
    "cases": [
        {
            "id": "r-{n}",
            "prompt": "{n}",
            "each": [{"n": str(n)} for n in range(10)],
            "expected": {"must_say_any": ["ok"]},
        },
        *({"id": f"c-{n}", "prompt": "x", "expected": {"must_say_any": ["ok"]}} for n in range(10)),
    ],
}


def test_rows_of_one_template_are_one_cluster(tmp_path: Path) -> None:
    """All rows fall together: of eleven clusters, one fell."""

    def run(name: str, row: str) -> str:
        agent = {**{str(n): row for n in range(10)}, "x": "ok"}.__getitem__
        return carob.run(ROWS, lambda prompt: agent(prompt), results_dir=tmp_path / name).journal.path

    comparison = carob.compare_runs(run("a", "ok"), run("b", "no"))
    assert (comparison.overall.cases, comparison.overall.clusters, comparison.overall.sure) == (20, 11, "")
    assert "| 20 cases in 11 clusters |" in comparison_markdown(comparison).decode()


def test_what_else_differs_is_said_before_the_results(tmp_path: Path, carob_line: Any) -> None:
    def first(prompt: str) -> str:
        return "ok"

    def second(prompt: str) -> str:
        return "ok"

    cases = {"version": "0.3", "cases": [{"id": "a", "prompt": "x", "expected": {"must_say_any": ["ok"]}}]}
    paths = [carob.run(cases, agent, results_dir=tmp_path / agent.__name__).journal.path for agent in (first, second)]
    comparison = carob.compare_runs(*paths)
    assert any(line.startswith("target: ") and "first → " in line for line in comparison.differs)
    lines = carob_line("compare", *paths).out.splitlines()
    assert lines[0].startswith("the runs differ in target: ")
    assert "passed before" not in lines[0]


def test_a_base_may_be_several_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob_line: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(4):
        journal(tmp_path, "carob-results", many(6))
    journal(tmp_path, "carob-results", {**many(6), "case-0": "f"})
    last = journal(tmp_path, "carob-results", {**many(6, letters=["fff"]), "case-5": "ppp"})
    comparison = carob.compare_runs("@last-5", last)
    assert comparison.base.pooled == 5
    assert {case.id: case.base for case in comparison.changes}["case-0"] == "4 of 5 passed"
    assert changes(comparison) == {f"case-{n}": "broke" for n in range(1, 5)} | {"case-0": "flickers"}
    kept = carob.set_baseline("@last-3", file=tmp_path / "b.jsonl")
    assert [case.judged for case in kept][:2] == [5, 5]
    assert any("lucky" in note for note in carob.compare_runs("@last-green", last).notes)
    assert carob_line("compare", str(last), "@last-2").code == 4


def test_a_deterministic_target_is_judged_by_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text("import os\ndef answer(prompt):\n    return os.environ['SAYS']\n")
    Path("carob.toml").write_text('[targets.sure]\nuse = "python:agent:answer"\ndeterministic = true\n')
    cases = [{"id": f"c{n}", "prompt": "x", "expected": {"must_say_any": ["ok"]}} for n in range(3)]
    paths = []
    for says in ("ok", "no"):
        monkeypatch.setenv("SAYS", says)
        paths.append(carob.run({"version": "0.3", "cases": cases}, "sure", results_dir=says, workers=0).journal.path)
    (gate,) = carob.compare_runs(*paths, max_new_failures=0).gates
    assert gate.verdict == "broken"


def test_a_skipped_case_neither_broke_nor_is_it_in_a_rate(tmp_path: Path) -> None:
    suite = {
        "carob": 1,
        "cases": [
            {"id": f"x-{n}", "prompt": f"x-{n}", "expected": {"must_say_any": ["ok"]}}
            | ({"skip": "later"} if n == 1 else {})
            for n in (1, 2, 3)
        ],
    }
    after = carob.run(suite, lambda prompt: "no", results_dir=tmp_path / "b").journal.path
    same = carob.run(suite, lambda prompt: "ok", results_dir=tmp_path / "c").journal.path
    compared = carob.compare_runs(same, after)
    assert compared.count(Change.SKIPPED) == 1
    assert compared.overall.cases == 2


def test_evidence_that_is_cut_ends_with_an_ellipsis(tmp_path: Path) -> None:
    """What a check found is longer than a comparison shows."""
    phrase = {"x": {"expected": {"must_say_any": ["refund " * 40]}}}
    paths = [journal(tmp_path, name, {"x": letter}, **phrase) for name, letter in (("a", "p"), ("b", "f"))]
    (record,) = carob.Journal(paths[1]).records()
    flip = _with_found(Flip("must_say_any", "", ""), record)
    assert flip.found.startswith("expected: 'refund refund")
    assert flip.found.endswith("…")
    assert len(flip.found) == FOUND


def test_a_rule_that_nothing_triggers_is_no_difference(tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "carob: 1\nrules: [{id: look-first, each: {call: pay}, at_most: 1}]\n"
        "cases: [{id: a, prompt: Hello, expected: {must_say_any: [yes]}}]\n"
    )
    answers = [{"final_message": said, "tool_calls": []} for said in ("yes", "no")]
    runs = [carob.run(suite, lambda _, answer=answer: answer, results_dir=tmp_path) for answer in answers]
    (change,) = carob.compare_runs(*(run.journal for run in runs)).changes
    assert [flip.check for flip in change.flips] == ["must_say_any"]
