"""`replay:` of an export, of sessions or of results: conversations that were had, in the place of an agent.

A case is the conversation with its id for a name; without one, the only one whose user says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import structs

from carob.evidence.exports.carob_records import CAROB, Recorded
from carob.evidence.exports.reading import name_format, read_conversations
from carob.evidence.exports.record import RecordedCase, RecordedConversation
from carob.evidence.exports.results import restore_names
from carob.evidence.short_form import read
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.targets.base import TargetError
from carob.targets.recordings.result_files import RecordedAnswers
from carob.text.wording import pluralize

OWN_KEYS = frozenset(("case_id", "trace", "kind", "final_message", "tool_calls", "turns", "prompt"))
"""Keys of Carob's own recordings: what is wrong with one is said about it as such."""
NAME_IT = "give the case the id of its conversation"


class ExportRecording:
    """The conversations of an export, by their ids and by what the user said."""

    def __init__(self, path: Path, provider: str | None = None) -> None:
        self._path = path
        self._provider = provider
        self._by_id: dict[str, list[Trace]] = {}
        self._by_prompts: dict[tuple[str, ...], list[Trace]] = {}
        self._results: dict[tuple[str, int], RecordedCase] = {}
        self._answers: RecordedAnswers | None = None
        self.case_ids: list[str] = []
        """The names of cases, where results have them."""
        self._unread: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._by_id or self._results or self._answers)

    @property
    def has_results(self) -> bool:
        return bool(self._results or self._answers)

    @property
    def why_unread(self) -> str:
        """How much of it cannot be read, as the end of a message."""
        return f". {pluralize(len(self._unread), 'row')} cannot be read: {self._unread[0]}" if self._unread else ""

    def load(self) -> None:
        """Read all of them. Raises CarobError for what cannot be read, and if the answers are of several providers."""
        answers: list[RecordedCase] = []
        for conversation in read_conversations([self._path]):
            if conversation.unread:
                self._unread.append(f"{conversation.source}: {conversation.unread}")
            elif (result := conversation.result) is None:
                self._by_id.setdefault(conversation.id, []).append(conversation.trace)
                self._by_prompts.setdefault(_prompts(conversation), []).append(conversation.trace)
            elif result.said:
                answers.append(result)
            else:
                self._results[result.case_id, result.repeat] = result
        self.case_ids = list(dict.fromkeys(name for name, _ in self._results))
        self._answers = RecordedAnswers(answers, self._provider) if answers else None

    def find_result(self, case: Case, repeat: int) -> tuple[RecordedCase, Recorded] | None:
        """What a tool's results hold of one run of a case. Raises TargetError if several may be it."""
        try:
            answer = self._answers.find(case, repeat) if self._answers else None
            result = answer or self._results.get((case.id, repeat))
            if result is None:
                return None
            expected = [msgspec.json.decode(spec.args) for _, spec in case.all_checks if spec.name == "tool_calls"]
            return result, Recorded(case.id, repeat, read(restore_names(result.form, expected)))
        except ValueError as error:
            raise TargetError("not-recorded", f"{self._path}: {error}") from None

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
            raise TargetError("not-recorded", f"{self._path} contains {missing}: {NAME_IT}{self.why_unread}")
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
    """Whether a file is of a platform, of messages or of another tool; lines of Carob are read with their cases."""
    return name_format(path, OWN_KEYS) not in ("", CAROB.name)


def is_recorded(path: str | Path) -> bool:
    """Whether a file has conversations of any kind: of others, or recorded by Carob."""
    return bool(name_format(path, OWN_KEYS))
