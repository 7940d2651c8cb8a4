"""A run with a case of every status, of a suite file that is there."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from carob.model.run import Summary
from carob.model.trace import Tokens, ToolCall, Trace, TraceError
from carob.model.verdict import CaseStatus, EvidenceLocation, Group, SoftScore, Status
from carob.suites import load
from catalogs import CATALOG

from .runs import HEADER, MemoryRun, check, record

SUITE = """\
{"version": "0.3", "cases": [
  {"id": "PASS", "prompt": "?", "expected": {"must_say_any": ["x"]}},
  {"id": "FAIL", "prompt": "?", "expected": {"must_say_any": ["x"]}},
  {"id": "PARTIAL", "prompt": "?", "expected": {"must_say_any": ["x"]}},

  {"id": "ERROR", "prompt": "?", "expected": {"must_say_any": ["x"]}},
  {"id": "SKIP", "prompt": "?", "expected": {"must_say_any": ["x"]}},
  {"id": "XFAIL", "prompt": "?", "expected": {"must_say_any": ["x"]}}
]}
"""
LINES = {"PASS": 2, "FAIL": 3, "PARTIAL": 4, "ERROR": 6, "SKIP": 7, "XFAIL": 8}
REASONS = {"FAIL": "a check failed", "PARTIAL": "a check could not be decided", "ERROR": "crash: it, left: 100%"}
REASONS |= {"SKIP": "no such agent yet", "XFAIL": "known, see 12"}


def in_every_way(folder: Path) -> MemoryRun:
    """Each case is named by its status; the suite stands in a repository."""
    file = folder / "evals" / "s.json"
    file.parent.mkdir()
    (folder / ".git").mkdir()
    file.write_text(SUITE)
    cases = []
    for index, status in enumerate(CaseStatus):
        held = {"FAIL": Status.FAILED, "XFAIL": Status.FAILED, "PARTIAL": Status.UNKNOWN}.get(status, Status.PASSED)
        row = check(
            "must_say_any",
            Group.FORMATTING,
            held,
            expected="'x'",
            found="y",
            at=EvidenceLocation("final_message", 0, 1),
        )
        broke = TraceError("crash", "it, left: 100%") if status == "ERROR" else None
        calls = (ToolCall("pay", {"sum": 5}, result={"ok": 1}, success=True), ToolCall("look", error="no table"))
        answered = {"final_message": "y\nz", "tool_calls": calls, "tokens": Tokens(10, 3)}
        trace = Trace(case_id=status, input="?", error=broke, **answered if status not in ("ERROR", "SKIP") else {})
        rows = () if status in ("ERROR", "SKIP") else (row,)
        reason = REASONS.get(status, "")
        cases.append(
            record(status, status, rows, index=index, reason=reason, trace=trace, soft=SoftScore(0.5, 0.9, False))
        )
    summary = Summary(passed=1, failed=1, partial=1, error=1, skipped=1, xfailed=1, total=6, avg_soft_score=0.5)
    header = structs.replace(HEADER, suite=str(file), suite_sha256=load(file, CATALOG).sha256)
    return MemoryRun(tuple(cases), summary, header)
