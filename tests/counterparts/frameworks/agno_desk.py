import os

import desk
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike
from agno.team import Team

model = OpenAILike(id="scripted", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
kept = {"db": InMemoryDb(), "add_history_to_context": True, "telemetry": False}
agent = Agent(name="desk", model=model, tools=desk.TOOLS, **kept)
team = Team(name="desks", model=model, members=[Agent(name="other", model=model)], tools=desk.TOOLS, **kept)
