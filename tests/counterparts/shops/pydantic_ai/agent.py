"""The shop on pydantic-ai, as a service that speaks AG-UI."""

import os

import shop
import uvicorn
from pydantic_ai import Agent
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.routing import Route

agent = Agent("openai-chat:scripted", system_prompt=shop.SYSTEM)
for tool in shop.TOOLS:
    agent.tool_plain(tool)


async def chat(request):
    return await AGUIAdapter.dispatch_request(request, agent=agent)


app = Starlette(routes=[Route("/agent", chat, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
