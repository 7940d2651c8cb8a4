"""`carob run --baseline B --confirm N`: what fell is run again, and nothing else is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import carob
from carob.errors import UsageError
from carob.journal.reader import Journal

SUITE = {
    "version": "0.3",
    "cases": [
        {"id": name, "prompt": name, "expected": {"must_say_any": ["ok"]}} for name in ("good", "bad", "odd", "red")
    ],
}


def agent(*, broken: bool) -> tuple[Counter[str], Callable[[str], str]]:
    """Good always passes, red never; bad is broken or not, and odd fails at first and then passes."""
    prompts: Counter[str] = Counter()

    def answer(prompt: str) -> str:
        prompts[prompt] += 1
        fails = {"good": False, "bad": broken, "odd": broken and prompts["odd"] == 1, "red": True}
        return "no" if fails[prompt] else "ok"

    return prompts, answer


@pytest.fixture
def base(tmp_path: Path) -> str:
    return carob.run(SUITE, agent(broken=False)[1], repeat=5, results_dir=tmp_path).journal.path


def test_only_what_fell_is_run_again(base: str, tmp_path: Path) -> None:
    prompts, answer = agent(broken=True)
    result = carob.run(SUITE, answer, baseline=base, confirm=5, results_dir=tmp_path)
    assert prompts == {"good": 1, "bad": 6, "odd": 6, "red": 1}
    assert (result.summary.passed, result.summary.failed, result.summary.runs) == (1, 3, 14)
    comparison = carob.compare_runs(base, result.journal.path, max_new_failures=0)
    assert {case.id: case.change.value for case in comparison.changes} == {
        "bad": "broke",
        "odd": "flickers",
        "red": "stayed red",
    }
    assert comparison.gates[0].verdict == "broken"
    assert Journal(result.journal.path).summary == result.summary, "what is read is what was run"


def test_a_change_that_broke_nothing_is_let_through(base: str, tmp_path: Path) -> None:
    prompts, answer = agent(broken=False)
    result = carob.run(SUITE, answer, baseline=base, confirm=5, results_dir=tmp_path)
    assert prompts == {"good": 1, "bad": 1, "odd": 1, "red": 1}
    assert carob.compare_runs(base, result.journal.path, max_new_failures=0).exit_code == 0


@pytest.mark.parametrize("lost", ["one-of-six", "all-that-confirm"])
def test_runs_that_were_cut_out_are_missed(base: str, tmp_path: Path, lost: str) -> None:
    result = carob.run(SUITE, agent(broken=True)[1], baseline=base, confirm=5, results_dir=tmp_path)
    path = Path(result.journal.path)
    marks = (b'"repeat":5',) if lost == "one-of-six" else tuple(b'"repeat":%d' % n for n in range(1, 6))
    path.write_bytes(
        b"".join(line for line in path.read_bytes().splitlines(True) if not any(m in line[:60] for m in marks))
    )
    assert "the journal was changed" in Journal(path).summary.incomplete


@pytest.mark.parametrize(
    "how", [{"confirm": 3}, {"baseline": "b.jsonl"}, {"baseline": "b.jsonl", "confirm": 2, "repeat": "auto"}]
)
def test_options_that_go_together(how: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--confirm"):
        carob.run(SUITE, lambda prompt: "ok", results_dir=tmp_path, **how)  # type: ignore[arg-type]


def test_a_base_that_is_not_there_is_told_before_any_case(tmp_path: Path) -> None:
    prompts, answer = agent(broken=False)
    with pytest.raises(UsageError, match="no such run"):
        carob.run(SUITE, answer, baseline="@last-3", confirm=2, results_dir=tmp_path)
    assert not prompts


def test_a_run_that_was_stopped_goes_on_confirming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text("import os\ndef answer(prompt):\n    return os.environ.get('SAYS', 'ok')\n")
    before = carob.run(SUITE, "python:agent:answer", repeat=4, results_dir="r", workers=0).journal.path
    monkeypatch.setenv("SAYS", "no")
    whole = carob.run(SUITE, "python:agent:answer", baseline=before, confirm=2, results_dir="r", workers=0)
    path = Path(whole.journal.path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:7]))
    again = carob.resume(path, SUITE, results_dir="s", workers=0)
    assert again.summary.runs == whole.summary.runs == 12
    assert again.journal.header.confirm == 2
