"""Rule-based agents that ask a model through the standard library alone."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

SYSTEM = "You are a bank."
TOOLS = [{"type": "function", "function": {"name": "get_balance", "parameters": {"type": "object"}}}]


def post(path: str, body: object, base: str = "OPENAI_BASE_URL") -> bytes:
    headers = {"content-type": "application/json", "authorization": "Bearer sk-very-secret-key"}
    request = urllib.request.Request(os.environ[base] + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return bytes(reply.read())
    except urllib.error.HTTPError as error:
        if error.code == 429:
            return post(path, body, base)
        raise RuntimeError(error.read().decode()) from error


def ask(prompt: str, **more: object) -> dict[str, Any]:
    """The loop of an agent with one tool."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    calls = []
    while True:
        said = json.loads(post("/chat/completions", {"model": "m", "messages": messages, "tools": TOOLS, **more}))
        message = said["choices"][0]["message"]
        if not message.get("tool_calls"):
            return {"final_message": message["content"], "tool_calls": calls}
        messages.append(message)
        for call in message["tool_calls"]:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            result = {"balance": "12.50"}
            calls.append({"name": name, "arguments": arguments, "result": result, "success": True})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})


def ask_as_semantic_kernel(prompt: str) -> str:
    """A loop that names its tool as Semantic Kernel does, and reports nothing but the answer."""
    headers = {"content-type": "application/json", "user-agent": "semantic-kernel-python/1.45.0"}
    tools = [{"type": "function", "function": {"name": "Desk-get_balance", "parameters": {"type": "object"}}}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    while True:
        body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
        address = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
        with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=20) as reply:
            message = json.loads(reply.read())["choices"][0]["message"]
        if not message.get("tool_calls"):
            return str(message["content"])
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": '{"balance": "12.50"}'}
            for call in message["tool_calls"]
        ]


def ask_twice(prompt: str) -> str:
    """The same request twice: a scripted server counts its answers."""
    return " ".join(str(json.loads(post("/chat/completions", request(prompt)))["id"]) for _ in range(2))


def request(prompt: str) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": prompt}]}


def ask_for_ever(prompt: str) -> str:
    for _ in range(30):
        post("/chat/completions", request(prompt))
    return "never"


def stream(prompt: str) -> str:
    return post("/chat/completions", {**request(prompt), "stream": True}).decode()


def ask_with_new_prompt(prompt: str) -> dict[str, Any]:
    global SYSTEM
    before, SYSTEM = SYSTEM, "You are a friendly bank."
    try:
        return ask(prompt)
    finally:
        SYSTEM = before


def ask_and_swallow(prompt: str) -> str:
    """Has an answer whatever the model says."""
    try:
        return str(ask_with_new_prompt(prompt)["final_message"])
    except RuntimeError:
        return "Good day. You have 12.50."


def ask_nobody(prompt: str) -> str:
    return "Your balance is 12.50 dollars."


def go_elsewhere(prompt: str) -> str:
    try:
        with urllib.request.build_opener().open("http://example.com/", timeout=5) as reply:
            return f"reached: {reply.status}"
    except urllib.error.HTTPError as error:
        status = error.code
    return f"refused: {status} {ask(prompt)['final_message']}"


def ask_and_report_words(prompt: str) -> str:
    return str(ask(prompt)["final_message"])


def remember(prompt: str, conversation: Any) -> str:
    """An agent that keeps its messages from turn to turn, and sends all of them each time."""
    messages = conversation.state.setdefault("messages", [])
    messages.append({"role": "user", "content": prompt})
    while True:
        said = json.loads(post("/chat/completions", {"model": "m", "messages": messages, "tools": TOOLS}))
        message = said["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": '{"balance": "12.50"}'})


def give_up(prompt: str) -> str:
    """An agent that has an answer of its own when the model fails."""
    body = json.dumps(request(prompt)).encode()
    try:
        urllib.request.urlopen(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, timeout=20).close()
    except urllib.error.HTTPError as failure:
        failure.close()
    return "I cannot answer now."


if __name__ == "__main__":
    given = json.loads(sys.stdin.read())
    answer = ask(given["prompt"])
    print(json.dumps({"final_message": answer["final_message"]} if sys.argv[1:] == ["words"] else answer))
