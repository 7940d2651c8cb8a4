"""The turns of a conversation → the trace of all of it: what was done in any turn, and the last answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import structs

from karat.model.cost import COST, reported_cost
from karat.model.trace import BY_ITSELF, Tokens, Trace, TraceError

Value = TypeVar("Value")

OF_EVERY_TURN = ("messages", "tools", "tool_results", "tool_schemas", "telemetry", "case")
"""A conversation lacks such a channel if any of its turns lacks it. For the others, one turn is enough."""
BEFORE = "page_before"


def conversation(turns: Sequence[Trace], error: TraceError | None = None) -> Trace:
    """The trace of the turns together: calls and log lines of all of them, times and tokens added up.

    Input, final message, page, state and database are those of the last turn, the page before is that of the first. A
    timing such as the wait for the first token is the longest that there was.
    """
    first, last = turns[0], turns[-1]
    return structs.replace(
        last,
        messages=tuple([message for turn in turns for message in turn.messages]),
        tool_calls=tuple([call for turn in turns for call in turn.tool_calls]),
        tool_schemas={name: schema for turn in turns for name, schema in turn.tool_schemas.items()},
        ended_by=_find_end([turn.ended_by for turn in turns]),
        possible_calls=tuple(dict.fromkeys([call for turn in turns for call in turn.possible_calls])),
        telemetry=tuple([line for turn in turns for line in turn.telemetry]),
        page_before=first.page_before,
        unobserved=_merge_tables(turn.unobserved for turn in turns),
        cuts=_merge_tables(turn.cuts for turn in turns),
        started_at=first.started_at,
        duration_ms=_sum([turn.duration_ms for turn in turns]),
        timings=_longest([turn.timings for turn in turns]),
        steps=_total([turn.steps for turn in turns]),
        tokens=_tokens([turn.tokens for turn in turns]),
        spans=tuple([span for turn in turns for span in turn.spans]),
        attachments={name: file for turn in turns for name, file in turn.attachments.items()},
        metadata=_metadata(turns),
        error=error,
        turns=tuple(turns),
    )


def _merge_tables(tables: Iterable[Mapping[str, Value]]) -> dict[str, Value]:
    """What is known of each channel, by the turn that has it."""
    each = list(tables)
    one_turn = {key: value for key, value in each[-1].items() if key != BEFORE}
    one_turn |= {key: value for key, value in each[0].items() if key == BEFORE}
    return one_turn | {key: table[key] for key in OF_EVERY_TURN for table in reversed(each) if key in table}


def _find_end(ends: Sequence[str]) -> str:
    """The first limit that cut a turn off; without one, whether every turn is known to have ended by itself."""
    return next((end for end in ends if end not in ("", BY_ITSELF)), BY_ITSELF if all(ends) else "")


def _metadata(turns: Sequence[Trace]) -> dict[str, object]:
    """The metadata of the turns, the last value of each key; the cost is their sum, if every turn has one."""
    merged = {key: value for turn in turns for key, value in turn.metadata.items() if key != COST}
    costs = [cost for turn in turns if (cost := reported_cost(turn.metadata)) is not None]
    return {**merged, COST: sum(costs)} if len(costs) == len(turns) else merged


def _sum(values: Sequence[float | None]) -> float | None:
    """What all turns took; not known where one of them was not measured."""
    known = [value for value in values if value is not None]
    return round(sum(known), 3) if len(known) == len(values) else None


def _longest(tables: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The longest of each, if every turn has it."""
    names = [name for name in tables[0] if all(name in table for table in tables)]
    return {name: max(table[name] for table in tables) for name in names}


def _tokens(counts: Sequence[Tokens | None]) -> Tokens | None:
    """What all turns used; not known where one of them does not tell."""
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    return Tokens(_total([count.input for count in known]), _total([count.output for count in known]))


def _total(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
