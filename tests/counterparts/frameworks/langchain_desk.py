import os

import desk
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

model = ChatOpenAI(model="scripted", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
tools = [StructuredTool.from_function(made) for made in desk.TOOLS[:2]]
tools.append(StructuredTool.from_function(coroutine=desk.check_stock))
agent = create_agent(model, tools)
kept = create_agent(model, tools, checkpointer=InMemorySaver())
prompt = ChatPromptTemplate.from_messages(
    [MessagesPlaceholder("chat_history"), ("user", "{input}"), MessagesPlaceholder("agent_scratchpad")]
)
executor = AgentExecutor(agent=create_tool_calling_agent(model, tools, prompt), tools=tools)
