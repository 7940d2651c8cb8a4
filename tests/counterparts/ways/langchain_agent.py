"""LangChain and LangGraph: agents, graphs and loops."""

import os

import desk
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

TOOLS = {made.name: made for made in map(tool, desk.TOOLS)}


async def acall(name, arguments):
    return await TOOLS[name].ainvoke(arguments)


def model():
    return ChatOpenAI(model="scripted", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")


def _answer(call, error):
    """What the model hears of an error."""
    return ToolMessage(f"{error}", tool_call_id=call["id"], name=call["name"], status="error")


class Caught(AgentMiddleware):
    def wrap_tool_call(self, request, handler):
        try:
            return handler(request)
        except (ValueError, ConnectionError) as error:
            return _answer(request.tool_call, error)

    async def awrap_tool_call(self, request, handler):
        try:
            return await handler(request)
        except (ValueError, ConnectionError) as error:
            return _answer(request.tool_call, error)


def agent():
    return create_agent(model(), [*TOOLS.values()], middleware=[Caught()])


def graph():
    def think(state):
        return {"messages": [model().bind_tools([*TOOLS.values()]).invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", ToolNode([*TOOLS.values()], handle_tool_errors=True))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile()


def loop(messages):
    """A node that keeps only its answer."""
    from concurrent.futures import ThreadPoolExecutor

    bound = model().bind_tools([*TOOLS.values()])
    while True:
        said = bound.invoke(messages)
        messages = [*messages, said]
        if not said.tool_calls:
            return said
        with ThreadPoolExecutor() as pool:
            messages += pool.map(_run, said.tool_calls)


def _run(call):
    try:
        return TOOLS[call["name"]].invoke(call)
    except Exception as error:  # noqa: BLE001  the model hears of it
        return ToolMessage(f"{error}", tool_call_id=call["id"], name=call["name"])


def looping():
    builder = StateGraph(MessagesState)
    builder.add_node("work", lambda state: {"messages": [loop(state["messages"])]})
    builder.add_edge(START, "work")
    return builder.compile()


def functional():
    @task
    def think(messages):
        return loop(messages)

    @entrypoint()
    def work(messages):
        return think(messages).result()

    return work


def converse(build, wrap, prompt, conversation):
    def ask(text):
        history = [*conversation.state.get("history", ()), HumanMessage(text)]
        said = wrap(build().invoke(history if wrap is _itself else {"messages": history}))
        conversation.state["history"] = [*history, said]
        return said.text if isinstance(said.text, str) else said.text()

    return desk.drive(prompt, ask, acall)


def _last(state):
    return state["messages"][-1]


def _itself(said):
    return said


def answer(prompt, conversation):
    return converse(agent, _last, prompt, conversation)


def answer_graph(prompt, conversation):
    return converse(graph, _last, prompt, conversation)


def answer_looping(prompt, conversation):
    return converse(looping, _last, prompt, conversation)


def answer_functional(prompt, conversation):
    return converse(functional, _itself, prompt, conversation)


def front(build):
    """The same as a graph for `langgraph:`, with code of its own before the model."""

    def work(state):
        desk.drive(state["messages"][-1].text, lambda text: "", acall)
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("front", work)
    builder.add_node("agent", build())
    builder.add_edge(START, "front")
    builder.add_edge("front", "agent")
    return builder.compile(checkpointer=InMemorySaver())


def agent_graph():
    return front(agent)


def node_graph():
    return front(graph)


def looping_graph():
    return front(looping)
