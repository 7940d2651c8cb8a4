"""Agents on the SDKs of model providers, each a loop with tools that keep a log of their own, which is the truth."""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types

SYSTEM = "You are a bank. The fee is 7 dollars."
SCHEMAS = {
    "get_balance": {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]},
    "pay": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
}


class ToolLog:
    """The tools, and every call of them that was really made."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """What the model is given, and whether the call failed."""
        if name not in SCHEMAS:
            return f"Error: there is no tool {name}", True
        self.ran.append((name, arguments))
        if name == "pay":
            return "the account is locked", True
        return json.dumps({"balance": "12.50", "account": arguments.get("account")}), False


@cache
def _openai() -> openai.OpenAI:
    client = openai.OpenAI(api_key="k")  # which takes long to make
    atexit.register(client.close)
    return client


@cache
def _anthropic() -> anthropic.Anthropic:
    client = anthropic.Anthropic(api_key="k")
    atexit.register(client.close)
    return client


def _hurried(client: Any) -> Any:
    """The client, with no pause before it tries again."""
    client._calculate_retry_timeout = lambda *args, **more: 0.01
    return client


class ChatAgent:
    """OpenAI chat completions."""

    def __init__(self, base: str, log: ToolLog, *, stream: bool, retries: int = 0) -> None:
        self.client = _hurried(_openai().with_options(base_url=f"{base}/openai/v1", max_retries=retries))
        self.log = log
        self.stream = stream
        self.messages: list[Any] = [{"role": "system", "content": SYSTEM}]
        self.tools: Any = [
            {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in SCHEMAS.items()
        ]

    def say(self, prompt: str) -> str:
        self.messages.append({"role": "user", "content": prompt})
        while True:
            message = self._ask()
            if not message.tool_calls:
                self.messages.append({"role": "assistant", "content": message.content})
                return message.content or message.refusal or ""
            calls = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.function.name, "arguments": c.function.arguments},
                }
                for c in message.tool_calls
            ]
            self.messages.append({"role": "assistant", "content": message.content, "tool_calls": calls})
            for call in message.tool_calls:
                try:
                    result, failed = self.log.call(call.function.name, json.loads(call.function.arguments))
                except ValueError as error:
                    result, failed = f"the arguments are not JSON: {error}", True
                content = f"Error: {result}" if failed else result
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})

    def _ask(self) -> Any:
        if not self.stream:
            return (
                self.client.chat.completions.create(model="m", messages=self.messages, tools=self.tools)
                .choices[0]
                .message
            )
        more: Any = {"stream_options": {"include_usage": True}}
        with self.client.chat.completions.stream(model="m", messages=self.messages, tools=self.tools, **more) as said:
            return said.get_final_completion().choices[0].message


class ResponsesAgent:
    """OpenAI responses."""

    def __init__(self, base: str, log: ToolLog, *, stream: bool, retries: int = 0) -> None:
        self.client = _hurried(_openai().with_options(base_url=f"{base}/openai/v1", max_retries=retries))
        self.log = log
        self.stream = stream
        self.given: list[Any] = []
        self.how: Any = {
            "model": "m",
            "instructions": SYSTEM,
            "tools": [{"type": "function", "name": name, "parameters": schema} for name, schema in SCHEMAS.items()],
        }

    def say(self, prompt: str) -> str:
        self.given.append({"role": "user", "content": prompt})
        while True:
            answer = self._ask()
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                self.given.append({"role": "assistant", "content": answer.output_text})
                return str(answer.output_text)
            for call in calls:
                own = {"type": "function_call", "call_id": call.call_id, "id": call.id, "name": call.name}
                self.given.append(own | {"arguments": call.arguments})
            for call in calls:
                try:
                    result, failed = self.log.call(call.name, json.loads(call.arguments))
                except ValueError as error:
                    result, failed = f"the arguments are not JSON: {error}", True
                output = f"Error: {result}" if failed else result
                self.given.append({"type": "function_call_output", "call_id": call.call_id, "output": output})

    def _ask(self) -> Any:
        if not self.stream:
            return self.client.responses.create(input=self.given, **self.how)
        with self.client.responses.stream(input=self.given, **self.how) as said:
            return said.get_final_response()


class MessagesAgent:
    """Anthropic messages."""

    def __init__(self, base: str, log: ToolLog, *, stream: bool, retries: int = 0) -> None:
        self.client = _hurried(_anthropic().with_options(base_url=f"{base}/anthropic", max_retries=retries))
        self.log = log
        self.stream = stream
        self.messages: list[Any] = []
        tools = [{"name": name, "input_schema": schema} for name, schema in SCHEMAS.items()]
        self.how: Any = {"model": "m", "max_tokens": 99, "system": SYSTEM, "tools": tools}

    def say(self, prompt: str) -> str:
        self.messages.append({"role": "user", "content": prompt})
        while True:
            answer = self._ask()
            content = [block.model_dump(include={"type", "text", "id", "name", "input"}) for block in answer.content]
            if content:
                self.messages.append({"role": "assistant", "content": content})
            used = [block for block in answer.content if block.type == "tool_use"]
            if not used:
                return "".join(block.text for block in answer.content if block.type == "text")
            results = []
            for block in used:
                result, failed = self.log.call(block.name, block.input)
                result_block = {"type": "tool_result", "tool_use_id": block.id, "content": result, "is_error": failed}
                results.append(result_block)
            self.messages.append({"role": "user", "content": results})

    def _ask(self) -> Any:
        if not self.stream:
            return self.client.messages.create(messages=self.messages, **self.how)
        with self.client.messages.stream(messages=self.messages, **self.how) as said:
            return said.get_final_message()


class GeminiAgent:
    """Gemini, whose calls many servers give no ids."""

    def __init__(self, base: str, log: ToolLog, *, stream: bool, retries: int = 0) -> None:
        tries = types.HttpRetryOptions(attempts=retries + 1, initial_delay=0.01, max_delay=0.02)
        options = types.HttpOptions(base_url=f"{base}/gemini", retry_options=tries, timeout=10_000)
        self.client = genai.Client(api_key="k", http_options=options)
        self.log = log
        self.stream = stream
        self.contents: list[Any] = []
        declared = [types.FunctionDeclaration(name=n, parameters_json_schema=s) for n, s in SCHEMAS.items()]
        self.config = types.GenerateContentConfig(
            system_instruction=SYSTEM,
            tools=[types.Tool(function_declarations=declared)],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    def say(self, prompt: str) -> str:
        self.contents.append(types.Content(role="user", parts=[types.Part(text=prompt)]))
        while True:
            parts = self._ask()
            if parts:
                self.contents.append(types.Content(role="model", parts=parts))
            calls = [part.function_call for part in parts if part.function_call]
            if not calls:
                return "".join(part.text or "" for part in parts)
            results = []
            for call in calls:
                result, failed = self.log.call(call.name, dict(call.args or {}))
                response = {"error": result} if failed else {"result": result}
                results.append(types.Part(function_response=types.FunctionResponse(name=call.name, response=response)))
            self.contents.append(types.Content(role="user", parts=results))

    def _ask(self) -> list[Any]:
        how: Any = {"model": "m", "contents": self.contents, "config": self.config}
        if not self.stream:
            return _parts(self.client.models.generate_content(**how))
        return [part for chunk in self.client.models.generate_content_stream(**how) for part in _parts(chunk)]


def _parts(answer: Any) -> list[Any]:
    found = [
        candidate.content.parts
        for candidate in answer.candidates or ()
        if candidate.content and candidate.content.parts
    ]
    return [part for parts in found for part in parts]


AGENTS: dict[str, Callable[..., Any]] = {
    "chat": ChatAgent,
    "responses": ResponsesAgent,
    "messages": MessagesAgent,
    "gemini": GeminiAgent,
}
