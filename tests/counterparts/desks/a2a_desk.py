"""The scripted desk agent on a2a-sdk: JSON-RPC in versions 1.0 and 0.3. Run with its own environment."""

import sys

import uvicorn
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from starlette.applications import Starlette

PORT = int(sys.argv[1])
said: dict[str, list[str]] = {}


class Desk(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        prompt = context.get_user_input()
        heard = said.setdefault(str(context.context_id), [])
        heard.append(prompt)
        if prompt == "message":
            await event_queue.enqueue_event(new_text_message("A message, no task.", context_id=context.context_id))
            return
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if prompt == "crash":
            raise RuntimeError("the model is down")
        if prompt == "failed":
            await updater.failed(updater.new_agent_message([Part(text="I gave up.")]))
            return
        if prompt == "ask":
            await updater.requires_input(updater.new_agent_message([Part(text="Which city?")]))
            return
        if prompt != "nothing":
            answer = {
                "what did I say?": f"You said: {heard[0]}",
                "weather in Paris": "It is sunny in Paris.",
            }.get(prompt, "Hello there.")
            words = answer.split(" ")
            for place, word in enumerate(words):
                last = place == len(words) - 1
                await updater.add_artifact(
                    [Part(text=word + " " * (not last))], artifact_id="answer", append=place > 0, last_chunk=last
                )
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


url = f"http://127.0.0.1:{PORT}/"
card = AgentCard(
    name="Desk",
    description="A scripted desk.",
    version="1",
    supported_interfaces=[
        AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0"),
        AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="0.3"),
    ],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="talk", name="talk", description="talks", tags=["talk"])],
)
handler = DefaultRequestHandler(agent_executor=Desk(), task_store=InMemoryTaskStore(), agent_card=card)
routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True)]
uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=PORT, log_level="warning")
