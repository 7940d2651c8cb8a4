"""Gates: met, broken, undecided with what would decide, and refused where they could decide nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import carob
from carob.errors import ConfigError
from carob.features.compare.model import Comparison
from cli.support import Ran
from features.compare.runs import journal, many

Line = Callable[..., Ran]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Comparison]:
    monkeypatch.chdir(tmp_path)

    def compared(before: dict[str, str], after: dict[str, str], **gates: float) -> Comparison:
        return carob.compare_runs(journal(tmp_path, "a", before), journal(tmp_path, "b", after), **gates)  # type: ignore[arg-type]

    return compared


@pytest.mark.parametrize(
    ("before", "after", "gate", "verdict"),
    [
        pytest.param(many(20), many(20), {"max_new_failures": 0}, "met", id="none-broke"),
        pytest.param(many(20), many(18, 2), {"max_new_failures": 1}, "undecided", id="two-fell-in-single-runs"),
        pytest.param(many(18, 2), many(20), {"max_new_failures": 0}, "met", id="only-those-that-fell-count"),
        pytest.param(many(9, letters=["pppp"]), {**many(9, letters=["pppp"]), "case-0": "ffff", "case-1": "ffff"},
                     {"max_new_failures": 1}, "broken", id="two-broke"),
        pytest.param(many(9, letters=["pppp"]), {**many(9, letters=["pppp"]), "case-0": "ppfp", "case-1": "pffp"},
                     {"max_new_failures": 0}, "met", id="flaky-ones-do-not-count"),
        pytest.param(many(9, letters=["pfpp"]), many(9, letters=["pppp"]), {"max_new_failures": 0}, "met", id="rose"),
        pytest.param(many(20), {**many(20), "added": "f"}, {"max_new_failures": 0}, "broken", id="an-added-case-fails"),
        pytest.param(many(20), {**many(20), "added": "p"}, {"max_new_failures": 0}, "met", id="an-added-case-passes"),
        pytest.param({**many(20), "old": "p"}, many(20), {"max_new_failures": 0}, "undecided", id="a-case-is-missing"),
        pytest.param({**many(20), "old": "p"}, many(20), {"max_lost_cases": 0}, "broken", id="a-case-is-lost"),
        pytest.param({**many(20), "old": "p"}, many(20), {"max_lost_cases": 1}, "met", id="a-lost-case-is-allowed"),
        pytest.param(many(200), many(200), {"min_pass_rate": 0.95}, "met", id="rate-met"),
        pytest.param(many(200), many(120, 80), {"min_pass_rate": 0.9}, "broken", id="rate-broken"),
        pytest.param(many(100), many(93, 7), {"min_pass_rate": 0.9}, "undecided", id="rate-undecided"),
        pytest.param(many(300), many(300), {"non_inferior": 0.03}, "met", id="not-worse"),
        pytest.param(many(100), many(60, 40), {"non_inferior": 0.1}, "broken", id="worse"),
        pytest.param(many(20), many(20), {"non_inferior": 0.03}, "undecided", id="too-few-cases"),
        pytest.param(many(20), many(20), {"max_seconds_ratio": 1e6}, "met", id="seconds"),
        pytest.param(many(20), many(20), {"max_seconds_ratio": 1e-6}, "broken", id="slow"),
        pytest.param(many(20), many(20), {"max_cost_ratio": 1.2}, "undecided", id="cost-is-not-known"),
    ],
)  # fmt: skip
def test_verdicts(
    runs: Callable[..., Comparison], before: dict[str, str], after: dict[str, str], gate: dict[str, float], verdict: str
) -> None:
    comparison = runs(before, after, **gate)
    (gate_verdict,) = comparison.gates
    assert gate_verdict.verdict == verdict, gate_verdict
    assert bool(gate_verdict.decides) is (verdict == "undecided")
    assert comparison.exit_code == (verdict != "met")


def test_what_would_decide_names_repeats_and_cases(runs: Callable[..., Comparison]) -> None:
    (gate_verdict,) = runs(many(60), {**many(60), "case-4": "f"}, max_new_failures=0).gates
    assert gate_verdict.says == "1 of 60 cases passed before and fails now: it may be chance"
    assert gate_verdict.decides == ("carob run --baseline @last-5 --confirm 5, which runs case-4 again")
    (gate_verdict,) = runs(
        many(9, letters=["pppp"]), {**many(9, letters=["p"]), "case-4": "f"}, max_new_failures=0
    ).gates
    assert gate_verdict.decides == "carob run --baseline BASE --confirm 2, which runs case-4 again"
    (gate_verdict,) = runs(many(40), many(39, 1), non_inferior=0.1).gates
    assert "repeat these 5 times to see whether they are flaky: case-39; otherwise about" in gate_verdict.decides


def test_no_gate_is_met_over_cases_that_erred(runs: Callable[..., Comparison]) -> None:
    (gate_verdict,) = runs(many(5), {**many(5), "case-4": "e"}, max_new_failures=0).gates
    assert gate_verdict.verdict == "undecided"
    assert "1 case ended in an error" in gate_verdict.says


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        ({"min_pass_rate": 0.0}, "never fail"),
        ({"min_pass_rate": 1.0}, "never be met"),
        ({"min_pass_rate": 1.5}, "never be met"),
        ({"min_pass_rate": 0.99}, "never be met with 20 cases"),
        ({"non_inferior": 1.0}, "never fail"),
        ({"non_inferior": -0.1}, "never be met"),
        ({"non_inferior": float("nan")}, "never be met"),
        ({"max_new_failures": -1}, "never be met"),
        ({"max_new_failures": 20}, "never fail"),
        ({"max_seconds_ratio": 0.0}, "never be met"),
        ({"max_tokens_ratio": float("inf")}, "never fail"),
        ({"confidence": 1.0}, "confidence must be"),
    ],
)
def test_a_gate_that_decides_nothing_is_an_error(
    runs: Callable[..., Comparison], gate: dict[str, float], says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        runs(many(20), many(20), **gate)
    assert caught.value.exit_code == 4


CONFIG = """
[gate]
max_new_failures = 0
non_inferior = 0.2
[gate.categories.y]
max_new_failures = 3
"""


def test_gates_of_the_configuration_and_of_a_category(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob_line: Line
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "carob.toml").write_text(CONFIG)
    base, new = {**many(60, prefix="x"), **many(60, prefix="y")}, {**many(60, prefix="x"), **many(58, 2, prefix="y")}
    paths = [str(journal(tmp_path, "a", base)), str(journal(tmp_path, "b", new))]
    ran = carob_line("compare", *paths)
    assert ran.code == 1
    assert "gate UNDECIDED: max_new_failures = 0: 2 of 120 cases passed before and fail now: chance is" in ran.out
    assert "gate met: non_inferior = 0.2" in ran.out
    assert "gate met: max_new_failures = 3 (category y): 2 of 60 cases passed before and fail now" in ran.out
    assert (
        "note: 3 gates of one command: each is called broken only at 98.33 %, so that all of them together" in ran.out
    )
    assert carob_line("compare", *paths, "--max-new-failures", "2").code == 0


def test_several_runs_of_one_command_are_corrected_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob_line: Line
) -> None:
    """All of four runs failed where all of four passed: sure enough alone, and not as one of ten."""
    monkeypatch.chdir(tmp_path)
    steady = many(3, letters=["pppp"])
    base, new = (str(journal(tmp_path, name, {**steady, "x": x})) for name, x in (("a", "pppp"), ("b", "ffff")))
    gate = ("--max-new-failures", "0")
    assert "gate BROKEN" in carob_line("compare", base, new, *gate).out
    ran = carob_line("compare", base, *[base] * 9, new, *gate)
    assert ran.code == 1
    assert "gate BROKEN" not in ran.out
    assert "gate UNDECIDED" in ran.out
    assert "note: 10 gates of one command: each is called broken only at 99.5 %" in ran.out
    assert "10 runs compared; 1 failed: " in ran.out
    assert len(json.loads(carob_line("compare", base, new, base, "--format", "json").out)) == 2
    for form in ("markdown", "html"):
        assert "2 runs compared; 0 failed" in carob_line("compare", base, new, base, "--format", form).out


def test_without_gates_each_of_several_runs_must_be_surer_to_be_called_worse(runs: Callable[..., Comparison]) -> None:
    before, after = many(60), many(53, 7)
    assert runs(before, after).exit_code == 1
    comparison = runs(before, after, together=30)
    assert comparison.exit_code == 0
    assert "30 runs of one command: each is called worse only at 99.83 %" in comparison.notes[-1]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("[gate]\nmax_new_failure = 1\n", "carob.toml:2: unknown key 'max_new_failure'. Did you mean"),
        ("[gate]\n\nmin_pass_rate = 2\n", "carob.toml:3: the gate min_pass_rate = 2 can never be met."),
        ("[gate.tags.smok]\nmax_new_failures = 0\n", "looks at no case"),
        ("[gate]\nconfidence = 7\n", "carob.toml:2: confidence must be at least 0.5 and under 1, not 7."),
        ('[gate]\nnon_inferior = "x"\n', "carob.toml:2:"),
        ("gate = 1\n", "gate"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_told_at_its_line(
    table: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob_line: Line
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "carob.toml").write_text(table)
    path = str(journal(tmp_path / "elsewhere", "a", many(3))) if "gate = 1" not in table else "none.jsonl"
    ran = carob_line("compare", path, path)
    assert ran.code == 4
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_a_baseline_is_small_stable_and_compared_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob_line: Line
) -> None:
    monkeypatch.chdir(tmp_path)
    first = journal(tmp_path, "carob-results", {"x-1": "pp", "x-2": "pf", "x-3": "ff"})
    assert carob_line("compare", "--save", "@last", "--file", "b.jsonl").code == 0
    lines = Path("b.jsonl").read_text().splitlines()
    assert [line.count("this is bad") for line in lines] == [0, 0, 0, 0]
    assert all(len(line) < 600 for line in lines)
    shown = carob_line("compare", "--show", "b.jsonl").out
    assert "x-2  1 of 2 passed: must_say_any, must_not_say[0]" in shown
    assert "1 of 3 cases passed each time" in shown
    after = journal(tmp_path, "b", {"x-1": "ff", "x-2": "pp", "x-3": "ff"})
    by_file = carob.compare_runs("b.jsonl", after)
    by_journal = carob.compare_runs(first, after)
    assert by_file.overall == by_journal.overall
    assert by_file.counts == by_journal.counts
    ran = carob_line("compare", "b.jsonl", str(after), "--max-new-failures", "0")
    assert ran.code == 1
    assert "gate UNDECIDED" in ran.out
    assert carob_line("compare", str(after), "b.jsonl").code == 4


def test_a_run_that_is_not_whole_is_no_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob_line: Line
) -> None:
    monkeypatch.chdir(tmp_path)
    path = journal(tmp_path, "a", many(4))
    path.write_bytes(b"".join(line + b"\n" for line in path.read_bytes().splitlines()[:-1]))
    ran = carob_line("compare", "--save", str(path), "--file", "b.jsonl")
    assert (ran.code, Path("b.jsonl").exists()) == (4, False)
    assert "the run cannot be a baseline: the run did not end" in ran.err


def test_a_broken_baseline_is_told_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carob_line: Line
) -> None:
    monkeypatch.chdir(tmp_path)
    path = journal(tmp_path, "a", many(4))
    carob_line("compare", "--save", str(path), "--file", "b.jsonl")
    Path("b.jsonl").write_text(Path("b.jsonl").read_text().replace('"passed":1', '"passed":7'))
    ran = carob_line("compare", "b.jsonl", str(path))
    assert ran.code == 4
    assert "b.jsonl:2: the case 'case-0' passed more often than it ran." in ran.err


@pytest.mark.parametrize(
    ("base", "new", "prices", "verdict"),
    [
        pytest.param({"cost": 0.01}, {"cost": 0.01}, "", "met", id="told"),
        pytest.param({"cost": 0.01}, {"cost": 0.02}, "", "broken", id="told-twice-as-much"),
        pytest.param({"tokens": 100}, {"tokens": 200}, "[prices]\ninput = 1\noutput = 1\n", "broken", id="by-tokens"),
        pytest.param({"tokens": 100}, {"tokens": 200}, "", "undecided", id="tokens-without-a-price"),
        pytest.param({"tokens": 100, "cost": 0.01}, {"tokens": 900, "cost": 0.01}, "[prices]\ninput = 1\noutput = 1\n",
                     "met", id="what-was-told-counts-first"),
    ],
)  # fmt: skip
def test_costs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    base: dict[str, float],
    new: dict[str, float],
    prices: str,
    verdict: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("carob.toml").write_text(prices)
    cases = [{"id": f"c{n}", "prompt": "hi", "expected": {"must_say_any": ["ok"]}} for n in range(3)]

    def run(name: str, spent: dict[str, float]) -> str:
        fields: dict[str, object] = {"final_message": "ok", "metadata": {"cost_usd": spent.get("cost")}}
        if "tokens" in spent:
            fields["tokens"] = {"input": spent["tokens"], "output": spent["tokens"]}
        return carob.run({"version": "0.3", "cases": cases}, lambda prompt: fields, results_dir=name).journal.path

    (gate_verdict,) = carob.compare_runs(run("a", base), run("b", new), max_cost_ratio=1.2).gates
    assert gate_verdict.verdict == verdict


@pytest.mark.parametrize(
    ("base", "new", "verdict"),
    [
        pytest.param({"input": 90, "output": 10}, {"input": 95, "output": 10}, "met", id="both"),
        pytest.param({"input": 90, "output": 10}, {"input": 190, "output": 10}, "broken", id="twice-as-many"),
        pytest.param({"input": 90, "output": 10}, {"output": 10}, "undecided", id="input-is-not-known"),
    ],
)
def test_tokens_of_which_half_is_known_are_not_known(
    tmp_path: Path, base: dict[str, int], new: dict[str, int], verdict: str
) -> None:
    cases = [{"id": f"c{n}", "prompt": "hi", "expected": {"must_say_any": ["ok"]}} for n in range(3)]

    def run(name: str, tokens: dict[str, int]) -> str:
        fields = {"final_message": "ok", "tokens": tokens}
        return carob.run(
            {"version": "0.3", "cases": cases}, lambda prompt: fields, results_dir=tmp_path / name
        ).journal.path

    (gate_verdict,) = carob.compare_runs(run("a", base), run("b", new), max_tokens_ratio=1.2).gates
    assert gate_verdict.verdict == verdict
