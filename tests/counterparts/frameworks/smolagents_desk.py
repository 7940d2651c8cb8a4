import os

import desk
from smolagents import CodeAgent, LogLevel, OpenAIServerModel, ToolCallingAgent, tool

model = OpenAIServerModel("scripted", api_base=os.environ["OPENAI_BASE_URL"], api_key="none")
tools = [*map(tool, desk.TOOLS[:2])]
agent = ToolCallingAgent(tools=tools, model=model, max_steps=4, verbosity_level=LogLevel.OFF)
code = CodeAgent(tools=tools, model=model, max_steps=4, verbosity_level=LogLevel.OFF)
