"""Projects of several kinds, as `carob init` may find them: their files by path."""

from __future__ import annotations

import json

GRAPH = """\
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
def lookup_order(order: str) -> dict:
    "Look an order up."
    return {"order": order, "status": "shipped"}


def think(state):
    last = state["messages"][-1]
    if last.type == "human" and "A-17" in last.text:
        call = {"name": "lookup_order", "args": {"order": "A-17"}, "id": "1"}
        return {"messages": [AIMessage("", tool_calls=[call])]}
    return {"messages": [AIMessage("It is shipped." if last.type == "tool" else "Which order do you mean?")]}


builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_node("tools", ToolNode([lookup_order]))
builder.add_edge(START, "think")
builder.add_conditional_edges("think", lambda state: "tools" if state["messages"][-1].tool_calls else END)
builder.add_edge("tools", "think")
graph = builder.compile()
"""
LANGGRAPH = {
    "langgraph.json": json.dumps({"dependencies": ["."], "graphs": {"desk": "./src/desk/graph.py:graph"}}),
    "src/desk/__init__.py": "",
    "src/desk/graph.py": GRAPH,
    ".github/workflows/lint.yml": "name: lint\non: push\njobs: {}\n",
    "requirements.txt": "langgraph\n",
    ".env.example": "OPENAI_API_KEY=\n",
}
ROUTER = """\
from fastapi import APIRouter
from fastapi.responses import StreamingResponse

router = APIRouter(prefix="/v1")


@router.post("/chat")
async def chat(message: Message):
    return StreamingResponse(answer(message), media_type="text/event-stream")


@router.post("/feedback")
async def feedback(stars: int): ...
"""
MAIN = """\
import uvicorn
from fastapi import FastAPI

from shop.chat import router

raise SystemExit("nothing of a project is imported")
app = FastAPI()
app.include_router(router, prefix="/api")

if __name__ == "__main__":
    uvicorn.run(app, port=PORT)
"""
FASTAPI = {"shop/main.py": MAIN, "shop/chat.py": ROUTER, "shop/__init__.py": ""}
MCP = {
    ".mcp.json": json.dumps(
        {
            "mcpServers": {
                "orders": {"command": "python", "args": ["server.py", "--token", "s3cr3t-t0ken"]},
                "stock": {"type": "http", "url": "http://127.0.0.1:9000/mcp?key=s3cr3t"},
            }
        }
    ),
    "server.py": "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('orders')\n",
}
PROMPTFOO = {
    "promptfooconfig.yaml": """\
description: Refund desk
prompts: ["{{question}}"]
providers: [openai:gpt-5-mini]
tests:
  - vars: { question: I want my money back. }
    assert: [{ type: icontains, value: order number }]
""",
    "package.json": '{"name": "desk", "version": "1.0.0", "scripts": {"test": "promptfoo eval"}}',
}
PYTEST = {
    "desk/agent.py": """\
def lookup(order: str) -> dict:
    return {"order": order}


def answer(prompt: str, conversation) -> dict:
    "The agent."
    calls = [{"name": "lookup", "arguments": {"order": "A-17"}, "result": lookup("A-17")}] if "A-17" in prompt else []
    return {"final_message": "It is on its way." if calls else "Which order do you mean?", "tool_calls": calls}
""",
    "tests/test_agent.py": "def test_nothing(): ...\n",
    "pyproject.toml": '[project]\nname = "desk"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    ".gitignore": "*.pyc",
}
DESK = """\
import re

ORDERS = {"A-17": 40}


def answer(prompt):
    calls = []
    return {"final_message": reply(prompt, calls), "tool_calls": calls}


def reply(prompt, calls):
    order = re.search(r"[A-Z]-\\d+", prompt)
    if order is None:
        return "What is your order number?"
    amount = ORDERS.get(order[0])
    found = {"result": {"amount": amount}} if amount else {"error": "no such order"}
    calls.append({"name": "lookup_order", "arguments": {"order": order[0]}, **found})
    if amount is None:
        return f"I could not find the order {order[0]}."
    refund = {"order": order[0], "amount": amount}
    calls.append({"name": "issue_refund", "arguments": refund, "result": {"status": "paid"}})
    return f"I have refunded {amount} dollars."
"""
