"""The raw record of a case: the line of its journal as JSON that people can read, and that is harmless to show."""

from __future__ import annotations

import msgspec

from karat.model.run import CaseRecord
from karat.reports.encoding import encode


def record_json(record: CaseRecord) -> bytes:
    return msgspec.json.format(encode(record), indent=2)
