"""`replay:` of an export: conversations that people already had, in the place of an agent.

A case is the conversation with its id for a name; without one, the only one whose user says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from carob.evidence.exports.carob_records import CAROB
from carob.evidence.exports.reading import name_format, read_conversations
from carob.evidence.exports.record import RecordedConversation
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.targets.base import TargetError
from carob.text.wording import pluralize

OWN_KEYS = frozenset(("case_id", "trace", "kind", "final_message", "tool_calls", "turns", "prompt"))
"""Keys of Carob's own recordings: what is wrong with one is said about it as such."""
NAME_IT = "give the case the id of its conversation"


class ExportRecording:
    """The conversations of an export, by their ids and by what the user said."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._by_id: dict[str, list[Trace]] = {}
        self._by_prompts: dict[tuple[str, ...], list[Trace]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def load(self) -> None:
        """Read all of them. Raises CarobError for what cannot be read."""
        for conversation in read_conversations([self._path]):
            self._by_id.setdefault(conversation.id, []).append(conversation.trace)
            self._by_prompts.setdefault(_prompts(conversation), []).append(conversation.trace)

    def find(self, case: Case, repeat: int) -> Trace:
        """The trace of one run of a case. Raises TargetError if there is none, or if several may be it."""
        traces = self._by_id.get(case.id)
        if traces is None:
            traces = self._by_prompts.get(tuple(case.user_texts), [])
            if len(traces) > 1:
                several = f"{pluralize(len(traces), 'conversation')} of {self._path} have the prompts of this case"
                raise TargetError("not-recorded", f"{several}: {NAME_IT}")
        if repeat >= len(traces):
            missing = f"no repeat {repeat} of this case" if traces else "no conversation of this case"
            raise TargetError("not-recorded", f"{self._path} contains {missing}: {NAME_IT}")
        trace = traces[repeat]
        turns = tuple(structs.replace(turn, case_id=case.id) for turn in trace.turns)
        return structs.replace(trace, case_id=case.id, turns=turns)


def _prompts(conversation: RecordedConversation) -> tuple[str, ...]:
    trace = conversation.trace
    return tuple(turn.input for turn in trace.turns or (trace,))


class ExportedTraces:
    """The traces of the conversations of files or a folder, read anew each time."""

    def __init__(self, *paths: str | Path) -> None:
        self._paths = paths

    def __iter__(self) -> Iterator[Trace]:
        return (conversation.trace for conversation in read_conversations(self._paths))


def is_export(path: str | Path) -> bool:
    """Whether a file is of a platform or of messages; recordings of Carob are read with their cases."""
    return name_format(path, OWN_KEYS) not in ("", CAROB.name)


def is_recorded(path: str | Path) -> bool:
    """Whether a file has conversations of any kind: of others, or recorded by Carob."""
    return bool(name_format(path, OWN_KEYS))
