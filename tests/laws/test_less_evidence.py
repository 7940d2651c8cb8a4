"""Law 2: less evidence never makes green. What was taken away still left a name, a count or a torn line behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs

from carob.model.trace import PossibleCall, TextLoss, ToolCall, Trace
from carob.model.verdict import CheckResult, Status
from carob.scoring.verdicts import run_check
from laws.coverage import Coverage, require
from laws.samples import CATALOG, EXAMPLES, KEYS, SAMPLES, build_case, build_check, describe, results

WHY = "it was taken away"
Loss = Callable[[Trace], Trace | None]


def _without_calls(trace: Trace, **left: Any) -> Trace | None:
    return structs.replace(trace, tool_calls=(), **left) if trace.tool_calls else None


def _possible(text: Callable[[ToolCall], str], of: Any) -> Loss:
    def lose(trace: Trace) -> Trace | None:
        left = tuple(PossibleCall(text(call), WHY, of) for call in trace.tool_calls)
        return _without_calls(trace, possible_calls=(*trace.possible_calls, *left))

    return lose


def _torn_log(trace: Trace) -> Trace | None:
    lines = tuple(f'{{"ts": 1, "source": "tool.{call.name}", "event": "result", "da' for call in trace.tool_calls)
    return _without_calls(trace, telemetry=(*trace.telemetry, *lines))


def _log_in_words(trace: Trace) -> Trace | None:
    lines = tuple(f"12:00 calling tool {call.name} now" for call in trace.tool_calls)
    return _without_calls(trace, telemetry=(*trace.telemetry, *lines))


def _unobserved(channel: str, **lost: Any) -> Loss:
    def lose(trace: Trace) -> Trace | None:
        held = [getattr(trace, name) for name in lost]
        if not any(held):
            return None
        return structs.replace(trace, **lost, unobserved={**trace.unobserved, channel: WHY})

    return lose


def _each_call(**lost: Any) -> Loss:
    def lose(trace: Trace) -> Trace | None:
        unobserved = {part: WHY for part in lost if part in ("arguments", "result")}
        calls = tuple(structs.replace(call, **lost, unobserved=unobserved) for call in trace.tool_calls)
        return structs.replace(trace, tool_calls=calls) if calls != trace.tool_calls else None

    return lose


def _torn_telemetry(trace: Trace) -> Trace | None:
    """Each event of the log is cut off after its middle."""
    torn = tuple(line[: len(line) * 2 // 3] for line in trace.telemetry if line.startswith("{"))
    return structs.replace(trace, telemetry=torn) if torn else None


def _unobserved_log(trace: Trace) -> Trace | None:
    """Where calls were seen otherwise, a log is no evidence that is missed."""
    return _unobserved("telemetry", telemetry=())(trace) if trace.why_unobserved("tools") else None


def _cut_answer(trace: Trace) -> Trace | None:
    half = trace.final_message[: len(trace.final_message) // 2]
    cut = {"final_message": TextLoss("only the first part was kept", len(trace.final_message))}
    return structs.replace(trace, final_message=half, cuts={**trace.cuts, **cut}) if half.strip() else None


def _measure(name: str) -> Loss:
    def lose(trace: Trace) -> Trace | None:
        return structs.replace(trace, **{name: None if name != "timings" else {}}) if getattr(trace, name) else None

    return lose


LOSSES: dict[str, Loss] = {
    "calls that only a ReAct prompt names": _possible(lambda call: f"Action: {call.name}\nAction Input: {{}}", "words"),
    "calls that only code names": _possible(lambda call: f"```py\n{call.name}(1)\n```", "words"),
    "calls that only JSON names": _possible(lambda call: f'{{"action": "{call.name}", "args": {{}}}}', "words"),
    "calls without an owner": _possible(lambda call: call.name, "call"),
    "calls that torn lines of the log name": _torn_log,
    "calls that the log names in words": _log_in_words,
    "calls that were not observed": _unobserved("tools", tool_calls=()),
    "results": _each_call(result=None, success=None, error=None, missing_fields=()),
    "arguments": _each_call(arguments=None),
    "lines of the log": _torn_telemetry,
    "the log": _unobserved_log,
    "half of the answer": _cut_answer,
    "the answer": _unobserved("final_message", final_message=""),
    "the page": _unobserved("page", page=None),
    "the page before": _unobserved("page_before", page_before=None),
    "the page of the answer": _unobserved("answer_page", answer_page=None),
    "the database": _unobserved("database", database={}),
    "the state": _unobserved("state", state={}),
    "spans": _unobserved("spans", spans=()),
    "schemas": _unobserved("tool_schemas", tool_schemas={}),
    "the duration": _measure("duration_ms"),
    "timings": _measure("timings"),
    "steps": _measure("steps"),
    "tokens": _measure("tokens"),
}
"""What may be lost of a trace, each leaving behind that it was there; None where there is nothing to lose."""

EXCEPTIONS = {
    "allocation_valid: calls that were not observed": "its words decide where calls are not observed, as SPEC 3.4 says",
}


def _judged() -> Iterator[tuple[str, Callable[[Trace], list[CheckResult]], Trace]]:
    """Every check with a trace that it does not pass, and how it judges another."""
    for cls, example in EXAMPLES:
        if example.status is not Status.PASSED:
            check = build_check(cls, example.args)
            yield f"{cls.name}{dict(example.args)}", lambda trace, check=check: [run_check(check, trace)], example.trace
    for sample in SAMPLES:
        checks = [c for c in CATALOG.checks(build_case(sample.expected).checks) if c.name == sample.check]
        yield (
            sample.name,
            lambda trace, checks=checks: [run_check(check, trace) for check in checks],  # type: ignore[misc]
            sample.failing,
        )


def find_passes_by_loss() -> Coverage:
    """Checks that pass once evidence is taken away."""
    coverage = Coverage(2, "less evidence never makes green", checks=KEYS, doors=LOSSES, exceptions=EXCEPTIONS)
    for name, judge, trace in _judged():
        for loss, lose in LOSSES.items():
            less = lose(trace)
            if less is None:
                continue
            found = [result.status for result in judge(less)]
            by_words = "allocation_valid" in name and loss == "calls that were not observed"
            green = bool(found) and set(found) == {Status.PASSED} and not by_words
            coverage.try_one(not green, f"{name} without {loss}: {describe(trace)}")
    return coverage


def test_less_evidence_never_makes_green(record_property: Callable[[str, object], None]) -> None:
    require(find_passes_by_loss(), record_property)


def test_a_check_that_takes_not_seen_for_absent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what words and log name is no doubt."""
    monkeypatch.setattr("carob.checks.tools.names.not_understood", lambda trace, tools=(): None)
    assert find_passes_by_loss().violations


