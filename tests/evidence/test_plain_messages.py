"""Messages that need no cleaning are read in a short way, which gives what the long way does."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from carob.evidence.conversations import trace_from_messages
from carob.providers.messages import read_message
from carob.text.clean import jsonable
from carob.text.tool_results import shows_failure

TEXTS = st.text(max_size=12) | st.sampled_from(["ok", "Grüße", "a\ud800b", "[1]", "", '{"error": "x"}'])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({"name": st.sampled_from(["find", "pay"])}, optional={"arguments": VALUES})},
        optional={"id": TEXTS},
    ),
    max_size=2,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
    optional={"content": TEXTS | VALUES, "tool_calls": CALLS, "tool_call_id": TEXTS, "name": TEXTS, "data": VALUES},
)


@settings(max_examples=150, deadline=None)
@given(st.lists(MESSAGES, max_size=5))
def test_cleaning_beforehand_changes_nothing(messages: list[dict[str, Any]]) -> None:
    assert trace_from_messages(messages) == trace_from_messages(jsonable(messages))


@settings(max_examples=150, deadline=None)
@given(MESSAGES.filter(lambda message: isinstance(message.get("content"), str) and message["content"][:1] != "["))
def test_plain_content_is_read_as_the_same_text_in_parts_is(message: dict[str, Any]) -> None:
    plain = read_message(message)
    listed = read_message({**message, "content": [message["content"]]})
    assert (plain.role, plain.text, plain.calls) == (listed.role, listed.text, listed.calls)
    assert [result.id for result in plain.results] == [result.id for result in listed.results]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["order", "is_error", "Status", "exit-code", "code", "data", "ok"]), VALUES))
def test_tables_without_a_telling_key_show_no_failure(table: dict[str, Any]) -> None:
    if table.keys() <= {"order"}:
        assert not shows_failure(table)
    assert shows_failure({"result": {**table, "order": 1}}) == shows_failure({**table, "order": 1})
