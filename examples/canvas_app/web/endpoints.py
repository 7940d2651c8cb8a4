"""One function per address."""

from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from canvas_app.brain.action import ActionBrain
from canvas_app.brain.base import Brain
from canvas_app.catalog import Source
from canvas_app.store.workspace import Workspace
from canvas_app.turns import LiveTurn
from canvas_app.web.actions import action_from
from canvas_app.web.bodies import MAX_MESSAGE_CHARS, json_body, text_field
from canvas_app.web.services import COOKIE, query_of, services_of
from canvas_app.web.state import state_of
from canvas_app.web.streams import BUSY, turn_response


async def health(request: Request) -> Response:
    return JSONResponse({"status": "ok", "brain": services_of(request).brain.name})


async def page(request: Request) -> Response:
    """The workspace; `/spaces/<slug>` or `?space=` opens a space of it."""
    services = services_of(request)
    workspace = services.workspace(request)
    slug = request.path_params.get("slug") or request.query_params.get("space")
    if slug:
        space = workspace.spaces.named(str(slug))
        if space is None:
            return HTMLResponse(services.renderer.not_found("space"), 404)
        workspace.spaces.enter(space)
    response = HTMLResponse(services.renderer.page(workspace, query_of(request)), headers={"Cache-Control": "no-store"})
    response.set_cookie(COOKIE, workspace.session, httponly=True, samesite="lax", path="/")
    return response


async def state(request: Request) -> Response:
    services = services_of(request)
    return JSONResponse(state_of(services.known_workspace(request)), headers={"Cache-Control": "no-store"})


def _links(request: Request) -> str:
    """The page says with each command which query its links carry; only the session's own is believed."""
    named = parse_qs(request.headers.get("x-canvas-query", "").lstrip("?")).get("session", [""])[0]
    session = str(request.path_params.get("session", ""))
    return f"?session={session}" if named and named == session else ""


def _turn(request: Request, workspace: Workspace, brain: Brain, message: str, trigger: str) -> Response:
    services = services_of(request)
    if workspace.session in services.answering:
        raise HTTPException(409, BUSY)
    turn = LiveTurn(workspace, brain, services.observer, message, trigger)
    return turn_response(turn, services, _links(request))


async def chat(request: Request) -> Response:
    services = services_of(request)
    workspace = services.known_workspace(request)
    message = text_field(await json_body(request), "message", MAX_MESSAGE_CHARS)
    return _turn(request, workspace, services.brain, message, "chat")


async def talk(request: Request) -> Response:
    """The same for programs, which open no page: `?session=` makes a conversation with its first message."""
    services = services_of(request)
    message = text_field(await json_body(request), "message", MAX_MESSAGE_CHARS)
    return _turn(request, services.workspace(request), services.brain, message, "chat")


async def act(request: Request) -> Response:
    services = services_of(request)
    workspace = services.known_workspace(request)
    action = action_from(workspace, await json_body(request))
    return _turn(request, workspace, ActionBrain(action.tool, action.arguments), action.said, "action")


async def drop_question(request: Request) -> Response:
    workspace = services_of(request).known_workspace(request)
    await json_body(request)
    workspace.conversation.set_pending(None)
    return _parts(request, workspace)


async def switch_integration(request: Request) -> Response:
    workspace = services_of(request).known_workspace(request)
    body = await json_body(request)
    source, on = text_field(body, "source"), body.get("on")
    if source not in {known.value for known in Source}:
        raise HTTPException(422, "source: no such integration")
    if not isinstance(on, bool):
        raise HTTPException(422, "on: true or false")
    workspace.spaces.switch(workspace.spaces.current(), Source(source), on)
    return _parts(request, workspace)


async def drop_rule(request: Request) -> Response:
    workspace = services_of(request).known_workspace(request)
    await json_body(request)
    if not workspace.rules.drop(int(request.path_params["rule"])):
        raise HTTPException(404, "there is no such rule")
    return _parts(request, workspace)


def _parts(request: Request, workspace: Workspace) -> Response:
    return JSONResponse(services_of(request).renderer.parts(workspace, _links(request)))


async def problem(request: Request, raised: Exception) -> Response:
    """Refusals as JSON for commands and as a page for people."""
    status, detail = (raised.status_code, raised.detail) if isinstance(raised, HTTPException) else (500, "a fault")
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": detail}, status)
    if status == 404:
        return HTMLResponse(services_of(request).renderer.not_found("page"), 404)
    return JSONResponse({"error": detail}, status)
