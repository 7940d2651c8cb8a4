"""An agent behind HTTP that asks a model where the environment says, as its SDK would: a loop with one tool."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = [{"type": "function", "function": {"name": "get_balance", "parameters": {"type": "object"}}}]


def ask(prompt: str) -> str:
    messages: list[dict[str, object]] = [{"role": "user", "content": prompt}]
    while True:
        body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS}).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
        request = urllib.request.Request(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                message = json.load(reply)["choices"][0]["message"]
        except OSError:
            return "I cannot look that up now."
        if not message.get("tool_calls"):
            return str(message["content"])
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": '{"balance": "12.50"}'}
            for call in message["tool_calls"]
        ]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send({"ready": True})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["message"] == "crash":
            os._exit(7)
        self._send({"reply": ask(asked["message"])})

    def _send(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


if __name__ == "__main__":
    print("listening", flush=True)
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
