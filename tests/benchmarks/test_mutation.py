"""Lines that are broken one at a time: each mutant differs in that line, and can be compiled."""

from __future__ import annotations

import ast

import pytest

from benchmarks.mutation import LineTrace, break_line

SOURCE = """\
def judge(calls, most=3):
    if not calls and most > 1:
        raise ValueError("ä", most)
    for call in calls:
        if call is None: continue
        calls.append(call)
    return calls[0] if calls else most + 1
"""
BROKEN = {
    1: ["3 → 4"],
    2: ["not calls and most > 1 → not (not calls and most > 1)", "not calls and most > 1 → not calls or most > 1",
        "not calls → calls", "most > 1 → most <= 1", "1 → 2"],
    3: ["raise ValueError('ä', most) → pass"],
    4: [],
    5: ["call is None → not call is None", "call is None → call is not None", "continue → pass"],
    6: ["calls.append(call) → pass"],
    7: ["return calls[0] if calls else most + 1 → return None", "calls → not calls", "0 → 1", "most + 1 → most - 1",
        "1 → 2"],
}  # fmt: skip


@pytest.mark.parametrize("line", BROKEN)
def test_a_line_is_broken_in_every_way(line: int) -> None:
    mutants = break_line("judge.py", SOURCE, line)
    assert sorted(mutant.change for mutant in mutants) == sorted(BROKEN[line])
    for mutant in mutants:
        assert ast.dump(ast.parse(mutant.text)) != ast.dump(ast.parse(SOURCE))
        before, after = SOURCE.splitlines(), mutant.text.splitlines()
        assert [n for n, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]] == [line]


def test_only_added_lines_of_named_files_are_traced() -> None:
    import sys

    trace = LineTrace({"benchmarks/mutation.py": list(range(1, 1_000))})
    before = sys.gettrace()
    sys.settrace(trace)
    break_line("judge.py", "x = 1\n", 1)
    ast.parse("x = 1")
    sys.settrace(before)
    assert {path.rpartition("/")[2] for path, _ in trace.seen} == {"mutation.py"}
