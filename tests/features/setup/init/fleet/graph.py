"""An agent of LangGraph that needs a context: who asks, and the fleet that its tools look into."""

from dataclasses import dataclass

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime, get_runtime


@dataclass
class FleetContext:
    user_id: str
    fleet: dict[str, str]


@tool
def reserve_vehicle(vehicle: str) -> dict:
    """Reserve a vehicle that is in the fleet."""
    drive = get_runtime(FleetContext).context.fleet.get(vehicle)
    return {"success": drive is not None, "drive": drive}


def think(state: MessagesState, runtime: Runtime[FleetContext]):
    last = state["messages"][-1]
    if last.type == "tool":
        said = "Vehicle reserved" if '"success": true' in last.text else "Vehicle not found"
        return {"messages": [AIMessage(f"{said} for {runtime.context.user_id}.")]}
    vehicle = next((word.strip(".") for word in last.text.split() if word.strip(".").isdecimal()), "")
    if "Reserve" not in last.text:
        return {"messages": [AIMessage("I reserve vehicles by their number; supported_drives decide.")]}
    return {
        "messages": [AIMessage("", tool_calls=[{"name": "reserve_vehicle", "args": {"vehicle": vehicle}, "id": "1"}])]
    }


builder = StateGraph(MessagesState, context_schema=FleetContext)
builder.add_node("think", think)
builder.add_node("tools", ToolNode([reserve_vehicle]))
builder.add_edge(START, "think")
builder.add_conditional_edges("think", lambda state: "tools" if state["messages"][-1].tool_calls else END)
builder.add_edge("tools", "think")
graph = builder.compile()
