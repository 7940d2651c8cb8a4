"""The shop on LangChain, in process."""

import shop
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

agent = create_agent(ChatOpenAI(model="scripted"), shop.TOOLS, system_prompt=shop.SYSTEM)
