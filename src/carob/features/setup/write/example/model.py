"""A model for the desk that needs no key: an OpenAI-compatible server whose answers are scripted.

`python model.py` serves it at http://127.0.0.1:8090/v1.
"""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT = 8090


def complete(prompt: str) -> str:
    """What the model says to the last message of a user."""
    order = re.search(r"\b[A-Z]-\d+\b", prompt)
    found: dict[str, Any] = {"order": order[0]} if order else {}
    return json.dumps(found | ({"refund": True} if re.search(r"(?i)refund|money back", prompt) else {}))


class Model(BaseHTTPRequestHandler):
    """Answers chat completions."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": complete(asked["messages"][-1]["content"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"object": "chat.completion", "model": asked["model"], "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing for each request."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Model).serve_forever()
