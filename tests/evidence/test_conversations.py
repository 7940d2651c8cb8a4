"""Lists of messages of OpenAI, Anthropic, Gemini and LangChain are one conversation, read by one reader."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

import carob

ARGUMENTS = {"order": "A-17"}
OPENAI: list[Any] = [
    {"role": "system", "content": "You are a desk."},
    {"role": "user", "content": "Where is A-17?"},
    {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"order": "A-17"}'}},
            {"id": "2", "type": "function", "function": {"name": "refund", "arguments": '{"order": "A-17"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "2", "content": "the card has expired"},
    {"role": "tool", "tool_call_id": "1", "content": '{"status": "shipped"}'},
    {"role": "assistant", "content": "It is shipped."},
    {"role": "user", "content": "Thanks!"},
    {"role": "assistant", "content": "Bye."},
]
ANTHROPIC: list[Any] = [
    {"role": "user", "content": "Where is A-17?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "1", "name": "look", "input": ARGUMENTS},
            {"type": "tool_use", "id": "2", "name": "refund", "input": ARGUMENTS},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": '{"status": "shipped"}'},
            {"type": "tool_result", "tool_use_id": "2", "content": "the card has expired"},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "It is shipped."}]},
    {"role": "user", "content": "Thanks!"},
    {"role": "assistant", "content": "Bye."},
]
GEMINI: list[Any] = [
    {"role": "user", "parts": [{"text": "Where is A-17?"}]},
    {
        "role": "model",
        "parts": [
            {"text": "Let me see."},
            {"functionCall": {"id": "1", "name": "look", "args": ARGUMENTS}},
            {"functionCall": {"id": "2", "name": "refund", "args": ARGUMENTS}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "1", "name": "look", "response": {"status": "shipped"}}},
            {"functionResponse": {"id": "2", "name": "refund", "response": {"result": "the card has expired"}}},
        ],
    },
    {"role": "model", "parts": [{"text": "It is shipped."}]},
    {"role": "user", "parts": [{"text": "Thanks!"}]},
    {"role": "model", "parts": [{"text": "Bye."}]},
]
CALLS = [{"name": "look", "args": ARGUMENTS, "id": "1"}, {"name": "refund", "args": ARGUMENTS, "id": "2"}]
LANGCHAIN: list[Any] = [
    SystemMessage("You are a desk."),
    HumanMessage("Where is A-17?"),
    AIMessage("Let me see.", tool_calls=CALLS),
    ToolMessage('{"status": "shipped"}', tool_call_id="1"),
    ToolMessage("the card has expired", tool_call_id="2"),
    AIMessage("It is shipped."),
    HumanMessage("Thanks!"),
    AIMessage("Bye."),
]


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(OPENAI, id="openai"),
        pytest.param(ANTHROPIC, id="anthropic"),
        pytest.param(GEMINI, id="gemini"),
        pytest.param(LANGCHAIN, id="langchain"),
        pytest.param([message.model_dump() for message in LANGCHAIN], id="langchain-dumps"),
    ],
)
def test_a_conversation_is_read_whoever_wrote_it(messages: list[Any]) -> None:
    trace = carob.trace_from_messages(messages, case_id="a")
    first, second = trace.turns
    assert (first.input, first.final_message) == ("Where is A-17?", "It is shipped.")
    assert (second.input, second.final_message, second.tool_calls) == ("Thanks!", "Bye.", ())
    look, refund = sorted(first.tool_calls, key=lambda call: call.name)
    assert (look.arguments, look.result, look.success) == (ARGUMENTS, {"status": "shipped"}, True)
    assert (refund.name, refund.result, refund.success) == ("refund", "the card has expired", None)
    assert look.message is not None
    assert (look.message, look.with_words) == (refund.message, True)


def test_a_call_without_a_result_was_only_requested() -> None:
    trace = carob.trace_from_messages(OPENAI[:3])
    assert [(call.called, call.success) for call in trace.tool_calls] == [(False, None)] * 2
    assert [call.text for call in trace.possible_calls] == ["look", "refund"]


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ValueError, match="could not be read"):
        carob.trace_from_messages(["Hi"])
    assert carob.trace_from_messages([]).tool_calls == ()
