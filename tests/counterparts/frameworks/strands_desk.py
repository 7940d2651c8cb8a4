import os

import desk
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.multiagent import GraphBuilder

model = OpenAIModel(client_args={"base_url": os.environ["OPENAI_BASE_URL"], "api_key": "none"}, model_id="scripted")
agent = Agent(model, tools=[*map(tool, desk.TOOLS)], callback_handler=None)
graph = GraphBuilder()
graph.add_node(Agent(model, tools=[*map(tool, desk.TOOLS)], callback_handler=None), "desk")
graph = graph.build()
