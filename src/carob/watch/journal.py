"""Conversations that broke a rule or left one unknown, in journals that `carob view` shows as they grow.

A journal that is full is ended, and the next begun; the oldest are removed.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from carob.analysis.check.judges import ConversationJudge
from carob.analysis.check.kept import record_conversation
from carob.evidence.exports.record import RecordedConversation
from carob.journal import writer
from carob.journal.redaction import Redactor
from carob.journal.writer import JournalWriter, encode
from carob.model.run import RECORDED_CHECK, Footer, Header
from carob.reports.artifacts import reserve, stamp
from carob.scoring.tally import Tally
from carob.version import __version__

STEM: Final = "watch"
TARGET: Final = "watched conversations"
LARGEST_FILE: Final = 16 << 20
MOST_RECORDS: Final = 1_000
KEPT_FILES: Final = 8
REMEMBERED: Final = 4 * MOST_RECORDS
JUDGEMENT: Final = "carob.judgement"
"""Names a judgement in the metadata of its conversation: the hash of the conversation, and how often it was judged."""


class _Kept(Struct):
    """What is read of a line of an earlier process."""

    trace: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Kept).decode


class WatchJournal:
    """The journals of one folder; its methods raise OSError or ArtifactError where they cannot be written."""

    def __init__(
        self, folder: Path, policy: str, redactor: Redactor, *, largest: int = LARGEST_FILE, most: int = MOST_RECORDS
    ) -> None:
        self._folder = folder
        self._policy = policy
        self._redactor = redactor
        self._largest = largest
        self._most = most
        self._writer: JournalWriter | None = None
        self._tally = Tally()
        self._ids: dict[str, int] = {}
        self._size = 0
        self._written = dict.fromkeys(_read_judgements(_journals_in(folder)))
        """What was written last, also by the process before, and may not have been noted: it is not written twice."""

    @property
    def path(self) -> str:
        return self._writer.path if self._writer is not None else ""

    def begin(self) -> None:
        """Begin a journal, so that there is one to look at."""
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
        names = reserve(self._folder, f"{STEM}.yaml", "carob-1", now)
        writer.begin(str(names.journal), header)
        self._writer = JournalWriter(str(names.journal))
        self._tally, self._ids, self._size = Tally.of(header), {}, 0
        for old in _journals_in(self._folder)[:-KEPT_FILES]:
            with suppress(OSError):  # somebody removed it first
                old.unlink()

    def add(self, judge: ConversationJudge, conversation: RecordedConversation, judgement: str) -> None:
        """Write down a conversation, which was masked, without secrets."""
        if judgement in self._written:
            return
        if self._writer is None or self._size >= self._largest or self._tally_size >= self._most:
            self.end()
            self.begin()
        count = self._ids.get(conversation.id, 0) + 1
        named = conversation if count == 1 else structs.replace(conversation, id=f"{conversation.id} #{count}")
        metadata = {**named.trace.metadata, JUDGEMENT: judgement}
        named = structs.replace(named, trace=structs.replace(named.trace, metadata=metadata))
        record = record_conversation(judge, named, self._tally_size)
        line = encode(record)
        if self._redactor.finds(line):
            record = self._redactor.record(record)
            line = encode(record)
        self._write(line)
        self._ids[conversation.id] = count
        self._written[judgement] = None
        if len(self._written) > REMEMBERED:
            del self._written[next(iter(self._written))]
        self._tally.add_record(record)
        self._size += len(line)

    @property
    def _tally_size(self) -> int:
        return sum(self._ids.values())

    def _write(self, line: bytes) -> None:
        if self._writer is not None:
            self._writer.write(line)

    def touch(self) -> None:
        """Say that the journal is still being written, also where no conversation breaks a rule for long."""
        if self._writer is None:
            return
        try:
            os.utime(self._writer.path)
        except FileNotFoundError:  # somebody removed it: what is written there now would be lost
            with self._writer:
                self._writer = None
            self.begin()

    def end(self) -> None:
        """End the journal; one without a conversation is removed."""
        journal, self._writer = self._writer, None
        if journal is None:
            return
        with journal:
            if self._ids:
                now = datetime.now(UTC).isoformat(timespec="milliseconds")
                journal.write(encode(Footer(finished_at=now, summary=self._tally.summary())))
        if not self._ids:
            with suppress(FileNotFoundError):
                os.unlink(journal.path)


def _journals_in(folder: Path) -> list[Path]:
    """The journals of a folder, the oldest first."""
    return sorted(folder.glob(f"{STEM}-*.jsonl"), key=_place) if folder.is_dir() else []


def _place(path: Path) -> tuple[int, str]:
    with suppress(OSError):
        return path.stat().st_mtime_ns, path.name
    return 0, path.name


def _read_judgements(journals: list[Path]) -> frozenset[str]:
    """The judgements that the newest journals have: their process may have been killed before it noted the last one."""
    found: set[str] = set()
    for path in journals[-2:]:
        with suppress(OSError), path.open("rb") as file:
            for line in file:
                with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):  # torn, or changed by somebody
                    metadata = _decode(line).trace.get("metadata")
                    found.add(str(metadata.get(JUDGEMENT)) if isinstance(metadata, dict) else "")
    return frozenset(found - {""})
