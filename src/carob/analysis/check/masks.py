"""Personal data in what a check shows of conversations, masked as in drafts."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from carob.analysis.check.model import ConversationExample
from carob.analysis.draft.masking import Masker
from carob.evidence.exports.record import RecordedConversation
from carob.model.trace import Trace
from carob.text.clean import jsonable

Record = TypeVar("Record", bound=Struct)
MOST_KNOWN = 100_000
"""So many values are remembered, each with what is shown for it; then all are forgotten."""


class Masks:
    """What is put in the place of personal data; the same for the same value."""

    def __init__(self, keep: bool) -> None:
        self._masker = Masker(keep=keep)

    def text(self, text: str) -> str:
        if len(self._masker.known) > MOST_KNOWN:
            self._masker.known.clear()
        return self._masker.text(text)

    def example(self, example: ConversationExample) -> ConversationExample:
        if self._masker.keep:
            return example
        return structs.replace(
            example, id=self.text(example.id), why=self.text(example.why), user=self.text(example.user)
        )

    def conversation(self, conversation: RecordedConversation) -> RecordedConversation:
        """The whole conversation masked; numbers stay, because amounts decide rules."""
        if self._masker.keep:
            return conversation
        trace = msgspec.convert(self._value(jsonable(msgspec.to_builtins(conversation.trace))), Trace)
        about: Any = self._value(jsonable(dict(conversation.metadata)))
        id, user = self.text(conversation.id), self.text(conversation.user)
        return structs.replace(conversation, id=id, user=user, trace=trace, metadata=about)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._value(below) for key, below in value.items()}
        return [self._value(below) for below in value] if isinstance(value, list) else value
