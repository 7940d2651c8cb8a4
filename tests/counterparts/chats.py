"""Chat front ends of others, each around the same front desk, and how each is started."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from carob.system.process_tree import end
from carob.targets.app_process import answers
from counterparts.environments import python_with

HERE = Path(__file__).parent / "fronts"
START_WITHIN = 240


class Chat(NamedTuple):
    """A front end: what is installed for it, and the words after its Python that serve it on `{port}`."""

    name: str
    requirements: tuple[str, ...]
    command: tuple[str, ...]
    env: dict[str, str] = {}  # noqa: RUF012 - never changed


STREAMLIT = ("-m", "streamlit", "run", "streamlit_chat.py", "--server.port", "{port}", "--server.address", "127.0.0.1")
CHATS = (
    Chat("nicegui", ("nicegui==3.18.0",), ("nicegui_chat.py", "{port}")),
    Chat(
        "gradio",
        ("gradio==6.31.0",),
        ("gradio_chat.py", "{port}"),
        {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1"},
    ),
    Chat(
        "streamlit",
        ("streamlit==1.67.0",),
        (*STREAMLIT, "--server.headless", "true", "--browser.gatherUsageStats", "false"),
    ),
    Chat(
        "chainlit",
        ("chainlit==2.12.0",),
        ("-m", "chainlit", "run", "chainlit_chat.py", "--port", "{port}", "--host", "127.0.0.1", "--headless"),
    ),
)


@contextmanager
def serving(chat: Chat, folder: Path, port: int, **env: str) -> Iterator[str]:
    """The app on this port; its address."""
    python = python_with(chat.name, *chat.requirements)
    url = f"http://127.0.0.1:{port}"
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # some look for it
    environ = {**ours, **chat.env, "CHAINLIT_APP_ROOT": str(folder), **env}
    command = [str(python), *(word.replace("{port}", str(port)) for word in chat.command)]
    with (folder / f"{chat.name}.log").open("wb") as log:
        app = subprocess.Popen(
            command, cwd=HERE, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        deadline = time.monotonic() + START_WITHIN
        while not answers(url):
            assert app.poll() is None, (folder / f"{chat.name}.log").read_text()
            assert time.monotonic() < deadline, "the app did not answer"
            time.sleep(0.2)
        yield url
    finally:
        end(app, 5.0)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
