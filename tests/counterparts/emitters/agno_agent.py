"""agno with OpenInference's instrumentation."""

import model_server
import script
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike
from openinference.instrumentation.agno import AgnoInstrumentor

made = script.provider()
AgnoInstrumentor().instrument(tracer_provider=made)

agent = Agent(
    name="orders",
    model=OpenAILike(id="scripted", base_url=model_server.serve(), api_key="none"),
    tools=[script.lookup_order, script.cancel_order, script.list_orders],
    db=InMemoryDb(),
    add_history_to_context=True,
    telemetry=False,
)


def turn(prompt):
    result = agent.run(prompt, session_id=script.conversation())
    if result.status == "ERROR":
        raise RuntimeError(result.content)
    return result.content


script.serve(turn, made)
