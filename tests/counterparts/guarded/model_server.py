"""A model that makes coding agents run two shell commands: `python FILE LEDGER`. It prints its port.

It answers as Anthropic's Messages API and as OpenAI's Responses API do. Each command adds a line to the ledger.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMANDS = (f"echo looked >> {sys.argv[1]}", f"echo paid-pay >> {sys.argv[1]}")


def anthropic(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    blocks = [part for message in body["messages"] for part in message["content"] if isinstance(part, dict)]
    done = sum(part.get("type") == "tool_result" for part in blocks)
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1}}
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": "done"}
    is_call = bool(body.get("tools")) and done < len(COMMANDS)
    if is_call:
        block = {"type": "tool_use", "id": f"toolu_{done}", "name": "Bash", "input": {}}
        arguments = json.dumps({"command": COMMANDS[done], "description": "do"})
        delta = {"type": "input_json_delta", "partial_json": arguments}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use" if is_call else "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def openai(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    names = [tool.get("name") for tool in body.get("tools", ())]
    done = sum(item.get("type") == "function_call_output" for item in body["input"])
    item: dict[str, Any] = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "done"}],
    }
    if done < len(COMMANDS):
        command = COMMANDS[done]
        forms = {"exec_command": {"cmd": command}, "shell_command": {"command": command}}
        name = next((name for name in forms if name in names), "shell")
        arguments = json.dumps(forms.get(name, {"command": ["bash", "-lc", command]}))
        item = {"type": "function_call", "id": f"fc_{done}", "call_id": f"call_{done}", "name": name}
        item["arguments"] = arguments
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= dict.fromkeys(("input_tokens_details", "output_tokens_details"))  # type: ignore[arg-type]
    response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return [(event["type"], event) for event in events]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(b"", "text/plain")

    def do_GET(self) -> None:
        self.answer(b'{"data":[]}', "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            self.answer(b'{"input_tokens":10}', "application/json")
            return
        events = openai(body) if "input" in body else anthropic(body)
        lines = "".join(f"event: {name}\ndata: {json.dumps(event)}\n\n" for name, event in events)
        self.answer(lines.encode(), "text/event-stream")

    def answer(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
