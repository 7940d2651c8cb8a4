"""The journal of a guard as a run: a case for each conversation, which fails where a call was refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from carob.evidence.exports.guard_journal import GUARD, GUARD_JOURNAL
from carob.evidence.exports.reading import read_conversations
from carob.evidence.exports.record import RecordedConversation
from carob.features.check.kept import KeptConversations
from carob.features.check.model import CheckReport
from carob.features.guard.target import PASSED_BY
from carob.journal.append_log import list_files
from carob.judging.judges import ANY_PROMPT
from carob.model.suite import Case, Scoring
from carob.model.trace import Trace, TraceError
from carob.model.verdict import CheckResult, Group, Status, Verdict
from carob.redaction.named import named_redactor
from carob.redaction.personal_data import Discretion
from carob.scoring import verdicts

MOST: Final = 10_000
"""So many conversations are shown, the first ones of the journal."""
LET_THROUGH: Final = "every call was let through"


def write_guard_run(path: Path, folder: Path) -> Path:
    """Write the conversations of a guard as a journal of Carob into a folder, and give its path."""
    run = folder / f"{path.stem}.jsonl"
    judged = 0
    with KeptConversations(run, _Decisions(), MOST, Discretion(True, named_redactor())) as kept:
        for conversation in read_conversations(list_files(path), format=GUARD_JOURNAL.name):
            judged += 1
            kept.add(_with_error(conversation))
        kept.write(_describe(path, judged))
    return run


def _describe(path: Path, judged: int) -> CheckReport:
    nothing = {"rules": (), "clean": 0, "broken": 0, "unknown": 0, "untriggered": 0}
    return CheckReport(sources=(str(path),), policies=(str(path),), formats=(), judged=judged, **nothing)  # type: ignore[arg-type]


def _with_error(conversation: RecordedConversation) -> RecordedConversation:
    """A conversation whose guard was passed by is an error, as it is in a run."""
    if not conversation.unguarded:
        return conversation
    tools = ", ".join(dict.fromkeys(tool or "a call of an unknown tool" for tool in conversation.unguarded))
    error = TraceError(PASSED_BY, f"{tools}: it ran, and the guard was not asked about it")
    return structs.replace(conversation, trace=structs.replace(conversation.trace, error=error))


class _Decisions:
    """Takes the decisions of the guard for the verdict."""

    def case_of(self, conversation: RecordedConversation) -> Case:
        turns = conversation.trace.turns or (conversation.trace,)
        return Case(id=conversation.id, prompt=turns[0].input or ANY_PROMPT, checks=(), max_turns=len(turns))

    def report(self, trace: Trace, tags: tuple[str, ...] = (), metadata: Mapping[str, Any] | None = None) -> Verdict:
        refused = trace.metadata.get(GUARD, {}).get("refused", ())
        results = [
            CheckResult(GUARD, Group.RULES, Status.FAILED, f"{one['rule']} holds", f"{one['tool']}: {one['why']}")
            for one in refused
        ]
        passed = CheckResult(GUARD, Group.RULES, Status.PASSED, LET_THROUGH, LET_THROUGH)
        return verdicts.verdict(tuple(results) or (passed,), Scoring(), trace.error)
