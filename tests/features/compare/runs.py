"""Journals made by running a small agent that passes as a table says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import carob

Table = Mapping[str, str | Sequence[str]]
"""For each case, what its runs come to: p passes, f fails, e errs, one letter for each repeat."""


def suite(table: Table, **changed: dict[str, object]) -> dict[str, object]:
    cases = [
        {
            "id": name,
            "category": name.partition("-")[0],
            "prompt": name,
            "expected": {"must_say_any": ["ok"], "must_not_say": ["bad"]},
            **changed.get(name.replace("-", "_"), {}),
        }
        for name in table
    ]
    return {"version": "0.3", "cases": cases}


def journal(folder: Path, name: str, table: Table, **changed: dict[str, object]) -> Path:
    """The journal of a run in which each case comes out as its letters say."""
    left = {case: list(letters) for case, letters in table.items()}

    def agent(prompt: str) -> dict[str, object]:
        letter = left[prompt].pop(0)
        if letter == "e":
            raise RuntimeError("the model is down")
        words = "ok" if letter == "p" else "this is bad"
        return {"final_message": words, "tool_calls": [{"name": "look", "success": letter == "p"}]}

    repeat = min(map(len, table.values()))
    place = folder / name
    result = carob.run(suite(table, **changed), agent, repeat=repeat, results_dir=place)
    return Path(result.journal.path)


def many(passed: int, failed: int = 0, letters: str = "pf", prefix: str = "case") -> dict[str, str]:
    """So many cases that pass, then so many that fail."""
    return {f"{prefix}-{n}": letters[0] if n < passed else letters[1] for n in range(passed + failed)}
