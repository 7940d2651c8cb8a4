"""What commands were called is answered with the line to type, and a run has the same names everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carob.cli.main import every_command
from cli.support import Carob, case, eval_set, traces, write

MOST_COMMANDS = 21
OLD_WORDS = {
    "resume --last": "run --resume @last",
    "resume runs/a.jsonl --workers 2": "run --resume runs/a.jsonl --workers 2",
    "rerun --last --status error": "run --failed @last --status error",
    "list s.json -k refund": "run --list s.json -k refund",
    "validate s.json": "lint --errors-only s.json",
    "schema --write": "lint --schema --write",
    "matrix a.jsonl b.jsonl": "compare --side-by-side a.jsonl b.jsonl",
    "history --flaky": "compare --history --flaky",
    "baseline set @last-5": "compare --save @last-5",
    "baseline show s.json": "compare --show s.json",
    "baseline": "compare --save",
    "effects a.jsonl --all": "audit --claims a.jsonl --all",
    "self-test": "audit --self",
    "inspect http://127.0.0.1:1/chat --write": "init --inspect http://127.0.0.1:1/chat --write",
}


def test_there_are_few_words() -> None:
    assert len({row.name.partition(" ")[0] for row in every_command()}) <= MOST_COMMANDS


@pytest.mark.parametrize(("old", "new"), OLD_WORDS.items(), ids=OLD_WORDS)
def test_an_old_word_is_answered_with_the_line_to_type(carob: Carob, old: str, new: str) -> None:
    ran = carob(*old.split())
    name = old.split()[0]
    said = f"carob: No such command '{name}'. It is now: carob {new}. Try 'carob --help'.\n"
    assert (ran.code, ran.out, ran.err) == (4, "", said)
    assert carob(*new.split()[:2], "--help").code == 0


@pytest.fixture
def runs(carob: Carob) -> list[Path]:
    """Three runs of one suite, of which the second is the last that was green."""
    write("s.carob.json", eval_set(case("A")))
    for number, answer in enumerate(("bye", "hello", "bye")):
        target = traces(A=answer)
        carob("run", "s.carob.json", "-t", target, "--results-dir", f"carob-results/{number}")
        (journal,) = Path(f"carob-results/{number}").glob("*.jsonl")
        journal.rename(f"carob-results/s-{number}.jsonl")
    carob("compare", "--save", "carob-results/s-1.jsonl")
    return sorted(Path("carob-results").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("rescore", 1, "1 failed"),
        ("rescore @last-green", 0, "1 passed"),
        ("rescore carob-results", 1, "1 passed"),
        ("rescore @last-2 -q", 1, "1 passed"),
        ("rescore @baseline", 4, "a baseline keeps no answers"),
        ("report -f csv -o -", 0, "A"),
        ("report carob-results -f csv -o -", 0, "A"),
        ("audit @last-green", 1, "s-1.jsonl, 1 case audited"),
        ("audit --claims", 4, "no effects are declared"),
        ("audit", 1, "no case passed"),
        ("compare", 0, "new: carob-results/s-2.jsonl"),
        ("compare @last-green", 0, "base: carob-results/s-1.jsonl"),
        ("compare @last @last-green", 0, "new: carob-results/s-1.jsonl"),
        ("compare --side-by-side @last @last-green", 0, "A"),
        ("compare --history", 0, "A"),
        ("compare --save", 0, "carob.baseline.jsonl"),
        ("compare --show", 0, "s-1.jsonl"),
        ("run --failed", 1, "1 failed"),
        ("run --failed @last-2", 4, "@last-2 means 2 runs. Name one of them"),
        ("run --resume carob-results", 1, "1 failed"),
        ("run -t replay:traces.jsonl", 1, "1 failed"),
        ("run --list", 0, "A"),
        ("audit @lats", 4, "Did you mean '@last'?"),
    ],
)
def test_a_run_is_named_alike_everywhere(carob: Carob, runs: list[Path], line: str, code: int, says: str) -> None:
    ran = carob(*line.split())
    assert (ran.code, says in ran.out + ran.err) == (code, True), (ran.code, ran.out, ran.err)


@pytest.mark.parametrize(
    ("suites", "code", "says"),
    [
        (["evals/*.json"], 0, "A\t\tprompt of A\nB\t\tprompt of B\n"),
        (["none/*.json"], 4, "`suites` of carob.toml matches no file: none/*.json. Write it as `carob run SUITE...`"),
        ([], 4, "no suite is given, and there is none here. Write it as `carob run SUITE...`"),
    ],
)
def test_run_alone_takes_what_the_project_names(
    carob: Carob, monkeypatch: pytest.MonkeyPatch, suites: list[str], code: int, says: str
) -> None:
    for name in "AB":
        write(f"evals/{name}.json", eval_set(case(name)))
    write("carob.toml", f"suites = {json.dumps(suites)}\n")
    Path("below").mkdir()
    monkeypatch.chdir("below")
    ran = carob("run", "--list")
    assert (ran.code, says in ran.out + ran.err) == (code, True), (ran.out, ran.err)
