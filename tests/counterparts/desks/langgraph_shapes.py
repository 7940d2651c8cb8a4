"""Graphs that write messages in other forms than the desk's, wait for people, and call models aside."""

import os
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

model = ChatOpenAI(model="scripted", base_url=os.environ["MODEL_URL"], api_key="none", stream_usage=True)


def note(text: str) -> str:
    """Keep a note."""
    return f"kept {text}"


async def think(state: Any) -> Any:
    return {"messages": [await model.bind_tools([note]).ainvoke(state["messages"])]}


def keep(state: Any) -> Any:
    calls = state["messages"][-1].tool_calls
    return {"messages": [{"role": "tool", "content": note(**c["args"]), "tool_call_id": c["id"]} for c in calls]}


def loop() -> Any:
    made = StateGraph(MessagesState)
    made.add_node("think", think)
    made.add_node("keep", keep)
    made.add_edge(START, "think")
    made.add_conditional_edges("think", lambda s: "keep" if s["messages"][-1].tool_calls else END, ["keep", END])
    made.add_edge("keep", "think")
    return made.compile()


def only(node: Any) -> Any:
    made = StateGraph(MessagesState)
    made.add_node("only", node)
    made.add_edge(START, "only")
    return made.compile()


class Verdict(BaseModel):
    """A verdict."""

    good: bool


async def judge(state: Any) -> Any:
    said: Any = await model.with_structured_output(Verdict).ainvoke(state["messages"])
    return {"messages": [{"role": "assistant", "content": f"good: {said.good}"}]}


def ask(_: Any) -> Any:
    answer = interrupt("How many?")
    return {"messages": [("ai", f"{type(answer).__name__}: {answer}")]}


@tool
def pay(room: str) -> str:
    """Pay a room."""
    return f"{room} is paid"


plain = loop()
dicts = only(lambda state: {"messages": [{"role": "assistant", "content": f"You said {state['messages'][-1].text}"}]})
pair = only(lambda state: {"messages": ("ai", f"You said {state['messages'][-1].text}")})
named = only(lambda _: {"messages": [HumanMessage("Found it.", name="researcher")]})
structured, typed = only(judge), only(ask)
within = only(dicts)
approved = create_agent(model, [pay], middleware=[HumanInTheLoopMiddleware(interrupt_on={"pay": True})])