ANY_CALL = {
    "tool_calls_none": (
        {"tool_calls_none": ["*"]},
        {"tool_calls_none": ["send_*"]},
        {"tool_calls_none": ["send_mail"]},
    ),
    "max_calls": ({"max_calls": {"*": 0}}, {"max_calls": {"send_*": 0}}, {"max_calls": {"send_mail": 0}}),
    "max_tool_calls": ({"max_tool_calls": 0},),
    "tool_calls": (
        {"tool_calls": [{"tool": "*", "never": True}]},
        {"tool_calls": [{"tool": "send_*", "never": True}]},
        {"tool_calls": [{"tool": "send_*", "times": {"min": 0, "max": 1}}]},
    ),
    "tools_used": ({"tools_used": []}, {"tools_used": ["find"], "tools_match": "subset"}),
    "only_effects": ({"only_effects": []},),
    "tool_requires": ({"tool_requires": {"send_*": ["find"]}}, {"tool_requires": {"*": ["find"]}}),
    "no_effect_twice": ({"no_effect_twice": True},),
    "max_retries": ({"max_retries": 0},),
    "no_progress": ({"no_progress": 2},),
    "outcome": ({"outcome": "needs_input"}, {"outcome": "graceful_block"}),
    "trajectory": ({"trajectory": {"calls": [], "match": "ordered"}},),
    "tool_call_f1": ({"tool_call_f1": {"tools": ["find"], "threshold": 1.0}},),
}
"""Every key that an absent call meets, by name, by pattern and by count."""
IN_WORDS = {
    "ReAct": "Thought: I mail them.\nAction: send_mail\nAction Input: {}",
    "ReAct in bold": "**Action:** `send_mail`\n**Action Input:** {}",
    "JSON": '{"action": "send_mail", "action_input": {}}',
    "tool": '```json\n{"tool": "send_mail", "args": {}}\n```',
    "code": "```py\nresult = send_mail(to='a@b.c')\nprint(result)\n```",
    "tagged code": "<code>send_mail(to='a@b.c')</code>",
    "xml": '<invoke name="send_mail"><parameter name="to">a</parameter></invoke>',
    "DSPy": "[[ ## next_tool_name ## ]]\nsend_mail\n\n[[ ## next_tool_args ## ]]\n{}",
}
"""How agents ask for a tool in words."""


