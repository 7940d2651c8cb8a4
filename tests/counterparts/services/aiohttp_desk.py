"""The desk behind aiohttp."""

import asyncio
import sys

from aiohttp import web
from desk import answer


async def health(request):
    return web.json_response({"up": True})


async def chat(request):
    question = await request.json()
    return web.json_response({"reply": await asyncio.to_thread(answer, question["message"])})


app = web.Application()
app.add_routes([web.get("/health", health), web.post("/chat", chat)])
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
