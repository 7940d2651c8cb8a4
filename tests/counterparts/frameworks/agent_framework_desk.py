import os

import desk
from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient

client = OpenAIChatCompletionClient(model="scripted", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
agent = Agent(client=client, name="desk", tools=[*map(tool, desk.TOOLS)])
