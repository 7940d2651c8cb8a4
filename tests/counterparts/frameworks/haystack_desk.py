import os

import desk
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.tools import create_tool_from_function
from haystack.utils import Secret

about = {"api_key": Secret.from_token("none"), "api_base_url": os.environ["OPENAI_BASE_URL"], "max_retries": 0}
agent = Agent(
    chat_generator=OpenAIChatGenerator(model="scripted", **about),
    tools=[*map(create_tool_from_function, desk.TOOLS[:2])],
)
