"""Reading small JSON bodies from strangers."""

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from canvas_app.web.security import is_from_our_page

MAX_BODY_BYTES = 32_000
MAX_MESSAGE_CHARS = 4_000


async def json_body(request: Request) -> dict[str, Any]:
    """The JSON object of a command, or a refusal that says what is wrong."""
    if not is_from_our_page(request):
        raise HTTPException(403, "commands are taken from this app's own pages only")
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise HTTPException(415, "send application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"a command has at most {MAX_BODY_BYTES} bytes")
    try:
        parsed = json.loads(body)
    except ValueError:
        raise HTTPException(400, "the body is no JSON") from None
    if not isinstance(parsed, dict):
        raise HTTPException(400, "the body is no JSON object")
    return parsed


def text_field(body: dict[str, Any], name: str, limit: int = 200) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise HTTPException(422, f"{name}: write some text")
    if len(value) > limit:
        raise HTTPException(422, f"{name}: at most {limit} characters")
    return value.strip()
