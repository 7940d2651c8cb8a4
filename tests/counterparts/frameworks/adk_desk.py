import desk
from adk_agent import Scripted
from google.adk.agents import LlmAgent

agent = LlmAgent(name="desk", model=Scripted(model="scripted"), tools=desk.TOOLS)
