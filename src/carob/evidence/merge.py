"""What was seen of a turn by several sources → one trace, and the turns of a conversation → the trace of all of it.

Two calls are the same by their id, else by their tool and equal arguments. Where a source does not know the arguments,
the order decides. A call that has no match is one that the other source did not see.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from carob.evidence.commands import command_of, with_exit_code
from carob.evidence.logs.events import tool_calls
from carob.model.cost import COST, reported_cost
from carob.model.trace import BY_ITSELF, Message, PossibleCall, SpanNode, Tokens, ToolCall, Trace, TraceError
from carob.model.workspace import ProcessRun
from carob.text.command_lines import line_of_argv, shell_line
from carob.text.tool_results import parse_result


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
        refused=call.refused or twin.refused,
        exit_code=twin.exit_code if call.exit_code is None else call.exit_code,
        approvals=call.approvals or twin.approvals,
        unobserved={key: why for key, why in call.unobserved.items() if key not in unknown},
    )


def merge_processes(calls: Sequence[ToolCall], runs: Sequence[ProcessRun]) -> list[ToolCall]:
    """The calls of commands with the exit codes of their processes, which outweigh what a log says of them."""
    lines: dict[int, tuple[str, ...]] = {
        index: tuple(filter(None, (shell_line(run.argv), line_of_argv(run.argv), shlex.join(run.argv))))
        for index, run in enumerate(runs)
        if not run.own and run.exit_code is not None
    }
    merged = []
    for call in calls:
        line = command_of(call) if call.called else None
        taken = next((index for index, texts in lines.items() if line and line in texts), None)
        if taken is None and line:
            taken = next((index for index, (text, *_) in lines.items() if len(line) > 3 and line in text), None)
        code = None if taken is None else runs[taken].exit_code
        if taken is not None:
            lines = {index: texts for index, texts in lines.items() if not _is_within(index, taken, runs)}
        merged.append(call if code is None else with_exit_code(structs.replace(call, exit_code=code)))
    return merged


def _is_within(number: int, outer: int, runs: Sequence[ProcessRun]) -> bool:
    """Whether a process is another, or was started by it; in a sandbox its parent is not known, but its time is."""
    at: int | None = number
    while at is not None and at != outer:
        if runs[at].parent is None:
            began, ended = runs[at].started_at, runs[outer].ended_at
            return began is not None and runs[outer].started_at <= began and (ended is None or began <= ended)
        at = runs[at].parent
    return at == outer


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


Value = TypeVar("Value")
Evidence = TypeVar("Evidence")

OF_EVERY_TURN = ("messages", "tools", "tool_results", "tool_schemas", "telemetry", "case")
"""A conversation lacks such a channel if any of its turns lacks it. For the others, one turn is enough."""
BEFORE = "page_before"
SYSTEM = "system"
WORDS_CAP = 1 << 16


class TurnEvidence(Struct, frozen=True):
    """What spans, or the traffic with models, show of a turn."""

    calls: tuple[ToolCall, ...] = ()
    nodes: tuple[SpanNode, ...] = ()
    tokens: Tokens | None = None
    cost_usd: float | None = None
    model_calls: int = 0
    answer: str = ""
    prompt: str = ""
    state: dict[str, object] = {}
    doubt: str = ""
    """Why something is missing, or may still come; the empty string if nothing seems to be."""
    tool_schemas: dict[str, object] = {}
    """The tools that models were offered, each with the JSON Schema of its arguments."""
    plugins: frozenset[str] = frozenset()
    """What names of tools begin with because the framework put the name of a plugin there: `Desk-`."""
    ended_by: str = ""
    gap: str = ""
    """Why a call could be missing unnoticed; empty if the source proves that it shows all of them."""
    structured: bool = False
    """Whether a model call shows that tools are asked for by structured calls."""
    words: str = ""
    """What the models said, unless calls are structured or counted: they may ask for tools in words or code."""
    why_in_words: str = ""
    """Why a call that the words name may have been made."""
    open_calls: tuple[PossibleCall, ...] = ()
    """Calls that models asked for, and that may have been run or not."""
    system_prompts: tuple[str, ...] = ()

    @property
    def unproved(self) -> str:
        """Why it does not prove that nothing else was called, or the empty string."""
        return self.doubt or self.gap

    @property
    def possible_calls(self) -> tuple[PossibleCall, ...]:
        """What the models' words may ask for."""
        if self.structured or not self.words:
            return ()
        return (PossibleCall(self.words[:WORDS_CAP], self.why_in_words, "words"),)

    @property
    def costs(self) -> dict[str, object]:
        """What it cost, as the metadata of a trace reports it."""
        return {} if self.cost_usd is None else {COST: self.cost_usd}


def merge_evidence(
    trace: Trace, evidence: TurnEvidence, *, vouched: bool, structured: bool, unowned: tuple[PossibleCall, ...] = ()
) -> Trace:
    """A turn as the target saw it, with other evidence of it.

    `vouched`: the user vouches that no call is missing. `structured`: the agent is known to ask by structured calls.
    """
    unobserved = {key: why for key, why in trace.unobserved.items() if key != "tools"}
    blind = trace.why_unobserved("tools")
    doubt = evidence.doubt if vouched else evidence.unproved
    if blind and doubt:
        unobserved["tools"] = doubt
    # Where every call is shown, what the target could not read is not one more.
    possible = [call for call in trace.possible_calls if not blind or doubt or call.of != "words"]
    in_words = () if structured or vouched else evidence.possible_calls
    calls = merge_calls(trace.tool_calls, evidence.calls)
    still_open = {call.name for call in calls if not call.called}
    open_calls = tuple(call for call in evidence.open_calls if call.text in still_open)
    has_system_prompt = any(message.role == SYSTEM for message in trace.messages)
    prompts = () if has_system_prompt else tuple(Message(SYSTEM, text) for text in evidence.system_prompts)
    return structs.replace(
        trace,
        messages=(*prompts, *trace.messages),
        tool_calls=tuple(calls),
        possible_calls=(*possible, *unowned, *((*in_words, *open_calls) if blind else ())),
        unobserved=unobserved,
        spans=evidence.nodes or trace.spans,
        ended_by=trace.ended_by or evidence.ended_by,
        tokens=trace.tokens or evidence.tokens,
        state=trace.state or evidence.state,
        metadata={**trace.metadata, **evidence.costs},
    )


