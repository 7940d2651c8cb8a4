"""OTLP: requests as JSON, as a collector's file exporter writes them one per line, or as protobuf."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from carob.evidence.exports.base import ExportFormat, KeySign, Table
from carob.evidence.spans.otlp import SpanBatch, SpanRecord

PREFIX = 4
"""A file of several requests in protobuf has the size of each in so many bytes before it."""


def _read(row: Table) -> list[SpanRecord]:
    try:
        batch = SpanBatch(msgspec.json.encode(row), json=True)
    except UnicodeEncodeError:
        batch = SpanBatch.of_value(row)
    return batch.records()


def split_requests(data: bytes) -> Iterator[bytes]:
    """The requests of a file in protobuf: it is one, or each has its size before it, as a collector writes them."""
    size = int.from_bytes(data[:PREFIX])
    if len(data) <= PREFIX or size > len(data) - PREFIX or data[PREFIX] != 0x0A:
        yield data
        return
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + PREFIX])
        request = data[at + PREFIX : at + PREFIX + size]
        if len(request) < size:
            raise ValueError("the file is cut off within a request")
        yield request
        at += PREFIX + size


OTLP = ExportFormat(name="otlp", signs=(KeySign(("resourceSpans",)),), read_spans=_read)
