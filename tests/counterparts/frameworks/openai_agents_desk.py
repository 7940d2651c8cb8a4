import os

import desk
from agents import Agent, OpenAIChatCompletionsModel, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
agent = Agent("desk", tools=[*map(function_tool, desk.TOOLS)], model=OpenAIChatCompletionsModel("scripted", client))
