import os

import desk
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient

info = dict.fromkeys(("vision", "json_output", "structured_output"), False)
client = OpenAIChatCompletionClient(
    model="scripted",
    base_url=os.environ["OPENAI_BASE_URL"],
    api_key="none",
    model_info={**info, "function_calling": True, "family": "unknown"},
)
kept = {"model_client": client, "tools": desk.TOOLS, "reflect_on_tool_use": True, "max_tool_iterations": 4}
agent = AssistantAgent("desk", **kept)
team = RoundRobinGroupChat([AssistantAgent("desk", **kept)], max_turns=1)
