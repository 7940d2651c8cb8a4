"""google-adk with its own spans, and a model of its own kind that names no ids for its calls, as Gemini does not."""

import asyncio

import script
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types

made = script.provider()


class Scripted(BaseLlm):
    """A model that says what the script says."""

    async def generate_content_async(self, llm_request, stream=False):
        name, told = script.next_step()
        if name is None:
            part = types.Part(text=told)
        else:
            part = types.Part(function_call=types.FunctionCall(name=name, args=told))
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=10, candidates_token_count=5, total_token_count=15
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


def failed(tool, args, tool_context, error):
    return {"error": str(error)}


agent = LlmAgent(
    name="orders",
    model=Scripted(model="scripted"),
    tools=[FunctionTool(each) for each in (script.lookup_order, script.cancel_order, script.list_orders)],
    on_tool_error_callback=failed,
)
runner = InMemoryRunner(agent, app_name="orders")


async def run(prompt):
    sessions, name = runner.session_service, script.conversation()
    session = await sessions.get_session(app_name="orders", user_id="u", session_id=name)
    session = session or await sessions.create_session(app_name="orders", user_id="u", session_id=name)
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    answer = ""
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        for part in (event.content.parts if event.content else None) or ():
            answer = part.text or answer
    return answer


script.serve(lambda prompt: asyncio.run(run(prompt)), made)
