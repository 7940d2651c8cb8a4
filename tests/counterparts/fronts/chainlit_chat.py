"""Chainlit with a step that is a tool, as its documentation shows it."""

import chainlit as cl
from desk import pieces, reply


@cl.step(type="tool")
async def look_up(question):
    return f"looked up: {question}"


@cl.on_message
async def answer(message):
    earlier = cl.user_session.get("earlier", [])
    words = reply(message.content, earlier)
    cl.user_session.set("earlier", [*earlier, message.content])
    await look_up(message.content)
    said = cl.Message(content="")
    for piece in pieces(words):
        await said.stream_token(piece)
    await said.update()
