"""Bytes in any pieces are the same events."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.providers.sse import ServerEvent
from carob.targets.http.options import Format
from carob.targets.http.streams import loads, parser

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
VALUES = st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5)


def events(form: Format, data: bytes, cuts: Sequence[int]) -> list[ServerEvent]:
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    reader = parser(form, 1 << 20)
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    return [*(event for piece in pieces if piece for event in reader.feed(piece)), *reader.end()]


@given(st.lists(VALUES, max_size=5), LINE_ENDS, st.lists(st.integers(0, 10_000), max_size=20), st.booleans())
def test_server_sent_events(values: list[object], end: str, cuts: list[int], bom: bool) -> None:
    texts = [json.dumps(value) for value in values]
    sent = "".join(f": hi{end}event: e{end}data: {text}{end}data:{text}{end}id: 1{end}{end}" for text in texts)
    parsed = events("sse", (b"\xef\xbb\xbf" if bom else b"") + sent.encode(), cuts)
    assert parsed == [ServerEvent(f"{text}\n{text}", "e") for text in texts]


@given(st.lists(VALUES, max_size=5), LINE_ENDS, st.lists(st.integers(0, 10_000), max_size=20), st.booleans())
def test_lines(values: list[object], end: str, cuts: list[int], ended: bool) -> None:
    sent = end.join(json.dumps(value) for value in values) + end * ended
    assert [loads(event.data) for event in events("ndjson", sent.encode(), cuts)] == values


@given(
    st.lists(VALUES, max_size=5),
    st.sampled_from(["", "\n", ",", " , ", "\x1e", "\x1e\n"]),
    st.booleans(),
    st.lists(st.integers(0, 10_000), max_size=20),
)
def test_values_one_after_another(values: list[object], between: str, in_array: bool, cuts: list[int]) -> None:
    texts = [json.dumps({"v": value}, ensure_ascii=False) for value in values]
    sent = between.join(texts)
    sent = f"[{sent}]" if in_array and texts else sent
    parsed = events("json", sent.encode("utf-8", "surrogatepass"), cuts) if texts else []
    assert [event.data for event in parsed if not event.torn] == texts
    if in_array and texts:
        assert events("json", sent[:-1].encode(), cuts)[-1].torn, "an array without its end is torn"


@given(st.lists(st.tuples(st.from_regex(r"[a-z0-9_.-]{1,9}", fullmatch=True), VALUES), max_size=5), LINE_ENDS)
def test_frames(frames: list[tuple[str, object]], end: str) -> None:
    sent = end.join(f"{label}:{json.dumps(value)}" for label, value in frames)
    assert [(event.name, loads(event.data)) for event in events("frames", sent.encode(), [])] == frames


@given(st.text(), st.lists(st.integers(0, 10_000), max_size=20))
def test_chunks(text: str, cuts: list[int]) -> None:
    assert "".join(event.data for event in events("chunks", text.encode(), cuts)) == text


@given(st.binary(), st.lists(st.integers(0, 1000), max_size=5))
def test_garbage_is_read_or_refused(data: bytes, cuts: list[int]) -> None:
    for form in ("sse", "ndjson", "json", "frames", "chunks"):
        try:
            assert all(isinstance(event.data, str) for event in events(form, data, cuts))  # type: ignore[arg-type]
        except ValueError:
            continue


@pytest.mark.parametrize("more", ["", ' "c": "\\ud83d",'])
def test_a_key_that_is_in_an_object_twice_is_refused(more: str) -> None:
    """Also where half a surrogate takes the value to another reader."""
    with pytest.raises(ValueError, match="etected duplicate key"):
        loads(f'{{{more} "a": {{"b": 1, "b": 2}}}}')
    assert loads(f'{{{more} "a": {{"b": 1}}}}')
