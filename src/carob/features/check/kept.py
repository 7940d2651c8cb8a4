"""Conversations that broke a rule, or left one unknown, as a journal: `carob view` shows them, `carob rescore` judges
them again.
"""

from __future__ import annotations

import os
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import structs

from carob.evidence.exports.record import RecordedConversation
from carob.features.check.model import CheckReport
from carob.journal.writer import encode
from carob.judging.records import KeepingJudge, mask_conversation, record_conversation
from carob.model.run import RECORDED_CHECK, Footer, Header
from carob.redaction.personal_data import Discretion
from carob.reports.artifacts import open_atomic, stamp
from carob.scoring.tally import Tally
from carob.text.wording import pluralize
from carob.version import __version__

TARGET: Final = "recorded conversations"
USUAL_MOST: Final = 1_000
"""So many conversations are kept unless the user says otherwise."""


class KeptConversations:
    """The first conversations that broke a rule or left one unknown; a file appears when all are judged."""

    def __init__(self, path: Path, judge: KeepingJudge, most: int, discretion: Discretion) -> None:
        self.path = path
        self._judge = judge
        self._most = most
        self._discretion = discretion
        self._lines = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        self._tally = Tally()
        self._ids: dict[str, int] = {}
        self.kept = self.left_out = 0

    def __enter__(self) -> KeptConversations:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()

    def add(self, conversation: RecordedConversation) -> None:
        """Keep a conversation, as long as there is room; masked, and judged as what is kept."""
        if self.kept >= self._most:
            self.left_out += 1
            return
        masked = self._with_own_id(mask_conversation(self._discretion, conversation))
        record = record_conversation(self._judge, masked, self.kept)
        self._tally.add_record(record)
        self._lines.write(encode(record) + b"\n")
        self.kept += 1

    def _with_own_id(self, conversation: RecordedConversation) -> RecordedConversation:
        """The conversation, under an id that no other one in the journal has."""
        times = self._ids[conversation.id] = self._ids.get(conversation.id, 0) + 1
        return conversation if times == 1 else structs.replace(conversation, id=f"{conversation.id} #{times}")

    def write(self, report: CheckReport) -> None:
        """Write the journal. Raises ArtifactError if it cannot be written."""
        now = datetime.now(UTC)
        policy = report.policies[0] if report.policies else "carob.toml"
        header = Header(
            run_id=f"check-{stamp(now)}-{os.getpid()}",
            suite=policy,
            suite_format="carob-1",
            suite_sha256="",
            target=TARGET,
            options={RECORDED_CHECK: {"sources": report.sources, "judged": report.judged, "left_out": self.left_out}},
            versions={"carob": __version__, "python": platform.python_version()},
            started_at=now.isoformat(timespec="milliseconds"),
            total=self.kept,
        )
        self._lines.seek(0)
        with open_atomic(self.path, replace=True, elsewhere="choose another file") as out:
            out.write(encode(header) + b"\n")
            for line in self._lines:
                out.write(line)
            footer = Footer(finished_at=now.isoformat(timespec="milliseconds"), summary=self._tally.summary())
            out.write(encode(footer) + b"\n")

    def describe(self) -> str:
        """`12 conversations`, and how many had no room."""
        more = f", {self.left_out} more have no room (--keep N)" if self.left_out else ""
        return f"{pluralize(self.kept, 'conversation')}{more}"
