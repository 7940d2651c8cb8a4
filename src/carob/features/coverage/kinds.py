"""Kinds of conversations, by which tools were called and how each came out: those that no case of a suite resembles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from carob.features.coverage.assertions import CaseMention
from carob.features.coverage.model import UnlikeKind
from carob.model.trace import ToolCall, Trace
from carob.text.tool_names import is_helper

Kind: TypeAlias = frozenset[tuple[str, str]]
MOST_KINDS: Final = 2000
EXAMPLES: Final = 3
"""So many conversations of a kind are kept, to draft cases from."""


class UnlikeConversations(NamedTuple):
    """The kinds that no case resembles, those with most conversations first, and some conversations of each."""

    kinds: tuple[UnlikeKind, ...]
    examples: tuple[Trace, ...]
    read: int
    more_kinds: int


def kind_of(trace: Trace) -> Kind:
    """The tools that were called in a conversation, each with every way in which a call of it came out."""
    return frozenset((call.name, _outcome(call)) for call in trace.tool_calls if not is_helper(call.name))


def _outcome(call: ToolCall) -> str:
    if not call.called:
        return "refused"
    if call.success is False:
        return "failed"
    return "succeeded" if call.success else "end unknown"


class KindsOfSuite:
    """What the cases of a suite are like: as their runs show it, and as the calls that they require."""

    def __init__(self, mentions: Iterable[CaseMention]) -> None:
        self._kinds: set[Kind] = set()
        required: dict[str, set[str]] = {}
        for entry in mentions:
            if entry.mention.role == "required":
                required.setdefault(entry.case_id, set()).update(entry.mention.tools)
        self._required = {frozenset(tools) for tools in required.values()}

    def add(self, trace: Trace) -> None:
        """A run of one of its cases."""
        self._kinds.add(kind_of(trace))

    def resembles(self, kind: Kind) -> bool:
        """Whether a run of a case was of this kind, or a case requires calls of just these tools, and none failed."""
        if kind in self._kinds:
            return True
        if any(outcome in ("failed", "refused") for _, outcome in kind):
            return False
        return bool(kind) and frozenset(name for name, _ in kind) in self._required


def find_unlike(traces: Iterable[Trace], suite: KindsOfSuite) -> UnlikeConversations:
    """The conversations that are of no kind of a suite."""
    counts: dict[Kind, int] = {}
    examples: dict[Kind, list[Trace]] = {}
    read = 0
    left_out: set[int] = set()
    for trace in traces:
        read += 1
        kind = kind_of(trace)
        if suite.resembles(kind) or trace.why_unobserved("tools"):
            continue
        if kind not in counts and len(counts) == MOST_KINDS:
            left_out.add(hash(kind))
            continue
        counts[kind] = counts.get(kind, 0) + 1
        kept = examples.setdefault(kind, [])
        if len(kept) < EXAMPLES:
            kept.append(trace)
    ordered = sorted(counts, key=lambda kind: (-counts[kind], _words(kind)))
    kinds = tuple(UnlikeKind(_words(kind), counts[kind], examples[kind][0].case_id) for kind in ordered)
    return UnlikeConversations(kinds, tuple(_examples(examples[kind] for kind in ordered)), read, len(left_out))


def _examples(groups: Iterable[list[Trace]]) -> Iterator[Trace]:
    for group in groups:
        yield from group


def _words(kind: Kind) -> tuple[str, ...]:
    """`get_order` for a call that succeeded, `pay (failed)` for one that did not."""
    return tuple(sorted(name if outcome == "succeeded" else f"{name} ({outcome})" for name, outcome in kind))
