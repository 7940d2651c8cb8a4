"""What the lines of a journal add up to is held against its footer, its cases and their checks."""

from __future__ import annotations

import msgspec

from carob.journal.integrity import Derived, verdict_of
from carob.journal.views import RecordToVerify
from carob.journal.writer import encode
from carob.model.check import CheckSpec
from carob.model.run import CaseRecord, Footer, Summary
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus, CheckResult, Group, Status
from reports.runs import HEADER

SPEC = CheckSpec("a", msgspec.Raw(b"{}"))
PASSED = CheckResult("a", Group.QA, Status.PASSED)


def test_a_footer_that_counts_otherwise_is_not_believed() -> None:
    def incomplete(**counted: int) -> str:
        footer = Footer(finished_at="", summary=Summary(**counted))
        return Derived(HEADER).summary((), footer).incomplete

    assert incomplete() == ""
    for name in ("passed", "failed", "partial", "error", "skipped", "xfailed"):
        assert incomplete(**{name: 1}) == "the journal was changed: the footer's counts do not match", name


def test_a_record_without_all_of_its_checks_is_an_error() -> None:
    case = Case(id="a", prompt="p", checks=(SPEC, SPEC))
    assert verdict_of(case, (PASSED, PASSED), None).status is CaseStatus.PASS
    assert verdict_of(case, (PASSED,), None).status is CaseStatus.ERROR


def test_a_record_of_another_case_than_its_key_says_is_edited() -> None:
    case = Case(id="a", prompt="p", checks=(SPEC,))
    derived = Derived(HEADER)
    verdict = verdict_of(case, (PASSED,), None)
    record = CaseRecord(index=0, case=case, trace=Trace(case_id="a", tool_calls=()), verdict=verdict, key="another")
    derived.add(msgspec.json.decode(encode(record), type=RecordToVerify))
    assert [*derived.identity.edited] == ["a"]
