"""A model server that says what the script says, for frameworks that bring a client and no model: OpenAI's chat."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import script

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def call_or_answer(tool, arguments, request):
    """What a model that calls tools by structured calls says: (words, calls)."""
    return (arguments, []) if tool is None else (None, [(tool, arguments)])


def serve(speak=call_or_answer):
    """The address of a server whose model speaks as told: `speak(tool, arguments or answer, request)`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                words, calls = speak(*script.next_step(), request)
            except RuntimeError as error:
                self.reply(400, "application/json", json.dumps({"error": {"message": str(error)}}))
                return
            message = {"role": "assistant", "content": words}
            if calls:
                message["tool_calls"] = [
                    {
                        "index": n,
                        "id": f"call_{len(request['messages'])}_{n}",
                        "type": "function",
                        "function": {"name": name, "arguments": json.dumps(arguments)},
                    }
                    for n, (name, arguments) in enumerate(calls)
                ]
            finish = "tool_calls" if calls else "stop"
            about = {"id": "said-1", "created": 1, "model": "scripted"}
            if not request.get("stream"):
                choice = {"index": 0, "message": message, "finish_reason": finish}
                whole = {**about, "object": "chat.completion", "choices": [choice], "usage": USAGE}
                self.reply(200, "application/json", json.dumps(whole))
                return
            chunk = {**about, "object": "chat.completion.chunk"}
            parts = [
                {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                {**chunk, "choices": [], "usage": USAGE},
            ]
            self.reply(
                200, "text/event-stream", "".join(f"data: {json.dumps(p)}\n\n" for p in parts) + "data: [DONE]\n\n"
            )

        def reply(self, status, kind, body):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
