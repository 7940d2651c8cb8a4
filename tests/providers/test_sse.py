"""Server-sent events, as every reader of a stream has them."""

from __future__ import annotations

import pytest

from carob.providers.base import read_events
from carob.providers.sse import BlockSplitter, ServerEvent, SseReader, parse_event


@pytest.mark.parametrize(
    ("block", "event"),
    [
        pytest.param("data: a\ndata:b\n\n", ServerEvent("a\nb"), id="lines-of-data"),
        pytest.param("event: x\r\ndata: a\r\n\r\n", ServerEvent("a", "x"), id="named"),
        pytest.param("event: x\n\n", ServerEvent("", "x"), id="name-alone"),
        pytest.param(": ping\n\n", None, id="comment"),
        pytest.param("data: a", ServerEvent("a"), id="no-end"),
    ],
)
def test_block_is_parsed_as_event(block: str, event: ServerEvent | None) -> None:
    assert parse_event(block) == event


def test_line_separators_within_json_do_not_end_a_line() -> None:
    assert read_events(['data: {"text": "one\u2028two\x85three"}\n\n']) == [{"text": "one\u2028two\x85three"}]


def test_blocks_keep_every_byte() -> None:
    stream = b": hi\r\n\r\ndata: a\r\n\r\ndata: b\n\ndata: c"
    for size in range(1, len(stream) + 1):
        splitter = BlockSplitter(1000)
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        blocks = [block for piece in pieces for block in splitter.feed(piece)]
        assert b"".join([*blocks, splitter.end()]) == stream
        assert [event.data for block in blocks if (event := parse_event(block.decode()))] == ["a", "b"]


def test_event_that_is_too_long_is_an_error() -> None:
    with pytest.raises(ValueError, match="longer than 10 bytes"):
        list(BlockSplitter(10).feed(b"data: " + b"x" * 20))


def test_end_within_a_line_is_torn() -> None:
    for text, torn in ((b"data: a", True), (b"data: a\n", False)):
        reader = SseReader(100)
        assert list(reader.feed(text)) == []
        assert list(reader.end()) == [ServerEvent("a", torn=torn)]
