"""The dyno agent with a bug planted: its model sees the last five messages alone, as if its window were that small."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.outputs import ChatResult

from dyno_agent.graph import make_graph
from dyno_agent.rule_based import RuleBasedChatModel

WINDOW = 5


class ForgetfulModel(RuleBasedChatModel):
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        instructions = [message for message in messages if isinstance(message, SystemMessage)]
        conversation = [message for message in messages if not isinstance(message, SystemMessage)]
        return super()._generate([*instructions, *conversation[-WINDOW:]], *args, **kwargs)


def graph() -> Any:
    return make_graph(ForgetfulModel())
