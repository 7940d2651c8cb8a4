"""The scripted desk agent as a graph behind ag-ui-langgraph. Run with its own environment."""

import sys

import uvicorn
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_desk import desk

app = FastAPI()
agent = LangGraphAgent(name="desk", graph=desk().compile(checkpointer=InMemorySaver()))
add_langgraph_fastapi_endpoint(app, agent, "/")
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
