"""An agent that has no use for its tools."""

from __future__ import annotations

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from order_desk.desk import Graph


def silent() -> Graph:
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": [AIMessage("Order A-17 is shipped.")]})
    builder.add_edge(START, "say")
    builder.add_edge("say", END)
    return builder.compile()
