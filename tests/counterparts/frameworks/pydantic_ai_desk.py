import os

import desk
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Answer(BaseModel):
    text: str


model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key="none"))
agent = Agent(model, tools=desk.TOOLS)
typed = Agent(model, tools=desk.TOOLS, output_type=Answer)
