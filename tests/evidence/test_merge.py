"""Several turns as one conversation: judged, bounded, cleaned and kept."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import structs

from carob.evidence.merge import merge_turns
from carob.evidence.recorder import Recorder
from carob.journal.integrity import derive_verdict
from carob.journal.limits import cap_trace, check_trace
from carob.journal.views import RecordToVerify, TraceToVerify
from carob.model.check import CheckSpec
from carob.model.run import CaseRecord
from carob.model.suite import Case, Turn
from carob.model.trace import (
    TEXT_CAP,
    Message,
    TextLoss,
    Tokens,
    ToolCall,
    Trace,
    TraceError,
)
from carob.model.verdict import CaseStatus, Status
from carob.redaction.redactor import Redactor
from carob.scoring import verdicts
from catalogs import CATALOG


def asks(**expected: object) -> tuple[CheckSpec, ...]:
    return tuple(check.spec for check in CATALOG.read(expected) if check.path != ("outcome",) or "outcome" in expected)


CASE = Case(
    id="A",
    prompt="hello",
    turns=(Turn("hello", asks(must_say_any=["hi"])), Turn("bye", asks(must_say_any=["farewell"]))),
    checks=asks(tool_calls_none=["wave"]),
)
FIRST = Trace(
    case_id="A",
    input="hello",
    final_message="hi",
    messages=(Message("user", "hello"), Message("assistant", "hi")),
    tool_calls=(ToolCall("greet"),),
    page_before="- blank",
    page="- greeting",
    tokens=Tokens(3, 2),
    duration_ms=10.0,
    timings={"first_token": 0.5},
)
SECOND = Trace(
    case_id="A",
    input="bye",
    final_message="farewell",
    messages=(Message("user", "bye"), Message("assistant", "farewell")),
    tool_calls=(ToolCall("part"),),
    telemetry=("x",),
    page_before="- greeting",
    page="- end",
    tokens=Tokens(4, 1),
    duration_ms=5.5,
    timings={"first_token": 0.2},
)


def test_a_conversation_is_its_turns_together_and_the_last_answer() -> None:
    whole = merge_turns([FIRST, SECOND])
    assert (whole.input, whole.final_message, whole.page, whole.page_before) == ("bye", "farewell", "- end", "- blank")
    assert [call.name for call in whole.tool_calls] == ["greet", "part"]
    assert [message.content for message in whole.messages] == ["hello", "hi", "bye", "farewell"]
    assert (whole.telemetry, whole.tokens, whole.duration_ms) == (("x",), Tokens(7, 3), 15.5)
    assert whole.timings == {"first_token": 0.5}
    assert whole.turns == (FIRST, SECOND)


@pytest.mark.parametrize(
    ("first", "second", "lacks"),
    [
        pytest.param({"tools": "a"}, {}, {"tools"}, id="calls-of-any-turn"),
        pytest.param({"page": "a", "final_message": "a"}, {}, set(), id="the-last-page-was-seen"),
        pytest.param({}, {"page": "a"}, {"page"}, id="the-last-page-was-not"),
        pytest.param({"page_before": "a"}, {}, {"page_before"}, id="the-first-page-was-not"),
        pytest.param({}, {"page_before": "a"}, set(), id="the-first-page-was"),
    ],
)
def test_what_a_conversation_lacks(first: dict[str, str], second: dict[str, str], lacks: set[str]) -> None:
    turns = [structs.replace(FIRST, unobserved=first), structs.replace(SECOND, unobserved=second)]
    assert set(merge_turns(turns).unobserved) == lacks


def test_tokens_that_one_turn_does_not_tell_are_not_known() -> None:
    assert merge_turns([FIRST, structs.replace(SECOND, tokens=None)]).tokens is None
    assert merge_turns([FIRST, structs.replace(SECOND, tokens=Tokens(1))]).tokens == Tokens(4)


def test_what_turns_cost_is_added_up_where_every_turn_tells_it() -> None:
    first, second = (structs.replace(turn, metadata={"cost_usd": 0.1, "at": turn.input}) for turn in (FIRST, SECOND))
    assert merge_turns([first, second]).metadata == {"cost_usd": 0.2, "at": "bye"}
    assert merge_turns([first, SECOND]).metadata == {"at": "hello"}


def test_times_that_one_turn_does_not_tell_are_not_known() -> None:
    bare = structs.replace(SECOND, duration_ms=None, timings={})
    whole = merge_turns([FIRST, bare])
    assert (whole.duration_ms, whole.timings) == (None, {})


def test_each_turn_is_judged_by_its_own_checks_and_all_of_them_by_the_cases() -> None:
    verdict = verdicts.judge_case(CASE, merge_turns([FIRST, SECOND]), CATALOG)
    assert verdict.status is CaseStatus.PASS
    assert [(check.turn, check.name) for check in verdict.checks] == [
        (1, "must_say_any"),
        (2, "must_say_any"),
        (None, "tool_calls_none"),
    ]
    waves = structs.replace(FIRST, tool_calls=(ToolCall("wave"),))
    mixed = verdicts.judge_case(CASE, merge_turns([waves, structs.replace(SECOND, final_message="hi")]), CATALOG)
    assert [check.status for check in mixed.checks] == [Status.PASSED, Status.FAILED, Status.FAILED]


def test_a_turn_that_breaks_leaves_those_before_it_judged() -> None:
    broke = TraceError("agent", "boom")
    trace = merge_turns([FIRST, structs.replace(SECOND, error=broke)], broke)
    verdict = verdicts.judge_case(CASE, trace, CATALOG)
    assert (verdict.status, verdict.reason) == (CaseStatus.ERROR, "agent: boom")
    assert [(check.turn, check.status) for check in verdict.checks] == [(1, Status.PASSED)]


def test_a_trace_that_lacks_a_turn_is_no_pass() -> None:
    verdict = verdicts.judge_case(CASE, merge_turns([FIRST]), CATALOG)
    assert (verdict.status, verdict.checks[1].found) == (CaseStatus.ERROR, "the trace has no turn 2")


@pytest.mark.parametrize(
    ("marks", "answer", "status"),
    [
        pytest.param({"skip": "later"}, "hi", CaseStatus.SKIP, id="skip"),
        pytest.param({"xfail": "known"}, "no", CaseStatus.XFAIL, id="xfail"),
        pytest.param({"xfail": "known"}, "hi", CaseStatus.FAIL, id="xfail-that-passes"),
        pytest.param({"skip": "later", "xfail": "known"}, "hi", CaseStatus.SKIP, id="both"),
    ],
)
def test_what_a_suite_says_of_a_case_beforehand(marks: dict[str, str], answer: str, status: CaseStatus) -> None:
    case = Case(id="A", prompt="hello", checks=asks(must_say_any=["hi"]), **marks)
    verdict = verdicts.judge_case(case, Trace(case_id="A", final_message=answer), CATALOG)
    assert verdict.status is status
    assert next(iter(marks.values())) in verdict.reason


def test_what_is_known_to_fail_may_not_break_nor_be_unknown() -> None:
    case = Case(id="A", prompt="hello", checks=asks(tool_calls_none=["x"]), xfail="known")
    unseen = Trace(case_id="A", final_message="hi", unobserved={"tools": "not seen"})
    assert verdicts.judge_case(case, unseen, CATALOG).status is CaseStatus.PARTIAL
    assert (
        verdicts.judge_case(case, structs.replace(unseen, error=TraceError("agent", "x")), CATALOG).status
        is CaseStatus.ERROR
    )


def test_a_record_that_lost_the_check_of_a_turn_is_an_error() -> None:
    trace = merge_turns([FIRST, SECOND])
    verdict = verdicts.judge_case(CASE, trace, CATALOG)
    seen = RecordToVerify(0, CASE, verdict, TraceToVerify())
    assert derive_verdict(seen).status is CaseStatus.PASS
    moved = [structs.replace(check, turn=1) for check in verdict.checks]
    for checks in (verdict.checks[1:], tuple(moved)):
        lacks = structs.replace(seen, verdict=structs.replace(verdict, checks=checks))
        assert derive_verdict(lacks).status is CaseStatus.ERROR


def test_a_case_cut_short_keeps_the_turns_before() -> None:
    recorder = Recorder()
    recorder.turns.append(FIRST)
    recorder.restart("bye")
    recorder.tool_call(ToolCall("part"))
    trace = recorder.partial(CASE, TraceError("timeout", "late"))
    assert [turn.input for turn in trace.turns] == ["hello", "bye"]
    assert [call.name for call in trace.tool_calls] == ["greet", "part"]
    assert (trace.turns[0].error, trace.turns[1].error) == (None, TraceError("timeout", "late"))


def test_secrets_go_from_every_turn_and_evidence_stays_where_it_was() -> None:
    secret = "s3cret-value"
    first = structs.replace(FIRST, final_message=f"{secret} hi", telemetry=(f'{{"token":"{secret}"}}',))
    trace = merge_turns([first, SECOND])
    record = CaseRecord(index=0, case=CASE, trace=trace, verdict=verdicts.judge_case(CASE, trace, CATALOG))
    clean = Redactor([secret]).record(record)
    assert secret not in msgspec.json.encode(clean).decode()
    assert (clean.trace.turns[0].final_message, clean.trace.turns[0].telemetry) == (
        "[removed] hi",
        ('{"token":"[removed]"}',),
    )
    assert clean.trace.turns[0].cuts["final_message"] == TextLoss("secrets were removed")
    at = clean.verdict.checks[0].at
    assert at is not None
    assert clean.trace.turns[0].final_message[at.start : at.end] == "hi"
    assert clean.trace.is_altered


def test_every_turn_is_bounded_and_cleaned() -> None:
    large = merge_turns([structs.replace(FIRST, final_message="x" * (TEXT_CAP + 1)), SECOND])
    capped = cap_trace(large)
    assert len(capped.turns[0].final_message) == TEXT_CAP
    assert "final_message" in capped.turns[0].cuts
    odd = merge_turns([structs.replace(FIRST, metadata={"when": object}), SECOND])
    assert isinstance(check_trace(odd).turns[0].metadata["when"], str)
