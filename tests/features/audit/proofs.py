"""For each operator a trace, and for each of its fields a value under which a mutant of that trace is killed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import structs

from carob.checks.effects.outcome import Outcome
from carob.evidence.merge import merge_turns
from carob.features.audit.operators.measures import FIRST_TOKEN
from carob.features.coding.checks.samples import workspace_trace
from carob.model.cost import COST
from carob.model.trace import BY_ITSELF, SpanNode, Tokens, ToolCall, Trace
from carob.model.workspace import AfterRun

REPORT = Trace(
    case_id="example",
    final_message="Recommendation: restart the build.\n"
    "- GitHub: 12 commits, merged 30 minutes ago\n"
    "- Slack: 4 mentions\n"
    "Assumption: the week ends on Sunday. You can snooze this, which costs nothing. Granted, because the metric fell.",
    tool_calls=(),
)


def saying(phrase: str) -> dict[str, object]:
    """The fields that look for a phrase in the answer."""
    return {"must_say_any": [phrase], "expected_contains": [phrase], "reason_contains": [phrase]}


SAYS: Mapping[str, object] = {
    **saying("4 mentions"),
    "must_match_regex": [r"^- Slack:\s*4"],
    "required_sources": ["Slack"],
    "must_ground_numbers": ["4"],
    "must_label_assumptions": True,
    "required_levers": 2,
    "claim_evidence_alignment": True,
    "must_allow_override_actions": ["Snooze"],
}
FAILED_CALL = Trace(
    case_id="example",
    final_message="The booking failed: which day is it for, so that 4 others can be asked?",
    tool_calls=(ToolCall("book", success=False, error="refused"),),
)
PASSES = {"pytest -q": AfterRun(0, "1 passed")}
CODED = structs.replace(
    workspace_trace("edit:calc.py", "pytest=0", text="All tests pass.", after=PASSES),
    tool_calls=(ToolCall("bash", {"command": "pytest"}, success=True),),
)
COUNT = "SELECT count(*) AS n FROM bookings"
BOARD = Trace(
    case_id="example",
    final_message="Added.",
    tool_calls=(),
    telemetry=('{"source":"turn","event":"end"}',),
    page='- main:\n  - region "GitHub":\n    - heading "GitHub"\n- button "Snooze"',
    page_before="- main",
    database={COUNT: [{"n": 1}]},
)
REPORTED = Trace(
    case_id="example",
    final_message="There were 12 rides.",
    tool_calls=(ToolCall("rides", {}, result={"count": 12, "city": "Lyon"}, success=True),),
    state={"step": "answered", "retries": 0},
    duration_ms=1200.0,
    timings={FIRST_TOKEN: 300.0},
    steps=3,
    tokens=Tokens(900, 100),
    metadata={COST: 0.01},
)
WITH_SPANS = Trace(
    case_id="example",
    final_message="Done.",
    tool_calls=(),
    ended_by=BY_ITSELF,
    spans=(SpanNode(id="1", name="chat gpt", kind="model"),),
)
IN_JSON = Trace(case_id="example", final_message='{"order": "A-17", "total": 12}', tool_calls=())
ASKED = Trace(case_id="example", input="I want my money back.", final_message="Which order?", tool_calls=())
PAID = Trace(case_id="example", input="A-17.", final_message="Paid.", tool_calls=(ToolCall("pay", {}, success=True),))
TALK = merge_turns([ASKED, PAID])
BUDGETS: Mapping[str, object] = {
    "max_seconds": 2,
    "max_first_token_seconds": 1,
    "max_steps": 3,
    "max_tokens": {"total": 1000},
    "max_cost_usd": 0.02,
}
FOUND = structs.replace(REPORT, tool_calls=(ToolCall("find", success=True),))
FARE = [{"by": "bus", "fare": 142}, {"by": "train", "fare": 178}]
FARES = Trace(
    case_id="example",
    final_message="The train costs $178.",
    tool_calls=(ToolCall("fares", {}, result=FARE, success=True),),
)
BOOKED = Trace(
    case_id="example",
    final_message="Booked.",
    tool_calls=(
        ToolCall("find", {"vehicle": 42}, success=True, started_at=1.0, ended_at=2.0),
        ToolCall("book", {"vehicle": 42, "dyno": "D-1"}, success=True, started_at=3.0, ended_at=4.0),
    ),
    telemetry=tuple(
        json.dumps(event, separators=(",", ":"))
        for event in (
            {"source": "tool.find", "event": "start", "data": {"args": {"vehicle": 42}}},
            {"source": "tool.find", "event": "result", "success": True},
            {"source": "tool.book", "event": "start", "data": {"args": {"vehicle": 42, "dyno": "D-1"}}},
            {"source": "tool.book", "event": "result", "success": True},
        )
    ),
)
ONE_CALL = structs.replace(BOOKED, tool_calls=BOOKED.tool_calls[1:], telemetry=BOOKED.telemetry[2:])
CALLED: Mapping[str, object] = {
    "tools_used": ["book"],
    "tool_calls": [{"tool": "book"}],
    "tool_calls_any": ["book"],
    "telemetry": ["tool.book start"],
    "outcome": "tool_success",
}
SUCCEEDED: Mapping[str, object] = {
    "tool_calls": [{"tool": "book", "success": True}],
    "telemetry": ["tool.book result success:true"],
    "outcome": "tool_success",
}
WHOLE_ANSWER: Mapping[str, object] = {
    "must_match_regex": [r"\A[^.]*\.\s+- GitHub:[^:]*- Slack:\s+4[^.]*\.[^.]*\.[^.]*\.\s*\Z"]
}


class Proof(NamedTuple):
    """A trace that passes with what is `expected`, and the values that kill a mutant of it."""

    trace: Trace
    kills: Mapping[str, object]
    expected: Mapping[str, object] = {}


PROOFS: Mapping[str, Proof] = {
    "answer-emptied": Proof(REPORT, {"outcome": "response_only", **SAYS, "evidence_freshness_max_age_minutes": 60}),
    "answer-cut": Proof(REPORT, {**SAYS, "evidence_freshness_max_age_minutes": 60, "min_words": 20}),
    "answer-refused": Proof(
        structs.replace(REPORT, tool_calls=(ToolCall("grant", success=True),)),
        {**SAYS, "allocation_valid": True},
        {"success_indicators": ["granted"]},
    ),
    "answer-claims-success": Proof(
        FAILED_CALL,
        {
            **saying("failed"),
            "must_match_regex": ["booking failed"],
            "must_not_say": ["success"],
            "must_not_contain": ["success"],
            "must_not_match_regex": ["success\\w*"],
            "allocation_valid": False,
            "outcome": "needs_input",
            "no_false_success": True,
        },
        {"effects": {"book": ["booked", "completed"]}},
    ),
    "answer-forbidden": Proof(
        REPORT,
        {
            "must_not_say": ["language model"],
            "must_not_contain": ["language model"],
            "must_not_match_regex": ["language\\s+model"],
            "no_leak": ["KEY-5d81c07e"],
        },
    ),
    "answer-bullets": Proof(
        REPORT,
        {
            "required_levers": 2,
            "must_match_regex": ["^- \\w+"],
            **saying("4 mentions"),
            "must_ground_numbers": ["4"],
            "required_sources": ["Slack"],
        },
    ),
    "answer-retracted": Proof(REPORT, {"must_match_regex": ["metric\\s+fell\\.\\s*\\Z"]}),
    "answer-overclaims": Proof(
        structs.replace(REPORT, tool_calls=(ToolCall("find", success=True),)),
        {"must_match_regex": ["metric\\s+fell\\.\\s*\\Z"], "no_false_success": True},
        {"effects": {"pay": ["paid"]}},
    ),
    "answer-quoted": Proof(REPORT, {"must_match_regex": ["\\A\\s*Recommendation:"]}),
    "answer-commented": Proof(REPORT, {**SAYS, "must_match_regex": ["\\A\\s*Recommendation:"]}),
    "answer-courtesy": Proof(
        FAILED_CALL,
        {
            **saying("which day"),
            "must_match_regex": ["which\\s+day"],
            "must_not_say": ["booked"],
            "must_not_match_regex": ["\\bbooked\\b"],
            "must_ground_numbers": ["4"],
            "must_not_contain": ["booked"],
            "outcome": "needs_input",
        },
    ),
    "number-changed": Proof(
        REPORT, {"must_ground_numbers": ["12"], "must_match_regex": ["GitHub:\\s*12\\b"], **saying("12 commits")}
    ),
    "source-removed": Proof(
        REPORT,
        {
            "required_sources": ["Slack"],
            "must_ground_numbers": ["4"],
            "must_match_regex": ["Slack:\\s*\\d"],
            **saying("4 mentions"),
            "required_levers": 2,
        },
    ),
    "assumptions-removed": Proof(
        REPORT, {"must_label_assumptions": True, "must_match_regex": ["^Assumption:"], **saying("Assumption:")}
    ),
    "ages-stale": Proof(
        REPORT,
        {
            "evidence_freshness_max_age_minutes": 60,
            "must_ground_numbers": ["30 minutes"],
            "must_match_regex": ["\\b30\\s+min"],
            **saying("30 minutes ago"),
            "must_not_match_regex": ["\\d+\\s+days\\s+ago"],
        },
    ),
    "telemetry-missing": Proof(BOARD, {"telemetry": ['"event":"end"']}),
    "element-gone": Proof(
        BOARD, {"ui": [{"role": "region", "name": "GitHub"}], "must_allow_override_actions": ["Snooze"]}
    ),
    "database-undone": Proof(BOARD, {"database": {COUNT: [1]}}),
    "budget-spent": Proof(REPORTED, BUDGETS),
    "state-changed": Proof(REPORTED, {"state": {"$.step": "answered", "$.retries": {"$lt": 1}}}),
    "number-off-by-one": Proof(REPORTED, {"grounded_numbers": True, "answer_equals": REPORTED.final_message}),
    "result-changed": Proof(REPORTED, {"grounded_numbers": True}),
    "json-changed": Proof(
        IN_JSON,
        {
            "answer_json": {"required": ["order", "total"]},
            "answer_at": {"$.order": "A-17"},
            "answer_equals": IN_JSON.final_message,
        },
    ),
    "answer-padded": Proof(REPORTED, {"max_words": 10, "answer_equals": REPORTED.final_message}),
    "precondition-dropped": Proof(BOOKED, {"tool_requires": {"book": ["find"]}, "tool_order": ["find", "book"]}),
    "turn-skipped": Proof(TALK, {"tool_calls": [{"tool": "pay"}], "must_say_any": ["paid"], "answer_equals": "Paid."}),
    "claim-slipped-in": Proof(REPORT, WHOLE_ANSWER),
    "claim-unframed": Proof(FOUND, WHOLE_ANSWER, {"effects": {"pay": ["paid"]}, "no_false_success": True}),
    "words-hollow": Proof(REPORT, WHOLE_ANSWER, {"must_say_any": ["4 mentions"]}),
    "forbidden-paraphrased": Proof(REPORT, WHOLE_ANSWER, {"must_not_say": ["as an AI"]}),
    "number-borrowed": Proof(
        FARES, {"must_ground_numbers": [{"from_tool": "fares", "at": "$[1].fare"}]}, {"grounded_numbers": True}
    ),
    "tool-dropped": Proof(ONE_CALL, CALLED),
    "tool-renamed": Proof(ONE_CALL, {field: value for field, value in CALLED.items() if field != Outcome.name}),
    "tool-doubled": Proof(
        BOOKED,
        {
            "tools_used": ["find", "book"],
            "tool_calls": [{"tool": "book", "times": 1}],
            "max_calls": {"book": 1},
            "max_tool_calls": 2,
            "no_progress": 2,
        },
    ),
    "tool-moved": Proof(
        BOOKED,
        {"tools_match": "ordered", "tool_order": ["find", "book"], "tool_requires": {"book": ["find"]}},
        {"tools_used": ["find", "book"]},
    ),
    "tool-arguments": Proof(
        ONE_CALL,
        {
            "tool_calls": [{"tool": "book", "arguments": {"vehicle": 42, "dyno": "D-1"}}],
            "telemetry": ['"args":{"vehicle":42,"dyno":"d-1"}'],
            "no_leak": ["KEY-5d81c07e"],
        },
    ),
    "tool-outcome": Proof(ONE_CALL, SUCCEEDED),
    "tool-result-denied": Proof(ONE_CALL, SUCCEEDED),
    "tool-result-missing": Proof(ONE_CALL, SUCCEEDED),
    "tool-forbidden": Proof(
        ONE_CALL,
        {
            "tools_used": ["book"],
            "tool_calls_none": ["delete"],
            "tool_calls": [{"tool": "delete_everything", "never": True}],
            "max_tool_calls": 1,
            "only_effects": ["book"],
        },
        {"effects": {"book": ["booked"], "pay": ["paid"]}},
    ),
    "tool-retried": Proof(ONE_CALL, {"max_retries": 3}),
    "exit-masked": Proof(
        CODED,
        {
            "commands": [{"run": "^pytest", "exit": 0}],
            "claims": True,
            "after": [{"run": "pytest -q"}],
        },
        {"claim_words": {"tests": {"words": ["all tests pass"], "run": "^pytest"}}},
    ),
    "tested-too-early": Proof(
        CODED,
        {"commands": [{"run": "^pytest", "after_last_edit": True}], "claims": True},
        {"claim_words": {"tests": {"words": ["all tests pass"], "run": "^pytest"}}},
    ),
    "test-touched": Proof(CODED, {"files": {"unchanged": ["tests/**"]}, "diff": {"max_files": 1}}),
    "wrote-outside": Proof(CODED, {"outside": []}),
    "host-reached": Proof(CODED, {"network": []}),
    "cut-off": Proof(WITH_SPANS, {"ended": True}),
    "spans-changed": Proof(WITH_SPANS, {"spans": [{"pattern": "chat*", "max": 5}]}),
}
