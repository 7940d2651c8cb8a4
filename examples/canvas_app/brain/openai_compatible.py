"""A brain that asks a model behind any OpenAI-compatible endpoint."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from canvas_app.brain.base import BrainError, Turn
from canvas_app.brain.completions import Reply, RequestedCall, arguments_of, chunks_in
from canvas_app.brain.instructions import instructions
from canvas_app.brain.wording import ANSWER_LIMIT
from canvas_app.settings import ModelSettings
from canvas_app.tools.registry import schemas

MAX_ROUNDS = 8
MAX_HISTORY = 20
TIMEOUT = httpx2.Timeout(120, connect=5)


class OpenAICompatibleBrain:
    def __init__(self, settings: ModelSettings, client: httpx2.AsyncClient) -> None:
        self.name = settings.name
        self._settings = settings
        self._client = client

    async def answer(self, turn: Turn) -> None:
        messages = self._opening(turn)
        said = 0
        for _ in range(MAX_ROUNDS):
            reply = await self._ask(turn, messages)
            said += len(reply.text.strip())
            if not reply.calls:
                if not said:
                    raise BrainError("The model gave an empty answer.")
                return
            if reply.text.strip():
                await turn.say("\n\n")
            messages.append(_as_message(reply))
            for call in reply.calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": await self._carry_out(turn, call)})
        raise BrainError(f"The model kept calling tools for {MAX_ROUNDS} rounds without an answer.")

    def _opening(self, turn: Turn) -> list[dict[str, Any]]:
        earlier = turn.workspace.conversation.messages()[:-1][-MAX_HISTORY:]
        return [
            {"role": "system", "content": instructions(turn.workspace)},
            *({"role": message.role, "content": message.text} for message in earlier),
            {"role": "user", "content": turn.message},
        ]

    async def _carry_out(self, turn: Turn, call: RequestedCall) -> str:
        arguments = arguments_of(call)
        if arguments is None:
            return json.dumps({"success": False, "error": "the arguments are no JSON object"})
        result = await turn.use(call.name, arguments)
        return json.dumps(result.as_json(), ensure_ascii=False, default=str)

    async def _ask(self, turn: Turn, messages: list[dict[str, Any]]) -> Reply:
        reply, error = Reply(), "cancelled"
        turn.model_asked(self._settings.name)
        try:
            await self._stream(turn, messages, reply)
            error = ""
        except httpx2.HTTPError as problem:
            error = type(problem).__name__
            raise BrainError(f"The model cannot be reached ({error}).") from problem
        except BrainError as problem:
            error = str(problem)
            raise
        finally:
            turn.model_answered(reply.usage, error or None)
        return reply

    async def _stream(self, turn: Turn, messages: list[dict[str, Any]], reply: Reply) -> None:
        headers = {"Authorization": f"Bearer {self._settings.api_key}"} if self._settings.api_key else {}
        body = {
            "model": self._settings.name,
            "messages": messages,
            "tools": schemas(),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        url = f"{self._settings.base_url}/chat/completions"
        async with self._client.stream("POST", url, json=body, headers=headers, timeout=TIMEOUT) as response:
            if response.status_code != httpx2.codes.OK:
                raise BrainError(f"The model's endpoint answered {response.status_code}.")
            async for chunk in chunks_in(response.aiter_lines()):
                text = _taken(reply, chunk)
                if text:
                    await turn.say(text)
                if len(reply.text) > ANSWER_LIMIT:
                    raise BrainError("The model's answer is too long.")


def _taken(reply: Reply, chunk: Mapping[str, Any]) -> str:
    try:
        return reply.take(chunk)
    except (AttributeError, TypeError, IndexError, ValueError) as problem:
        raise BrainError("The model's endpoint sent a chunk of an unknown shape.") from problem


def _as_message(reply: Reply) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.calls
    ]
    return {"role": "assistant", "content": reply.text or None, "tool_calls": calls}
