"""Verdicts as rows of a Parquet file, one for each conversation and rule that was triggered: for DuckDB and such."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from carob.errors import UsageError
from carob.evidence.exports.record import RecordedConversation
from carob.features.check.model import Outcomes
from carob.redaction.named import named_redactor
from carob.redaction.personal_data import Discretion
from carob.reports.artifacts import explain_errors
from carob.rules.events import RuleOutcome
from carob.system.installing import install_extra
from carob.system.unfinished_files import create_unfinished
from carob.text.clean import text as clean

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH: Final = 8_192
COLUMNS: Final = ("conversation", "started_at", "user", "model", "version", "source", "rule", "verdict", "why")


class VerdictRows:
    """A Parquet file that appears when it is complete."""

    def __init__(self, path: Path, rules: Sequence[str], discretion: Discretion) -> None:
        try:
            import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
            from pyarrow import parquet  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError as error:
            message = f"Parquet needs the package pyarrow, which cannot be imported: {error}."
            raise UsageError(message, fix=f"Install it: {install_extra('parquet')}.", slug="missing-extra") from error
        self.path = path
        self._arrow = pyarrow
        self._rules = rules
        self._discretion = discretion
        text = pyarrow.string()
        types = {"started_at": pyarrow.timestamp("us", tz="UTC")}
        self._schema = pyarrow.schema([(name, types.get(name, text)) for name in COLUMNS])
        self._rows: list[list[Any]] = [[] for _ in COLUMNS]
        with explain_errors(path, "choose another file"):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, self._temporary = create_unfinished(str(path))
            self._lock = os.fdopen(descriptor, "wb")
            self._writer = parquet.ParquetWriter(self._temporary, self._schema, compression="zstd")

    def __enter__(self) -> VerdictRows:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with explain_errors(self.path, "choose another file"):
                if kind is None:
                    self._flush()
                self._writer.close()
                self._lock.close()
                if kind is None:
                    os.replace(self._temporary, self.path)
        finally:
            self._lock.close()
            Path(self._temporary).unlink(missing_ok=True)

    def add(self, conversation: RecordedConversation, outcomes: Outcomes) -> None:
        """The rows of one conversation. `why`: of what is broken or unknown."""
        moment = conversation.started_at
        micros = None if moment is None or not 0 <= moment < 253_402_300_800 else round(moment * 1e6)
        redact = named_redactor().without_values
        shared = (
            self._discretion.text(conversation.id),
            micros,
            self._discretion.text(conversation.user),
            *(redact(clean(text)) for text in (conversation.model, conversation.version, conversation.source)),
        )
        for number, verdict in outcomes:
            has_reason = verdict.outcome in (RuleOutcome.BROKEN, RuleOutcome.UNKNOWN)
            why = self._discretion.text(verdict.first.why) if has_reason and verdict.first else ""
            row = (*shared, redact(self._rules[number]), verdict.outcome.value, why)
            for column, value in zip(self._rows, row, strict=True):
                column.append(value)
        if len(self._rows[0]) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        columns = [
            self._arrow.array(values, type=field.type) for values, field in zip(self._rows, self._schema, strict=True)
        ]
        self._writer.write_batch(self._arrow.record_batch(columns, schema=self._schema))
        self._rows = [[] for _ in COLUMNS]