def merge_by_turn(trace: Trace, evidence: Sequence[Evidence], merge: Callable[[Trace, Evidence], Trace]) -> Trace:
    """The trace, and each of its turns, with the evidence of it; the evidence is of the last turns."""
    if not trace.turns:
        return merge(trace, evidence[-1])
    pairs = zip(trace.turns, evidence[-len(trace.turns) :], strict=False)
    merged = merge_turns([merge(turn, of_turn) for turn, of_turn in pairs], trace.error)
    return structs.replace(merged, metadata={**merged.metadata, **trace.metadata})


def answers_by_turn(trace: Trace, turns: int) -> list[str]:
    """The answers of so many turns. Setup prompts come first, and none of their answers is kept."""
    answers = [turn.final_message for turn in trace.turns or (trace,)][-turns:]
    return [""] * (turns - len(answers)) + answers


def merge_telemetry(calls: Sequence[ToolCall], telemetry: tuple[str, ...], dialect: str = "") -> tuple[ToolCall, ...]:
    """The reported calls, completed by the telemetry, then those that only the telemetry has.

    Any event of a tool is a call of it: what an agent leaves out of its list must not escape a check.
    """
    return tuple(merge_calls(calls, tool_calls(telemetry, dialect), by_order=True)) if telemetry else tuple(calls)


def merge_turns(turns: Sequence[Trace], error: TraceError | None = None) -> Trace:
    """The trace of the turns together: calls and log lines of all of them, times and tokens added up.

    Input, final message, page, state and database are those of the last turn, the page before is that of the first. A
    timing such as the wait for the first token is the longest that there was.
    """
    first, last = turns[0], turns[-1]
    durations = [turn.duration_ms for turn in turns if turn.duration_ms is not None]
    return structs.replace(
        last,
        messages=tuple([message for turn in turns for message in turn.messages]),
        tool_calls=tuple([call for turn in turns for call in turn.tool_calls]),
        tool_schemas={name: schema for turn in turns for name, schema in turn.tool_schemas.items()},
        ended_by=_find_end([turn.ended_by for turn in turns]),
        possible_calls=tuple(dict.fromkeys([call for turn in turns for call in turn.possible_calls])),
        telemetry=tuple([line for turn in turns for line in turn.telemetry]),
        page_before=first.page_before,
        unobserved=_merge_channels([turn.unobserved for turn in turns]),
        cuts=_merge_channels([turn.cuts for turn in turns]),
        started_at=first.started_at,
        duration_ms=round(sum(durations), 3) if len(durations) == len(turns) else None,
        timings=_longest([turn.timings for turn in turns]),
        steps=_total([turn.steps for turn in turns]),
        tokens=_tokens([turn.tokens for turn in turns]),
        spans=tuple([span for turn in turns for span in turn.spans]),
        attachments={name: file for turn in turns for name, file in turn.attachments.items()},
        metadata=_metadata(turns),
        error=error,
        turns=tuple(turns),
    )


def _merge_channels(tables: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """What is known of each channel, by the turn that has it."""
    if tables.count(tables[0]) == len(tables) and BEFORE not in tables[0]:
        return {**tables[0]}
    merged = {key: value for key, value in tables[-1].items() if key != BEFORE}
    merged |= {key: value for key, value in tables[0].items() if key == BEFORE}
    return merged | {key: table[key] for key in OF_EVERY_TURN for table in reversed(tables) if key in table}


def _find_end(ends: Sequence[str]) -> str:
    """The first limit that cut a turn off; without one, whether every turn is known to have ended by itself."""
    for end in ends:
        if end not in ("", BY_ITSELF):
            return end
    return BY_ITSELF if all(ends) else ""


def _metadata(turns: Sequence[Trace]) -> dict[str, object]:
    """The metadata of the turns, the last value of each key; the cost is their sum, if every turn has one."""
    if not any(turn.metadata for turn in turns):
        return {}
    merged = {key: value for turn in turns for key, value in turn.metadata.items() if key != COST}
    costs = [cost for turn in turns if (cost := reported_cost(turn.metadata)) is not None]
    return {**merged, COST: sum(costs)} if len(costs) == len(turns) else merged


def _longest(tables: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The longest of each, if every turn has it."""
    if not tables[0]:
        return {}
    names = [name for name in tables[0] if all(name in table for table in tables)]
    return {name: max(table[name] for table in tables) for name in names}


def _tokens(counts: Sequence[Tokens | None]) -> Tokens | None:
    """What all turns used; unknown where one of them does not say it."""
    if None in counts:
        return None
    known_counts = [count for count in counts if count is not None]
    return Tokens(_total([count.input for count in known_counts]), _total([count.output for count in known_counts]))


def _total(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum([value for value in values if value is not None])
