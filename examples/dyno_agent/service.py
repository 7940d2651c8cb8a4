"""`python -m dyno_agent.service`: the agent behind HTTP, with a lab for each conversation and spans of what it does."""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import cast

import uvicorn
from langchain_core.messages import AnyMessage, HumanMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dyno_agent.database import DynoContext
from dyno_agent.graph import DynoState, Graph, make_graph
from dyno_agent.settings import ConfigurationError, environment_setting
from dyno_agent.spans import AgentSpans
from dyno_agent.testing import setup, teardown

EXIT_USAGE = 4
MAX_BODY_BYTES = 32_000
ASK = 'send {"conversation": "…", "message": "…"}'


@dataclass(slots=True)
class Conversation:
    """A lab of its own and what was said; one turn at a time."""

    context: DynoContext
    messages: list[AnyMessage] = field(default_factory=list)
    talking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Desk:
    """The conversations of a service."""

    def __init__(self, graph: Graph, spans: AgentSpans) -> None:
        self._graph = graph
        self._spans = spans
        self._known: dict[str, Conversation] = {}
        self._opening = asyncio.Lock()

    async def answer(self, name: str, message: str, headers: Mapping[str, str]) -> AsyncIterator[dict[str, object]]:
        """The events of a turn, the last of which says that it is done, or what broke."""
        try:
            conversation = await self._conversation(name)
            async with conversation.talking:
                with self._spans.turn(name, headers) as told:
                    messages = [*conversation.messages, HumanMessage(message)]
                    state = cast(DynoState, {"messages": messages})  # LangGraph fills the rest of it by itself
                    ended = await self._graph.ainvoke(state, {"callbacks": [told]}, context=conversation.context)
                conversation.messages = list(ended["messages"])
            yield {"text": conversation.messages[-1].text}
            yield {"done": True}
        except Exception as problem:  # noqa: BLE001 - whatever breaks, who asked is told that this turn did
            yield {"error": f"{type(problem).__name__}: {problem}"}

    async def _conversation(self, name: str) -> Conversation:
        async with self._opening:
            if name not in self._known:
                self._known[name] = Conversation(DynoContext(**await setup(name)))
            return self._known[name]

    async def close(self) -> None:
        for conversation in self._known.values():
            await teardown(asdict(conversation.context))
        self._spans.close()


async def _sse(events: AsyncIterator[dict[str, object]]) -> AsyncIterator[str]:
    async for event in events:
        yield f"data: {json.dumps(event, ensure_ascii=False)}\n\n"


async def chat(request: Request) -> Response:
    body = await request.body()
    try:
        asked = json.loads(body) if len(body) <= MAX_BODY_BYTES else None
    except ValueError:
        asked = None
    told = asked if isinstance(asked, dict) else {}
    conversation, message = (str(told.get(key) or "").strip() for key in ("conversation", "message"))
    if not conversation or not message:
        return JSONResponse({"error": ASK}, 422)
    desk: Desk = request.app.state.desk
    answer = desk.answer(conversation, message, request.headers)
    return StreamingResponse(_sse(answer), media_type="text/event-stream")


async def health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def create_app(otlp_endpoint: str | None) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.desk = Desk(make_graph(), AgentSpans(otlp_endpoint))
        yield
        await app.state.desk.close()

    routes = [Route("/health", health), Route("/chat", chat, methods=["POST"])]
    return Starlette(routes=routes, lifespan=lifespan)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("dyno_agent.service", description="The dyno agent behind HTTP.")
    parser.add_argument("--port", type=int, default=8001)
    chosen = parser.parse_args(arguments)
    try:
        make_graph()
    except ConfigurationError as problem:
        print(f"dyno_agent: {problem}", file=sys.stderr)
        return EXIT_USAGE
    app = create_app(environment_setting("OTEL_EXPORTER_OTLP_ENDPOINT"))
    uvicorn.run(app, host="127.0.0.1", port=chosen.port, log_level="warning")
    return 0


if __name__ == "__main__":
    sys.exit(main())
