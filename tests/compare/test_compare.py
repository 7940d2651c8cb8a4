"""Two runs held against each other, by the front door and by the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import karat
from compare.runs import journal, many
from karat.errors import KaratError
from karat.model.comparison import Change, Comparison
from karat.reports.comparison import comparison_html, comparison_json, comparison_markdown, headline


def changes(found: Comparison) -> dict[str, str]:
    return {case.id: case.change.value for case in found.changes}


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
    found = karat.compare_runs(before, after)
    assert changes(found) == {
        "x-broke": "broke", "x-mended": "mended", "x-red": "stayed red", "y-gone": "gone", "y-new": "new",
        "y-expects": "expects otherwise", "y-erred": "erred",
    }  # fmt: skip
    assert found.compared == 5
    assert found.new.errors == 1
    assert karat.compare_runs(before, other).count(Change.ASKS_OTHER) == 1


def test_what_flickers_is_not_what_broke(tmp_path: Path) -> None:
    steady = many(10, letters=["pppppppp"])
    before = journal(tmp_path, "a", {**steady, "x-flickers": "pppppppp", "x-broke": "pppppppp", "x-mended": "ffffffpf"})
    after = journal(tmp_path, "b", {**steady, "x-flickers": "pppppppf", "x-broke": "fffpffff", "x-mended": "pppppppp"})
    found = karat.compare_runs(before, after)
    assert changes(found) == {"x-flickers": "flickers", "x-broke": "broke", "x-mended": "mended"}
    assert found.overall.test == "permutation"


def test_the_flipped_expectation_and_both_answers_are_shown(tmp_path: Path) -> None:
    found = karat.compare_runs(
        journal(tmp_path, "a", {"x-1": "p", "x-2": "p"}), journal(tmp_path, "b", {"x-1": "p", "x-2": "f"})
    )
    (case,) = found.changes
    assert [(flip.check, flip.before, flip.after) for flip in case.flips] == [
        ("must_say_any", "held in 1 of 1", "held in 0 of 1"),
        ("must_not_say[0]", "held in 1 of 1", "held in 0 of 1"),
    ]
    assert "bad" in case.flips[1].found
    assert case.base_seen is not None
    assert case.new_seen is not None
    assert (case.base_seen.answer, case.base_seen.calls) == ("ok", ("look (success)",))
    assert (case.new_seen.answer, case.new_seen.calls) == ("this is bad", ("look (failure)",))


STEEP = r"37\.5 points \(2\d(\.\d)? to [45]\d(\.\d)?\); sure enough at 95 %"


@pytest.mark.parametrize(
    ("before", "after", "moved", "risen"),
    [
        pytest.param(many(111, 9), {**many(120), "case-0": "f", "case-1": "f", "case-2": "f"},
                     "3 of 120 cases broke, 9 were fixed", r"rose by 5 points \(.*\); not sure at 95 %", id="some"),
        pytest.param(many(40, 40), many(70, 10), "0 of 80 cases broke, 30 were fixed", f"rose by {STEEP}", id="up"),
        pytest.param(many(70, 10), many(40, 40), "30 of 80 cases broke, 0 were fixed", f"fell by {STEEP}", id="down"),
        pytest.param(many(9, 1), many(9, 1), "0 of 10 cases broke, 0 were fixed", r"stayed the same \(.*\); not"),
    ],
)  # fmt: skip
def test_words_first(before: dict[str, str], after: dict[str, str], moved: str, risen: str, tmp_path: Path) -> None:
    found = karat.compare_runs(journal(tmp_path, "a", before), journal(tmp_path, "b", after))
    assert re.match(f"{moved}; the pass rate {risen}", headline(found)), headline(found)


def test_all_forms_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, karat_line: Any) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = journal(tmp_path, "a", many(30, 2)), journal(tmp_path, "b", many(20, 12))
    found = karat.compare_runs(before, after)
    told = json.loads(comparison_json(found))
    assert told["headline"] == headline(found)
    assert told["overall"]["difference"]["value"] == pytest.approx(-10 / 32)
    for form in (
        comparison_markdown(found).decode(),
        comparison_html(found),
        karat_line("compare", str(before), str(after)).out,
    ):
        assert headline(found) in form
        assert "-31.2" in form or "31.2 points" in form


def test_hostile_names_and_answers_stay_inert(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>|`x`"
    found = karat.compare_runs(
        journal(tmp_path, "a", {evil: "p", "b": "p"}), journal(tmp_path, "b", {evil: "f", "b": "p"})
    )
    assert "<img" not in comparison_html(found)
    assert re.search(r"(?<!\\)<img", comparison_markdown(found).decode()) is None


def test_groups_are_corrected_for_how_many_are_looked_at(tmp_path: Path) -> None:
    base = {**many(12, prefix="x"), **many(12, prefix="y"), **many(12, prefix="z")}
    new = {**many(4, 8, prefix="x"), **many(12, prefix="y"), **many(12, prefix="z")}
    found = karat.compare_runs(journal(tmp_path, "a", base), journal(tmp_path, "b", new))
    by_name = {group.scope: group for group in found.groups}
    assert by_name["category x"].p == pytest.approx(3 * found.overall.p)
    assert by_name["category x"].sure == "worse"
    assert by_name["category y"].sure == ""


def edited(path: Path, change: Any) -> Path:
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"".join(line + b"\n" for line in change(lines)))
    return path


def test_a_run_that_is_not_complete_is_told_and_never_green(tmp_path: Path) -> None:
    before = journal(tmp_path, "a", many(5))
    after = edited(journal(tmp_path, "b", many(5)), lambda lines: lines[:4])
    found = karat.compare_runs(before, after, max_new_failures=0)
    assert "the new run is not complete" in "".join(found.notes)
    assert found.gates[0].verdict == "undecided"
    assert found.exit_code == 1


def test_an_edited_verdict_is_not_believed(tmp_path: Path) -> None:
    def forge(lines: list[bytes]) -> list[bytes]:
        return [line.replace(b'"status":"FAIL"', b'"status":"PASS"') for line in lines]

    after = edited(journal(tmp_path, "b", many(2, 3)), forge)
    found = karat.compare_runs(journal(tmp_path, "a", many(5)), after)
    assert found.count(Change.BROKE) == 3
    assert "edited" in found.new.incomplete


def test_timings_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    def spoil(lines: list[bytes]) -> list[bytes]:
        found = []
        for line in lines:
            record = msgspec.json.decode(line)
            if record["kind"] == "case":
                record["duration_ms"] = record["trace"]["duration_ms"] = -5.0
            found.append(msgspec.json.encode(record))
        return found

    before = journal(tmp_path, "a", many(5))
    after = edited(journal(tmp_path, "b", many(5)), spoil)
    assert "seconds" not in [measure.name for measure in karat.compare_runs(before, after).measures]


@pytest.mark.parametrize(
    ("before", "after"),
    [pytest.param({"a": "p"}, {"b": "p"}, id="no-common-case"), pytest.param({"a": "e"}, {"a": "p"}, id="all-erred")],
)
def test_nothing_to_compare_is_an_error(before: dict[str, str], after: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="no case can be compared") as caught:
        karat.compare_runs(journal(tmp_path, "a", before), journal(tmp_path, "b", after))
    assert caught.value.exit_code == 4


def test_one_case_alone_is_told(tmp_path: Path) -> None:
    found = karat.compare_runs(journal(tmp_path, "a", {"a": "p"}), journal(tmp_path, "b", {"a": "f"}))
    assert "only one case" in found.notes[0]
    assert found.overall.sure == ""


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"not json\n", b'{"kind":"header","format":99}\n', b'{"karat_baseline":9}\n']
)
def test_what_is_no_run_is_told_in_a_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(KaratError) as caught:
        karat.compare_runs(tmp_path / "bad.jsonl", journal(tmp_path, "b", {"a": "p"}))
    assert caught.value.exit_code == 4
    assert "bad.jsonl" in str(caught.value)


def test_runs_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "karat-results").mkdir()
    green = journal(tmp_path, "karat-results", many(4))
    red = journal(tmp_path, "karat-results", many(3, 1))
    last = journal(tmp_path, "karat-results", many(2, 2))
    assert karat.compare_runs("@last", last).base.path == str(red.relative_to(tmp_path))
    assert karat.compare_runs("@last-green", "@last").base.path == str(green.relative_to(tmp_path))
    assert karat.compare_runs("karat-results", last).base.path == str(red.relative_to(tmp_path))
    with pytest.raises(KaratError, match="neither a file nor a run"):
        karat.compare_runs("v1.0", "@last")
