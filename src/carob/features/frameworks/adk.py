"""`adk:module:root_agent`: an agent, an App or a Runner of Google's Agent Development Kit.

What the setup hook returns, if it is a dict, is the state that the session begins with.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, result, words
from carob.model.trace import Tokens
from carob.plugins.features import load

USER = "carob"


class AdkAgent(FrameworkAgent):
    package, modules = "google-adk", ("google.adk",)
    classes = ("BaseAgent", "BaseNode", "App", "Runner")
    _runner: Any = None

    async def ask(self, prompt: Any) -> AgentReply:
        if self._runner is None:
            self._runner = self._make_runner()
            sessions, state = self._runner.session_service, self.given if isinstance(self.given, dict) else None
            about = {"app_name": self._runner.app_name, "user_id": USER, "session_id": self.conversation_id}
            session = sessions.create_session(**about, state=state)
            if inspect.isawaitable(session):  # not so before 1.0
                await session
        types = load("google.genai:types")
        said = types.Content(role="user", parts=[types.Part(text=prompt)])
        about = {"user_id": USER, "session_id": self.conversation_id}
        events = [event async for event in self._runner.run_async(**about, new_message=said) if not event.partial]
        messages = [message(event.author, _parts(event)) for event in events]
        answers = [_text(event) for event in events if event.is_final_response()]
        broken = next((event for event in reversed(events) if event.error_code), None)
        if broken is not None and not any(answers):
            raise RuntimeError(f"{broken.error_code}: {broken.error_message}")
        return AgentReply(next(filter(None, reversed(answers)), ""), messages, _count_tokens(events))

    def _make_runner(self) -> Any:
        kind, agent = type(self.agent).__name__, self.agent
        if hasattr(agent, "run_async") and hasattr(agent, "session_service"):
            return agent
        make = load("google.adk.runners:InMemoryRunner")
        return make(app=agent) if kind == "App" else make(agent, app_name=agent.name)


def _parts(event: Any) -> Iterator[object]:
    for part in (event.content.parts if event.content else None) or ():
        if part.function_call:
            yield call(part.function_call.id, part.function_call.name, part.function_call.args)
        elif part.function_response:
            yield result(part.function_response.id, part.function_response.response)
        elif part.text and not part.thought:
            yield words(part.text)


def _text(event: Any) -> str:
    return "".join(str(part["text"]) for part in _parts(event) if isinstance(part, dict) and "text" in part)


def _count_tokens(events: list[Any]) -> Tokens | None:
    used = [event.usage_metadata for event in events if event.usage_metadata]
    counts = [
        sum(getattr(each, name) or 0 for each in used) for name in ("prompt_token_count", "candidates_token_count")
    ]
    return Tokens(*counts) if any(counts) else None
