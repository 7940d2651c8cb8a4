import desk
from adk_agent import Scripted
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner

agent = LlmAgent(name="desk", model=Scripted(model="scripted"), tools=desk.TOOLS)
runner = InMemoryRunner(agent, app_name="desks")