def find_words_taken_for_absence() -> Coverage:
    """Keys that pass although the words of the model name a call that has no record."""
    coverage = Coverage(2, "a tool that words ask for is not absent", checks=ANY_CALL, dialects=IN_WORDS)
    seen = (ToolCall("find", success=True),)
    for values in ANY_CALL.values():
        for expected in values:
            for spelling, words in IN_WORDS.items():
                for calls in ((), seen):
                    text = "I cannot do that. Which one?"
                    trace = Trace(
                        case_id="A",
                        final_message=text,
                        tool_calls=calls,
                        possible_calls=(PossibleCall(words, WHY, "words"),),
                    )
                    case = build_case({**expected, "effects": {"send_*": ["sent"]}})
                    (key,) = (name for name in expected if name in ANY_CALL)
                    found = [check.judge(trace).status for check in CATALOG.checks(case.checks) if check.name == key]
                    coverage.try_one(Status.PASSED not in found, f"{expected} with {spelling} after {len(calls)} calls")
    return coverage


def test_a_tool_that_words_ask_for_is_not_absent(record_property: Callable[[str, object], None]) -> None:
    require(find_words_taken_for_absence(), record_property)


def test_every_key_that_an_absent_call_meets_is_tried() -> None:
    """A key that passes where no tool was called, and fails where one was."""
    nothing = Trace(case_id="A", final_message="Done.", tool_calls=())
    met = set()
    for sample in SAMPLES:
        empty = results(sample.expected, nothing, sample.check)
        calls = sample.failing.tool_calls
        if calls and empty and all(result.status is Status.PASSED for result in empty):
            met.add(sample.key)
    assert met - ANY_CALL.keys() <= NOT_BY_ABSENCE.keys()


NOT_BY_ABSENCE = {
    "admits_failure": "what was not called did not fail; an answer of words alone is judged by other keys",
    "no_false_success": "a claim wants a call, and words that name one make it UNKNOWN",
    "no_leak": "its text is sought in arguments, and in the words themselves by `must_not_say`",
    "valid_arguments": "it judges the calls that there are",
    "grounded_numbers": "it wants calls, not their absence",
    "grounded_constants": "it only says how `grounded_numbers` is read",
    "grounded_in": "it only says how `grounded_numbers` is read",
    "ended": "it does not look at calls",
}


AGES = (
    "Jira: last Tuesday", "Jira: yesterday", "Jira (a week old)", "Jira: as of 2019-01-01", "Jira data from last month",
    "Jira: updated on Monday", "Jira: 3 business days old", "Jira: since March", "Jira: two fortnights ago",
)  # fmt: skip
"""Ages in words, beside one that is read."""


JOINTS = (" · ", "; ", "\n", ", ", " | ", " (", ". ")


def find_unread_ages() -> Coverage:
    """Answers that pass by one age although another one was not read."""
    key = "evidence_freshness_max_age_minutes"
    coverage = Coverage(2, "an age that was not read does not pass", checks=(key,), dialects=AGES)
    for joint in JOINTS:
        for age in AGES:
            trace = Trace(case_id="A", final_message=f"Slack: 5 min ago{joint}{age}", tool_calls=())
            (found,) = results({key: 60}, trace, key)
            coverage.try_one(found.status is not Status.PASSED, trace.final_message)
    return coverage


def test_an_age_that_was_not_read_does_not_pass(record_property: Callable[[str, object], None]) -> None:
    require(find_unread_ages(), record_property)


def test_the_losses_reach_every_channel() -> None:
    """Each loss takes something from some trace, so that none is tried on nothing."""
    traces = [trace for _, _, trace in _judged()]
    assert {name for name, lose in LOSSES.items() if any(lose(trace) for trace in traces)} == set(LOSSES)
