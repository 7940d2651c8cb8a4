"""Conversations that broke a rule or left one unknown, in journals that `carob view` shows as they grow.

A journal that is full, or that an earlier process wrote, gets a number. The oldest are removed.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from carob.evidence.exports.record import RecordedConversation
from carob.journal.append_log import USUAL_LIMITS, AppendLog, LogLimits, list_files, remove_old
from carob.journal.writer import encode
from carob.judging.judges import ConversationJudge
from carob.judging.records import record_conversation
from carob.model.run import RECORDED_CHECK, CaseRecord, Footer, Header
from carob.redaction.redactor import Redactor
from carob.reports.artifacts import explain_errors, stamp
from carob.scoring.tally import Tally
from carob.version import __version__

STEM: Final = "watch"
TARGET: Final = "watched conversations"
MOST_RECORDS: Final = 1_000
REMEMBERED: Final = 4 * MOST_RECORDS
JUDGEMENT: Final = "carob.judgement"
"""Names a judgement in the metadata of its conversation: the hash of the conversation, and how often it was judged."""


class _Kept(Struct):
    """What is read of a line of an earlier process."""

    trace: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Kept).decode


class WatchJournal:
    """The journals of one folder, each with a header and a footer. Its methods raise OSError and then wrote nothing."""

    def __init__(
        self,
        folder: Path,
        policy: str,
        redactor: Redactor,
        *,
        limits: LogLimits = USUAL_LIMITS,
        most: int = MOST_RECORDS,
    ) -> None:
        self._path = folder / f"{STEM}.jsonl"
        self._policy = policy
        self._redactor = redactor
        self._limits = limits
        self._most = most
        self._log = AppendLog(self._path, self._begin_file, limits, self._end_file)
        self._tally = Tally()
        self._ids: Counter[str] = Counter()
        self._written = dict.fromkeys(_read_judgements(list_files(self._path)[-2:]))
        """What was written last, also by the process before, and may not have been noted: it is not written twice."""

    def begin(self) -> None:
        """Begin a journal, so that there is one to look at. Raises ArtifactError."""
        with explain_errors(self._path):
            if _read_judgements([self._path]):
                self._log.set_aside()
            else:
                self._path.unlink(missing_ok=True)
            self.touch()

    def touch(self) -> None:
        """Say that the journal is still being written, also where no conversation breaks a rule for long."""
        self._log.touch()
        remove_old(self._path, self._limits)

    def add(self, judge: ConversationJudge, conversation: RecordedConversation, judgement: str) -> None:
        """Write down a conversation, which was masked, without secrets."""
        if judgement in self._written:
            return
        if self._ids.total() >= self._most:
            self._log.set_aside()
        made: list[CaseRecord] = []

        def make() -> bytes:
            made.append(self._record(judge, conversation, judgement))
            return encode(made[0])

        self._log.append(make)
        self._tally.add_record(made[0])
        self._ids[conversation.id] += 1
        self._written[judgement] = None
        if len(self._written) > REMEMBERED:
            del self._written[next(iter(self._written))]

    def _record(self, judge: ConversationJudge, conversation: RecordedConversation, judgement: str) -> CaseRecord:
        count = self._ids[conversation.id] + 1
        metadata = {**conversation.trace.metadata, JUDGEMENT: judgement}
        named = structs.replace(
            conversation,
            id=conversation.id if count == 1 else f"{conversation.id} #{count}",
            trace=structs.replace(conversation.trace, metadata=metadata),
        )
        record = record_conversation(judge, named, self._ids.total())
        return self._redactor.record(record) if self._redactor.finds(encode(record)) else record

    def _begin_file(self) -> bytes:
        now = datetime.now(UTC)
        header = Header(
            run_id=f"{STEM}-{stamp(now)}-{os.getpid()}",
            suite=self._policy,
            suite_format="carob-1",
            suite_sha256="",
            target=TARGET,
            options={RECORDED_CHECK: {"watch": True}},
            versions={"carob": __version__, "python": platform.python_version()},
            started_at=now.isoformat(timespec="milliseconds"),
            total=self._most,
            at_most=True,
        )
        self._tally, self._ids = Tally.of(header), Counter()
        return encode(header)

    def _end_file(self) -> bytes:
        if not self._ids:  # a process before wrote it
            return b""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return encode(Footer(finished_at=now, summary=self._tally.summary()))

    def end(self) -> None:
        """End the journal; one without a conversation is removed."""
        if footer := self._end_file():
            self._log.append(lambda: footer)
        else:
            self._path.unlink(missing_ok=True)
        self._log.close()


def _read_judgements(journals: list[Path]) -> frozenset[str]:
    """The judgements that journals have: their process may have been killed before it noted the last one."""
    found: set[str] = set()
    for path in journals:
        with suppress(OSError), path.open("rb") as file:
            for line in file:
                with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):  # torn, or changed by somebody
                    metadata = _decode(line).trace.get("metadata")
                    found.add(str(metadata.get(JUDGEMENT)) if isinstance(metadata, dict) else "")
    return frozenset(found - {""})
