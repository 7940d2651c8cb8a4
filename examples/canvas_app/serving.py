"""Serving the app on a socket of its own, which may be any free one."""

import signal
import socket

import uvicorn

from canvas_app.settings import Settings
from canvas_app.web.app import create_app

GRACE_SECONDS = 5


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(128)
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def server_for(settings: Settings) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(settings), log_level="warning", timeout_graceful_shutdown=GRACE_SECONDS, server_header=False
    )
    return uvicorn.Server(config)


def serve(settings: Settings, host: str, port: int) -> None:
    """Print the address and serve until SIGTERM or SIGINT, both of which end it in good order."""
    for number in (signal.SIGTERM, signal.SIGINT):
        # The server raises a signal once more when it has stopped; that second one has nothing left to do.
        signal.signal(number, lambda *_: None)
    with listen(host, port) as listener:
        print(f"Canvas listens on {url_of(listener)}", flush=True)
        server_for(settings).run(sockets=[listener])
