"""`crewai:module:crew`: a Crew, a class made by `@CrewBase`, or an Agent of its own.

The prompt fills the one placeholder of the crew that the setup hook leaves open.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent, call, message, words
from carob.providers.messages import decode_value
from carob.targets.base import TargetError
from carob.text.wording import join_words


class CrewAgent(FrameworkAgent):
    package, modules = "crewai", ("crewai",)
    classes = ("Crew", "BaseAgent", "Agent", "LiteAgent")
    keeps_conversation = True

    def __init__(self, agent: Any, given: Any, conversation_id: str) -> None:
        super().__init__(agent, given, conversation_id)
        self._history: list[dict[str, str]] = []

    @classmethod
    def prepare(cls, found: Any) -> Any:
        """What `@CrewBase` made is a class whose method gives the crew."""
        is_class = inspect.isclass(found) and callable(getattr(found, "crew", None))
        return (lambda: found().crew()) if is_class else found

    def ask(self, prompt: Any) -> AgentReply:
        if type(self.agent).__name__ == "Crew":
            inputs = self._inputs(prompt)
            crew = self.agent.copy()  # a kickoff fills the placeholders for good
            steps = [*_note_steps(crew)]
            done = crew.kickoff(inputs=inputs)
            said = [each for task in done.tasks_output for each in getattr(task, "messages", ())]
            said = [each for each in said if each.get("role") not in ("system", "user")]
            if not any(each.get("tool_calls") for each in said):
                said = [message("assistant", _parts(step)) for taken in steps for step in taken]
            return AgentReply(done.pydantic or done.raw, said)
        self._history.append({"role": "user", "content": prompt})
        done = self.agent.kickoff(self._history[-1]["content"] if len(self._history) == 1 else [*self._history])
        self._history.append({"role": "assistant", "content": done.raw})
        given = getattr(done, "messages", None)
        return AgentReply(done.pydantic or done.raw, since_last_user(given or ()), shows_models=given is not None)

    def _inputs(self, prompt: Any) -> dict[str, Any]:
        given = dict(self.given) if isinstance(self.given, Mapping) else {}
        names = sorted(self.agent.fetch_inputs() - given.keys())
        if len(names) != 1:
            has = f"{join_words(names, 'and')} are open" if names else "none is open"
            why = f"the prompt fills one placeholder of the crew's tasks and agents, and {has}"
            fix = "write {prompt} into a task" if not names else "let the setup hook return a dict with the others"
            raise TargetError("config", f"{why}: {fix}")
        return {**given, names[0]: prompt}


def _note_steps(crew: Any) -> Iterator[list[Any]]:
    """The steps of each agent, as they are taken: by them agents ask for tools in words."""
    for agent in crew.agents:
        steps: list[Any] = []
        own = agent.step_callback or crew.step_callback

        def note(step: Any, steps: list[Any] = steps, own: Any = own) -> None:
            steps.append(step)
            if own is not None:
                own(step)

        agent.step_callback = note
        yield steps


def _parts(step: Any) -> Iterator[object]:
    yield words(str(getattr(step, "text", "")))
    if name := getattr(step, "tool", ""):
        yield call("", str(name), decode_value(step.tool_input))


def since_last_user(messages: Iterable[Any]) -> list[Any]:
    """What was said after the prompt."""
    messages = [*messages]
    last = max((n for n, each in enumerate(messages) if each.get("role") == "user"), default=-1)
    return messages[last + 1 :]
