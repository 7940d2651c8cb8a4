import os

import desk
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

model = ChatOpenAI(model="scripted", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
tools = [StructuredTool.from_function(made) for made in desk.TOOLS[:2]]
tools.append(StructuredTool.from_function(coroutine=desk.check_stock))
agent = create_agent(model, tools)
kept = create_agent(model, tools, checkpointer=InMemorySaver())
