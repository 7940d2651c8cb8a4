"""The shop on LangChain, in process."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

import shop

agent = create_agent(ChatOpenAI(model="scripted"), shop.TOOLS, system_prompt=shop.SYSTEM)
