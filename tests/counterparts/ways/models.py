"""A model server that plays the situations: with structured calls, or in the words and code of agents without them."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import desk


def call(words, calls, request):
    return words, calls


def code(words, calls, request):
    """A step of smolagents' CodeAgent: its words are the code that it runs."""
    if not calls:
        return f"Thought: I know the answer.\n<code>\nfinal_answer({words!r})\n</code>", []
    lines = "\n".join(f"print({name}({', '.join(f'{k}={v!r}' for k, v in args.items())}))" for name, args in calls)
    return f"Thought: I need a tool.\n<code>\n{lines}\n</code>", []


def final(words, calls, request):
    """smolagents' ToolCallingAgent hands over its answer by a call."""
    return (None, calls) if calls else (None, [("final_answer", {"answer": words})])


def react(words, calls, request):
    """A step of LlamaIndex's ReActAgent."""
    if not calls:
        return f"Thought: I can answer without using any more tools.\nAnswer: {words}", []
    name, args = calls[0]
    return f"Thought: I need to use a tool.\nAction: {name}\nAction Input: {json.dumps(args)}", []


def crew(words, calls, request):
    """A step of CrewAI's agents before they asked for tools by structured calls."""
    if not calls:
        return f"Thought: I now can give a great answer\nFinal Answer: {words}", []
    name, args = calls[0]
    return f"Thought: I need a tool.\nAction: {name}\nAction Input: {json.dumps(args)}", []


def dspy(words, calls, request):
    """A step of DSPy's ReAct, or the answer that it asks for in the end."""
    if "`next_tool_name`" not in request["messages"][0]["content"]:
        return f"[[ ## reasoning ## ]]\nIt is known.\n\n[[ ## answer ## ]]\n{words}\n\n[[ ## completed ## ]]", []
    name, args = calls[0] if calls else ("finish", {})
    said = {"next_thought": "I need a tool.", "next_tool_name": name, "next_tool_args": json.dumps(args)}
    return "".join(f"[[ ## {key} ## ]]\n{value}\n\n" for key, value in said.items()) + "[[ ## completed ## ]]", []


def plugin(words, calls, request):
    """Semantic Kernel puts the plugin before the function."""
    return words, [(f"Desk-{name}", args) for name, args in calls]


def typed(words, calls, request):
    """pydantic-ai hands over a typed answer by a call."""
    return (None, calls) if calls else (None, [("final_result", {"text": words})])


SPEECHES = {speak.__name__: speak for speak in (call, code, final, react, crew, dspy, plugin, typed)}
ONE_BY_ONE = (react, crew, dspy)
"""Agents that ask for one call at a time."""
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        speak = SPEECHES[self.path.split("/")[1]]
        words, calls = speak(*desk.step(request["messages"], speak in ONE_BY_ONE), request)
        message = {"role": "assistant", "content": words}
        if calls:
            message["tool_calls"] = [
                {
                    "index": n,
                    "id": f"call_{len(request['messages'])}_{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(args)},
                }
                for n, (name, args) in enumerate(calls)
            ]
        finish = "tool_calls" if calls else "stop"
        about = {"id": "said-1", "created": 1, "model": "scripted"}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            whole = {**about, "object": "chat.completion", "choices": [choice], "usage": USAGE}
            return self.reply("application/json", json.dumps(whole))
        chunk = {**about, "object": "chat.completion.chunk"}
        parts = [
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {**chunk, "choices": [], "usage": USAGE},
        ]
        lines = "".join(f"data: {json.dumps(part)}\n\n" for part in parts)
        return self.reply("text/event-stream", lines + "data: [DONE]\n\n")

    def reply(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


def serve(port=0):
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    print(serve(int(sys.argv[1])).server_port, flush=True)
    threading.Event().wait()
