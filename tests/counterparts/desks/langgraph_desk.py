"""The scripted desk agent as a LangGraph graph: served by `langgraph dev`, and behind ag-ui-langgraph."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolCallChunk, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    if city == "Nowhere":
        raise ValueError("there is no such city")
    return f"sunny in {city}"


class Script(BaseChatModel):
    """What the model says: decided by the last thing that the user said."""

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        said = [message for message in messages if isinstance(message, HumanMessage)]
        prompt = str(said[-1].text)
        last = messages[-1]
        id = f"run-{uuid4()}"
        if prompt == "crash":
            raise RuntimeError("the model is down")
        if prompt.startswith("weather") and not isinstance(last, ToolMessage):
            city = prompt.split()[-1]
            call = ToolCallChunk(name="weather", args=json.dumps({"city": city}), id=f"call-{len(messages)}", index=0)
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[call], id=id))
            return
        if prompt.startswith("weather"):
            answer = f"It is {last.content}." if getattr(last, "status", "") != "error" else "I could not find out."
        elif prompt == "nothing":
            answer = ""
        else:
            answer = f"You said: {said[0].text}" if prompt == "what did I say?" else "Hello there."
        usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
        words = answer.split(" ")
        for place, word in enumerate(words):
            end = place == len(words) - 1
            chunk = AIMessageChunk(word + " " * (not end), id=id, usage_metadata=usage if end else None)  # type: ignore[arg-type]
            yield ChatGenerationChunk(message=chunk)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        whole = None
        for chunk in self._stream(messages):
            whole = chunk if whole is None else whole + chunk
        assert whole is not None
        message = whole.message
        made = AIMessage(
            message.content, tool_calls=message.tool_calls, id=message.id, usage_metadata=message.usage_metadata
        )  # type: ignore[attr-defined]
        return ChatResult(generations=[ChatGeneration(message=made)])


def model(state: MessagesState) -> dict[str, Any]:
    return {"messages": [Script().invoke(state["messages"])]}


def next_step(state: MessagesState) -> str:
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and last.tool_calls else "__end__"


def desk() -> StateGraph:
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([weather], handle_tool_errors=True))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", next_step)
    graph.add_edge("tools", "model")
    return graph


graph = desk().compile()
