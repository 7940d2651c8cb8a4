"""The agent: model → tools → model, until the model answers in words."""

import json

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.runtime import Runtime

from dyno_agent.chat_models import chat_model_from_environment
from dyno_agent.database import DynoContext
from dyno_agent.knowledge import system_prompt
from dyno_agent.policy import RECURSION_LIMIT
from dyno_agent.results import failed, shown
from dyno_agent.settings import ConfigurationError
from dyno_agent.tools import TOOLS

GAVE_UP = "Sorry, I could not finish this request in the number of steps I am allowed. Please try a smaller one."
TOOL_BROKE = "Sorry, that did not work because of a technical problem. Please try again later."


class DynoState(MessagesState):
    """The conversation, the tools that this turn asked for, and how many steps LangGraph still grants."""

    asked_tools: list[str]
    remaining_steps: RemainingSteps


Graph = CompiledStateGraph[DynoState, DynoContext, DynoState, DynoState]


def make_graph(model: BaseChatModel | None = None) -> Graph:
    """Build the agent around a chat model, by default the one that the environment names.

    Run it with `ainvoke` or `astream` and `context=` what `dyno_agent.testing.setup` gave.
    """
    talker = (model or chat_model_from_environment()).bind_tools(TOOLS)

    async def call_model(state: DynoState, runtime: Runtime[DynoContext]) -> dict[str, object]:
        if runtime.context is None:
            raise ConfigurationError("the graph has no database: pass context= what dyno_agent.testing.setup gives")
        prompt = [SystemMessage(system_prompt(runtime.context.clock)), *state["messages"]]
        answer = await talker.ainvoke(prompt)
        # Two more steps are needed for a round of tools and the words after it.
        if answer.tool_calls and state["remaining_steps"] < 2:
            answer = AIMessage(GAVE_UP, id=answer.id)
        asked = [call["name"] for call in answer.tool_calls]
        return {"messages": [answer], "asked_tools": [*_asked_before(state), *asked]}

    builder = StateGraph(DynoState, context_schema=DynoContext)
    builder.add_node("model", call_model)
    builder.add_node("tools", ToolNode(TOOLS, handle_tool_errors=explain_tool_error))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", _tools_or_end)
    builder.add_edge("tools", "model")
    compiled: Graph = builder.compile(name="dyno-agent")
    return compiled.with_config(recursion_limit=RECURSION_LIMIT)


def _asked_before(state: DynoState) -> list[str]:
    """The tools that this turn asked for so far: a new turn begins with what the user says."""
    return [] if isinstance(state["messages"][-1], HumanMessage) else state.get("asked_tools", [])


def _tools_or_end(state: DynoState) -> str:
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and last.tool_calls else END


def explain_tool_error(problem: Exception) -> str:
    """What the model reads when a tool broke: a failed result like any other, without the innards of the problem."""
    if isinstance(problem, ToolInvocationError):
        return json.dumps(failed(f"Invalid arguments: {shown(problem.message)}"))
    return json.dumps(failed(TOOL_BROKE, error=type(problem).__name__))
