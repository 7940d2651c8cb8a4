import os

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OPENAI_API_KEY": "none"}

import desk
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

model = LLM(model="openai/gpt-4o-mini", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
tools = [tool(made.__name__)(made) for made in desk.TOOLS]
agent = Agent(role="desk", goal="Answer.", backstory="A desk.", llm=model, tools=tools)
task = Task(description="{question}", expected_output="An answer.", agent=agent)
crew = Crew(agents=[agent], tasks=[task], verbose=False)
