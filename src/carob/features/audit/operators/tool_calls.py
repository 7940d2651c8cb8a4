"""Tool calls that the agent did not make, made twice, made otherwise, or that came out otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial

from msgspec import structs

from carob.checks.answer.leaks import NoLeak
from carob.checks.effects.permitted import OnlyEffects
from carob.checks.effects.resilience import MaxRetries
from carob.checks.tools.names import ToolCallsNone
from carob.features.audit.operators.base import Mutant, Operator, Subject, other_value
from carob.features.audit.operators.log_lines import with_argument, with_source, with_success, without_end
from carob.model.trace import ToolCall, Trace
from carob.text.wording import pluralize

STRANGER = "delete_everything"
NOT_DONE = {"success": False, "error": "nothing was done"}
RETRIES = 3
"""More retries of one call than these are too many where a case does not say how many are allowed."""
DENIALS = (json.dumps(NOT_DONE), repr(NOT_DONE), "Error: nothing was done")

CALLED = ("tools_used", "tool_calls", "tool_calls_any", "telemetry")
SUCCEEDED = ("tool_calls", "telemetry", "outcome")


def dropped(subject: Subject) -> Iterator[Mutant]:
    calls = subject.trace.tool_calls
    for index, call in enumerate(calls):
        fewer = (*calls[:index], *calls[index + 1 :])
        trace = structs.replace(subject.trace, tool_calls=fewer, telemetry=subject.log.without(index))
        yield Mutant(trace, f"{call.name} was not called", _suggest_call(subject, index))


def renamed(subject: Subject) -> Iterator[Mutant]:
    for index, call in enumerate(subject.trace.tool_calls):
        stranger = f"{call.name}_other"
        lines = subject.log.change_call(index, partial(with_source, source=f"tool.{stranger}"))
        trace = _with_call(subject, index, lines, name=stranger)
        yield Mutant(trace, f"{stranger} was called in place of {call.name}", _suggest_call(subject, index))


def doubled(subject: Subject) -> Iterator[Mutant]:
    calls = subject.trace.tool_calls
    for index, call in enumerate(calls):
        trace = structs.replace(
            subject.trace, tool_calls=(*calls[: index + 1], *calls[index:]), telemetry=subject.log.double_call(index)
        )
        yield Mutant(trace, f"{call.name} was called twice", {"tools_used": _names(subject)})


def moved(subject: Subject) -> Iterator[Mutant]:
    """Two neighbours in the other order, unless they ran side by side and have none."""
    calls = subject.trace.tool_calls
    ordered = [
        i for i in range(len(calls) - 1) if calls[i].name != calls[i + 1].name and not parallel(*calls[i : i + 2])
    ]
    if ordered:
        index = subject.chance.choice(ordered)
        first, second = calls[index : index + 2]
        swapped = (*calls[:index], second, first, *calls[index + 2 :])
        trace = structs.replace(subject.trace, tool_calls=swapped, telemetry=subject.log.swap_calls(index, index + 1))
        fix = {"tools_used": _names(subject), "tools_match": "ordered"}
        yield Mutant(trace, f"{second.name} was called before {first.name}", fix)


def other_arguments(subject: Subject) -> Iterator[Mutant]:
    """Each argument of each call; and one that holds a text that must not leak, for each such text."""
    for text in (args["text"] for args in subject.arguments(NoLeak)):
        for index, call in enumerate(subject.trace.tool_calls[:1]):
            arguments = {**(call.arguments if isinstance(call.arguments, dict) else {}), "note": text}
            lines = subject.log.change_call(index, partial(with_argument, key="note", value=text))
            trace = _with_call(subject, index, lines, arguments=arguments)
            yield Mutant(trace, f"{call.name} was called with {text!r}", {"no_leak": [text]})
    for index, call in enumerate(subject.trace.tool_calls):
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        for key, value in arguments.items():
            changed = other_value(value)
            lines = subject.log.change_call(index, partial(with_argument, key=key, value=changed))
            trace = _with_call(subject, index, lines, arguments={**arguments, key: changed})
            fix = {"tool_calls": [{"tool": call.name, "arguments": {key: value}}]}
            yield Mutant(trace, f"{call.name} was called with another {key}", fix)


def outcome_flipped(subject: Subject) -> Iterator[Mutant]:
    for index, call in enumerate(subject.trace.tool_calls):
        if call.success is None:
            continue
        now = not call.success
        lines = subject.log.change_call(index, partial(with_success, success=now))
        trace = _with_call(
            subject,
            index,
            lines,
            success=now,
            error=None,
            result={**call.result, "success": now} if isinstance(call.result, dict) else call.result,
            missing_fields=() if now else call.missing_fields,
        )
        yield Mutant(trace, f"{call.name} {'succeeded' if now else 'failed'}", _suggest_outcome(subject, index))


def result_denied(subject: Subject) -> Iterator[Mutant]:
    """A success whose result says in its text that it is none, as data turned into text and as plain words."""
    for index, call in enumerate(subject.trace.tool_calls):
        if call.success is not True:
            continue
        lines = subject.log.change_call(index, partial(with_success, success=False))
        for text in DENIALS:
            trace = _with_call(subject, index, lines, success=False, result=text)
            yield Mutant(trace, f"{call.name} gave {text!r}", _suggest_outcome(subject, index))


def result_missing(subject: Subject) -> Iterator[Mutant]:
    for index, call in enumerate(subject.trace.tool_calls):
        if call.success is None and call.result is None and call.error is None:
            continue
        lines = subject.log.change_call(index, without_end)
        trace = _with_call(
            subject, index, lines, success=None, result=None, error=None, missing_fields=(), ended_at=None
        )
        yield Mutant(trace, f"{call.name} never returned a result", _suggest_outcome(subject, index))


def forbidden_called(subject: Subject) -> Iterator[Mutant]:
    """Each tool that the case forbids, each effect that it does not permit, and one that was not asked for."""
    if subject.trace.why_unobserved("tools"):
        return
    forbidden = [args["tool"] for args in subject.arguments(ToolCallsNone)]
    for args in subject.arguments(OnlyEffects):
        permitted = args["tools"]
        forbidden += [
            tool for tool in args.get("effects", ()) if not any(fnmatchcase(tool, name) for name in permitted)
        ]
    for tool in (*dict.fromkeys(name.replace("*", "other") for name in forbidden), STRANGER):
        trace = structs.replace(
            subject.trace,
            tool_calls=(*subject.trace.tool_calls, ToolCall(tool, success=True)),
            telemetry=subject.log.and_start(tool),
        )
        yield Mutant(trace, f"{tool} was called as well", {"tools_used": _names(subject)})


def retried(subject: Subject) -> Iterator[Mutant]:
    """Each call fails first, and is made again and again; more often than the case allows, if it says how often."""
    allowed = max((args["most"] for args in subject.arguments(MaxRetries)), default=RETRIES)
    calls = subject.trace.tool_calls
    for index, call in enumerate(calls):
        failed = structs.replace(call, success=False, result=None, error="503")
        again = (*calls[:index], *[failed] * (allowed + 1), *calls[index:])
        change = f"{call.name} was retried {pluralize(allowed + 1, 'time')}"
        yield Mutant(structs.replace(subject.trace, tool_calls=again), change, {"max_retries": allowed})


def parallel(first: ToolCall, second: ToolCall) -> bool:
    """Whether the second began before the first had ended."""
    return first.ended_at is not None and second.started_at is not None and second.started_at < first.ended_at


def _with_call(subject: Subject, index: int, lines: tuple[str, ...], **changes: object) -> Trace:
    calls = list(subject.trace.tool_calls)
    calls[index] = structs.replace(calls[index], **changes)
    return structs.replace(subject.trace, tool_calls=tuple(calls), telemetry=lines)


def _names(subject: Subject) -> list[str]:
    return [call.name for call in subject.trace.tool_calls]


def _suggest_call(subject: Subject, index: int) -> Mapping[str, object]:
    name = subject.trace.tool_calls[index].name
    return {"tools_used": _names(subject), "tool_calls": [{"tool": name}]}


def _suggest_outcome(subject: Subject, index: int) -> Mapping[str, object]:
    call = subject.trace.tool_calls[index]
    if call.success is None:
        return {"tool_calls": [{"tool": call.name}]}
    fix: dict[str, object] = {"tool_calls": [{"tool": call.name, "success": call.success}]}
    if subject.log.reports_call(index):
        fix["telemetry"] = [f"tool.{call.name} result success:{'true' if call.success else 'false'}"]
    return fix


OPERATORS = (
    Operator("tool-dropped", "a tool call is missing", "notices a missing tool call", dropped, (*CALLED, "outcome")),
    Operator("tool-renamed", "another tool was called", "checks which tools are called", renamed, CALLED),
    Operator(
        "tool-doubled",
        "a tool was called twice",
        "counts tool calls",
        doubled,
        ("tools_used", "tool_calls", "max_calls", "max_tool_calls", "no_progress"),
    ),
    Operator(
        "tool-moved",
        "the calls came in another order",
        "checks the order of the calls",
        moved,
        ("tools_match", "tool_order", "tool_requires"),
    ),
    Operator(
        "tool-arguments",
        "a tool was called with other arguments",
        "looks at arguments",
        other_arguments,
        ("tool_calls", "telemetry", "no_leak"),
    ),
    Operator(
        "tool-outcome",
        "a success was a failure, or a failure a success",
        "checks whether the tools succeed",
        outcome_flipped,
        SUCCEEDED,
    ),
    Operator(
        "tool-result-denied",
        "the text of a result says that nothing was done",
        "checks whether the tools succeed",
        result_denied,
        SUCCEEDED,
    ),
    Operator(
        "tool-result-missing",
        "a tool never returned a result",
        "waits for the result of a tool",
        result_missing,
        SUCCEEDED,
    ),
    Operator(
        "tool-forbidden",
        "a tool was called that must not be",
        "forbids a tool",
        forbidden_called,
        ("tools_used", "tool_calls_none", "tool_calls", "max_tool_calls", "only_effects"),
    ),
    Operator(
        "tool-retried",
        "a call that failed was made again and again",
        "limits retries",
        retried,
        ("max_retries",),
        helps=" with the number of retries that a failed call may have",
    ),
)
