"""A graph in a package."""

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from .words import GREETING


def make() -> StateGraph:
    builder = StateGraph(MessagesState)
    builder.add_node("greet", lambda _: {"messages": [AIMessage(GREETING)]})
    builder.add_edge(START, "greet")
    return builder


graph = make().compile()
