"""The shop on OpenAI's agents SDK, behind FastAPI with a stream of its own shape."""

import json
import os

import shop
import uvicorn
from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

set_default_openai_api("chat_completions")
set_tracing_disabled(True)
agent = Agent(name="shop", model="scripted", instructions=shop.SYSTEM, tools=[function_tool(one) for one in shop.TOOLS])
app = FastAPI()


class Question(BaseModel):
    """What is asked."""

    message: str


async def stream(message):
    result = Runner.run_streamed(agent, message)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            yield {"kind": "token", "text": event.data.delta}
        elif event.type == "run_item_stream_event" and event.item.type == "tool_call_item":
            call = event.item.raw_item
            yield {"kind": "tool", "call": call.call_id, "name": call.name, "args": json.loads(call.arguments)}
        elif event.type == "run_item_stream_event" and event.item.type == "tool_call_output_item":
            yield {"kind": "tool_result", "call": event.item.raw_item["call_id"], "output": event.item.output}
    yield {"kind": "end"}


async def lines(message):
    async for event in stream(message):
        yield f"data: {json.dumps(event)}\n\n"


@app.post("/chat")
async def chat(question: Question):
    return StreamingResponse(lines(question.message), media_type="text/event-stream")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
