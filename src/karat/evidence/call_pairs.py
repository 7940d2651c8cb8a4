"""The calls that two sources show of one turn → each call once, with what either knows of it.

Two calls are the same by their id, else by their tool and equal arguments. Where a source does not know the arguments,
the order decides. A call that has no match is one that the other source did not see.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from karat.model.trace import ToolCall
from karat.text.tool_results import parse_result


def merge_calls(calls: Sequence[ToolCall], others: Sequence[ToolCall], *, by_order: bool = False) -> list[ToolCall]:
    """The calls of one source, completed by another, then those that only the other has.

    `by_order`: the other source spells arguments its own way, so that of one tool only the order is compared.
    """
    if not others:
        return list(calls)
    pairs = _find_pairs(calls, others, by_order)
    merged = [
        call if (n := pairs.get(index)) is None else complete_call(call, others[n]) for index, call in enumerate(calls)
    ]
    taken = set(pairs.values())
    return [*merged, *(other for index, other in enumerate(others) if index not in taken)]


def merge_by_time(calls: Sequence[ToolCall], others: Sequence[ToolCall]) -> list[ToolCall]:
    """The same, with what only the other source has in its place, as far as times are known."""
    merged = merge_calls(calls, others)
    ordered = merged[: len(calls)]
    for call in merged[len(calls) :]:
        started = call.started_at
        later = (
            index
            for index, other in enumerate(ordered)
            if started is not None and other.started_at is not None and other.started_at > started
        )
        ordered.insert(next(later, len(ordered)), call)
    return ordered


def complete_call(call: ToolCall, twin: ToolCall) -> ToolCall:
    """A call with what another source knows of it: a sign of failure outweighs a success, an end outweighs none."""
    unknown = [key for key in call.unobserved if key not in twin.unobserved and getattr(twin, key) is not None]
    has_end = call.result is not None or call.error is not None
    failed = call.success is False or twin.success is False
    known = twin.success if call.success is None else call.success
    return structs.replace(
        call,
        arguments=twin.arguments if call.arguments is None else call.arguments,
        id=call.id or twin.id,
        started=call.started or twin.started,
        result=call.result if has_end else twin.result,
        error=call.error or twin.error,
        success=False if failed else known,
        unfinished=call.unfinished and twin.unfinished,
        missing_fields=call.missing_fields or twin.missing_fields,
        started_at=twin.started_at if call.started_at is None else call.started_at,
        ended_at=twin.ended_at if call.ended_at is None else call.ended_at,
        parent=call.parent or twin.parent,
        message=call.message or twin.message,
        with_words=twin.with_words if call.with_words is None else call.with_words,
        unobserved={key: why for key, why in call.unobserved.items() if key not in unknown},
    )


def _find_pairs(calls: Sequence[ToolCall], others: Sequence[ToolCall], by_order: bool) -> dict[int, int]:
    """Which of the others each call is; surer signs are looked at first."""
    pairs: dict[int, int] = {}
    free: dict[str, list[int]] = {}
    for index, other in enumerate(others):
        free.setdefault(other.name, []).append(index)
    signs = (_has_same_id, _has_equal_arguments, _may_be_same) if not by_order else (_has_same_id, _is_any)
    for is_same in signs:
        for index, call in enumerate(calls):
            candidates = free.get(call.name)
            if not candidates or index in pairs:
                continue
            match = next((n for n in candidates if is_same(call, others[n])), None)
            if match is not None:
                pairs[index] = match
                candidates.remove(match)
    return pairs


def _has_same_id(call: ToolCall, other: ToolCall) -> bool:
    return call.id is not None and call.id == other.id


def _has_equal_arguments(call: ToolCall, other: ToolCall) -> bool:
    return call.arguments is not None and call.arguments == other.arguments


def _may_be_same(call: ToolCall, other: ToolCall) -> bool:
    """Whether the arguments of one are not known, or are those of the other with defaults filled in."""
    mine, its = parse_result(call.arguments), parse_result(other.arguments)
    if mine is None or its is None:
        return True
    if not isinstance(mine, dict) or not isinstance(its, dict):
        return str(mine) == str(its)
    fewer, more = sorted((mine, its), key=len)
    return all(key in more and str(more[key]) == str(value) for key, value in fewer.items())


def _is_any(call: ToolCall, other: ToolCall) -> bool:
    return True
