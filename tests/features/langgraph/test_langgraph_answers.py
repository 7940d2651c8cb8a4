"""The answer of a turn is what the assistant said: not the data of a tool, and not what the person said."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from carob.features.langgraph.messages import final_text

PROMPT = "Where is A-17?"
DATA = ToolMessage('{"status": "shipped"}', tool_call_id="1", name="look")
CALL = {"name": "look", "args": {}, "id": "1"}


@pytest.mark.parametrize(
    ("turn", "answer"),
    [
        pytest.param([AIMessage("It is shipped.", tool_calls=[CALL]), DATA], "It is shipped.", id="words"),
        pytest.param([AIMessage("", tool_calls=[CALL]), DATA], '{"status": "shipped"}', id="a-tool-answers-directly"),
        pytest.param([AIMessage("", tool_calls=[CALL]), DATA, AIMessage("Done.")], "Done.", id="the-assistant-last"),
        pytest.param([AIMessage("Wait."), AIMessage("", tool_calls=[CALL]), DATA], '{"status": "shipped"}', id="x"),
        pytest.param([AIMessage("Hi."), HumanMessage(PROMPT, name="ada")], "Hi.", id="the-prompt-with-a-name"),
        pytest.param([HumanMessage(PROMPT, name="ada")], "", id="the-prompt-alone"),
        pytest.param([HumanMessage("Found it.", name="researcher")], "Found it.", id="another-agent"),
    ],
)
def test_what_a_turn_ends_with(turn: list[BaseMessage], answer: str) -> None:
    assert final_text(turn, (), PROMPT) == answer
