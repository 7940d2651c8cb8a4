"""The scripted desk agent on pydantic-ai, behind its AG-UI and Vercel AI adapters. Run with its own environment."""

import sys
from collections.abc import AsyncIterator

import uvicorn
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """What the model says: decided by the last thing that the user said."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    said = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    place = max(n for n, part in enumerate(parts) if isinstance(part, UserPromptPart))
    results = [part for part in parts[place:] if not isinstance(part, UserPromptPart)]
    prompt = said[-1]
    if prompt == "crash":
        raise RuntimeError("the model is down")
    if "nothing" in said:
        yield ""
        return
    if prompt.startswith("weather") and not results:
        yield {0: DeltaToolCall("weather", '{"city": ', tool_call_id=f"call-{len(messages)}")}
        yield {0: DeltaToolCall(json_args=f'"{prompt.split()[-1]}"}}')}
        return
    if prompt.startswith("weather"):
        last = results[-1]
        answer = f"It is {last.content}." if isinstance(last, ToolReturnPart) else "I could not find out."
    elif prompt == "what did I say?":
        answer = f"You said: {said[0]}"
    else:
        answer = "Hello there."
    for word in answer.split(" "):
        yield word + (" " if not answer.endswith(word) else "")


agent = Agent(FunctionModel(stream_function=script))


@agent.tool_plain
def weather(city: str) -> str:
    """The weather in a city."""
    if city == "Nowhere":
        raise ModelRetry("there is no such city")
    if city == "Atlantis":
        raise ValueError("the station is under water")
    return f"sunny in {city}"


async def ag_ui(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)


async def ai_sdk(request: Request) -> Response:
    return await VercelAIAdapter.dispatch_request(request, agent=agent, sdk_version=int(sys.argv[2]))


app = Starlette(routes=[Route("/ag-ui", ag_ui, methods=["POST"]), Route("/ai-sdk", ai_sdk, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
