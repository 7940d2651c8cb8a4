"""Messages between runner and worker arrive whole and in order, however the socket cuts them up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from carob.engine.processes.messages import LENGTH, Frames

MESSAGES = st.lists(st.binary(max_size=40), max_size=8)


@given(MESSAGES, st.data())
def test_messages_are_the_same_however_they_are_cut_up(messages: list[bytes], data: st.DataObject) -> None:
    heard: list[bytes] = []
    frames = Frames(heard.append, lambda: None)
    sent = b"".join(LENGTH.pack(len(message)) + message for message in messages)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(sent)))))
    for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        if start < end:
            frames.data_received(sent[start:end])
    assert heard == messages


@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_message_is_not_heard_before_its_last_byte(message: bytes, data: st.DataObject) -> None:
    heard: list[bytes] = []
    frames = Frames(heard.append, lambda: None)
    sent = LENGTH.pack(len(message)) + message
    frames.data_received(sent[: data.draw(st.integers(1, len(sent) - 1))])
    assert heard == []
