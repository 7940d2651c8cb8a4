"""The ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from canvas_app.settings import Settings
from canvas_app.web import endpoints
from canvas_app.web.security import SecurityHeaders
from canvas_app.web.services import running

STATIC = Path(__file__).parent.parent / "static"

ROUTES = (
    Route("/", endpoints.page),
    Route("/spaces/{slug}", endpoints.page),
    Route("/health", endpoints.health),
    Route("/api/sessions/{session}/state", endpoints.state),
    Route("/api/sessions/{session}/chat", endpoints.chat, methods=["POST"]),
    Route("/api/chat", endpoints.talk, methods=["POST"]),
    Route("/api/sessions/{session}/actions", endpoints.act, methods=["POST"]),
    Route("/api/sessions/{session}/question/drop", endpoints.drop_question, methods=["POST"]),
    Route("/api/sessions/{session}/integrations", endpoints.switch_integration, methods=["POST"]),
    Route("/api/sessions/{session}/rules/{rule:int}/drop", endpoints.drop_rule, methods=["POST"]),
)


def create_app(settings: Settings) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with running(settings) as services:
            app.state.services = services
            yield

    return Starlette(
        routes=[*ROUTES, Mount("/static", StaticFiles(directory=STATIC))],
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers={HTTPException: endpoints.problem},
        lifespan=lifespan,
    )
