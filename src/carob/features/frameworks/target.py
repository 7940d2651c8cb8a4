"""`KIND:module:agent`: an agent of a framework in this process, or a function that makes one for each conversation.

Two see each call: the method by which the framework runs the tool, and the messages in which a model asked for it. What
neither saw did not happen.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

from msgspec import structs

from carob.errors import ConfigError
from carob.evidence.merge import WORDS_CAP, merge_calls
from carob.evidence.model_evidence import read_call
from carob.evidence.short_form import NO_TELEMETRY
from carob.features.frameworks.base import AgentReply, FrameworkAgent
from carob.features.frameworks.feature import KINDS
from carob.model.suite import Case
from carob.model.trace import Message, PossibleCall, ToolCall, Trace
from carob.plugins.code import load_attribute
from carob.plugins.features import load
from carob.providers.messages import ChatMessage, read_message
from carob.targets.base import RunContext, TargetError
from carob.targets.config import TargetConfig, no_options
from carob.targets.in_process.agents_sdk import answer_text
from carob.targets.python import OFFERED, Conversation, PythonTarget
from carob.targets.user_code import Callee
from carob.text.clean import jsonable, text
from carob.text.wording import with_article

ANSWERED = (
    "{} was answered, but the tool was not seen to run: a hook of the framework or a cache may have answered for it"
)
NOT_SHOWN = (
    "what the models within asked for is not shown: name the agent itself, or have their requests read with "
    "telemetry = { models = true }"
)
IN_CODE = "the model asks for tools in code, which names one that was not seen to run"
ONE_CONVERSATION = "the agent itself keeps the conversation: name a function that makes one to run cases side by side"
GIVEN = "context"
"""The parameter by which a function that makes an agent asks for what the setup hook returned."""


class FrameworkTarget(PythonTarget):
    """An agent that is called in the way of its framework."""

    def __init__(self, config: TargetConfig) -> None:
        super().__init__(config)
        self._kind: type[FrameworkAgent] = load(KINDS[config.kind])
        self._found: Any = None
        if self._kind.keeps_conversation:
            limits = self.limits
            self.limits = structs.replace(limits, max_per_worker=1, why=limits.why or ONE_CONVERSATION)

    async def open(self) -> None:
        no_options(self._config)
        self._environment.set()
        self._start_wrapping()
        self._found = self._load()
        self._callee = Callee(self._ask, repr(self._config.spec), "prompt", OFFERED)

    def _load(self) -> object:
        kind, config = self._kind, self._config
        if not _is_installed(kind.modules[0]):
            message = f"a target of kind {config.kind!r} needs {kind.package}, which is not installed."
            raise ConfigError(message, fix=f"Install it where Carob is: pip install {kind.package}", slug="no-package")
        found = kind.prepare(load_attribute(config.spec, config.root, config.import_path))
        if not kind.takes(found) and (not inspect.isroutine(found) or _needs_more(found)):
            raise self._refuse(found, "is")
        return found

    def _refuse(self, value: object, verb: str) -> ConfigError:
        """Say what a value is instead of an agent, and which kind of target it is for."""
        spec, kinds = self._config.spec, {kind: load(place) for kind, place in KINDS.items()}
        other = next((kind for kind, row in kinds.items() if row.takes(value)), "")
        wanted = f"{with_article(self._kind.classes[0])} of {self._kind.package}"
        message = f"{spec!r} {verb} {with_article(type(value).__name__)}, and {self._config.kind!r} takes {wanted}."
        fix = f"Name the agent, or a function that makes one; one that answers a prompt is 'python:{spec}'."
        return ConfigError(message, fix=f"Use '{other}:{spec}'." if other else fix, slug="other-kind")

    async def _make_agent(self, conversation: Conversation, given: object) -> FrameworkAgent:
        agent = self._found
        if not self._kind.takes(agent):
            agent = agent(**({GIVEN: given} if GIVEN in inspect.signature(agent).parameters else {}))
            agent = await agent if inspect.isawaitable(agent) else agent
            if not self._kind.takes(agent):
                refused = self._refuse(agent, "returned")
                raise TargetError("config", refused.message, detail=refused.fix)
        return self._kind(agent, given, conversation.id)

    async def _ask(self, prompt: Any, conversation: Conversation, context: object) -> object:
        state = conversation.state
        if "agent" not in state:
            state["agent"] = await self._make_agent(conversation, context)
        ask = partial(state["agent"].ask, prompt)  # type: ignore[attr-defined]
        return await (ask() if inspect.iscoroutinefunction(self._kind.ask) else self._threads.call(ask))

    def _read(self, answer: object, case: Case, context: RunContext) -> Trace:
        """The turn: what was asked for, of which the calls that were seen to run are known."""
        if not isinstance(answer, AgentReply):
            return super()._read(answer, case, context)
        said = [read_message(message) for message in jsonable(answer.messages)]
        answered = {result.id for message in said for result in message.results if not result.failed}
        calls = list(_requests(said))
        known = merge_calls(calls, [call.as_call() for call in context.recorder.ran_calls])
        unseen = {call.name for call in known if call.id in answered and not call.called}
        possible = [PossibleCall(name, ANSWERED.format(name)) for name in sorted(unseen)]
        if answer.in_code:
            possible.append(PossibleCall("\n".join(each.text for each in said)[:WORDS_CAP], IN_CODE, "words"))
        return Trace(
            case_id=case.id,
            input=case.prompt,
            final_message=answer_text(answer.output),
            messages=tuple(Message("assistant", text(each.text)) for each in said if each.text and each.role in SPEAKS),
            tool_calls=tuple(calls),
            possible_calls=tuple(possible),
            unobserved={"telemetry": NO_TELEMETRY, **({} if answer.shows_models else {"tools": NOT_SHOWN})},
            tokens=answer.tokens,
        )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of what it is below
        return False


SPEAKS = ("ai", "assistant", "response", "model")


def _requests(said: list[ChatMessage]) -> Iterator[ToolCall]:
    """The calls that models asked for; whether each ran is seen where it runs."""
    for number, message in enumerate(said):
        for request in message.calls:
            yield read_call(request, f"message-{number}", None)


def _needs_more(function: Any) -> bool:
    """Whether a function has parameters that Carob cannot fill in."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(each.default is each.empty and each.name != GIVEN and each.kind not in free for each in parameters)
