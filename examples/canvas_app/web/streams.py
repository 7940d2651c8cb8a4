"""A turn as server-sent events."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing

from starlette.responses import StreamingResponse

from canvas_app.records import Message
from canvas_app.turns import LiveTurn, TextPiece, ToolBegan, ToolEnded, TurnEnded, TurnEvent
from canvas_app.web.services import Services

BUSY = "The assistant is still answering. Wait for the end of the answer."


def sse(event: str, data: object) -> str:
    """One event. JSON has no raw line ends, so one `data:` line is enough."""
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def as_sse(event: TurnEvent, turn: LiveTurn, services: Services, query: str) -> list[str]:
    def page() -> str:
        return sse("page", services.renderer.parts(turn.workspace, query))

    match event:
        case TextPiece(text):
            return [sse("delta", {"text": text})]
        case ToolBegan(tool):
            return [sse("tool", {"name": tool, "phase": "start"})]
        case ToolEnded(tool, result):
            told = sse("tool", {"name": tool, "phase": "result", "success": result.success})
            return [told, page()] if result.success else [told]
        case TurnEnded(status, text, problem):
            html = services.renderer.message(Message("assistant", text)) if text else ""
            return [page(), sse("end", {"status": status, "text": text, "html": html, "problem": problem})]


async def _stream(turn: LiveTurn, services: Services, query: str) -> AsyncIterator[str]:
    session = turn.workspace.session
    if session in services.answering:
        yield sse("end", {"status": "error", "text": "", "html": "", "problem": BUSY})
        return
    services.answering.add(session)
    try:
        async with aclosing(turn.events()) as events:
            async for event in events:
                for text in as_sse(event, turn, services, query):
                    yield text
    finally:
        services.answering.discard(session)


def turn_response(turn: LiveTurn, services: Services, query: str) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(turn, services, query), media_type="text/event-stream", headers=headers)
