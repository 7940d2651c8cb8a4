"""NiceGUI's chat messages, with a spinner while the desk thinks, as its examples show them."""

import asyncio
import sys

from desk import PACE, pieces, reply
from nicegui import ui


@ui.page("/")
def page():
    earlier = []

    async def send():
        prompt = text.value
        text.value = ""
        with log:
            ui.chat_message(text=prompt, name="You", sent=True)
            answer = ui.chat_message(name="Bot", sent=False)
            spinner = ui.spinner(type="dots")
        said = ""
        words = reply(prompt, earlier)
        earlier.append(prompt)
        await asyncio.sleep(10 * PACE)
        for piece in pieces(words):
            said += piece
            answer.clear()
            with answer:
                ui.markdown(said)
            await asyncio.sleep(PACE)
        log.remove(spinner)

    log = ui.column().classes("w-full max-w-2xl mx-auto items-stretch")
    with ui.footer().classes("bg-white"), ui.row().classes("w-full no-wrap items-center"):
        text = ui.input(placeholder="message").classes("flex-grow").on("keydown.enter", send)


ui.run(host="127.0.0.1", port=int(sys.argv[1]), title="Front desk", reload=False, show=False)
