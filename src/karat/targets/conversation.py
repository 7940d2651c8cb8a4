"""A conversation as a Python agent sees it: what was said, a place for its state, and a way to tell what it does."""

from __future__ import annotations

import msgspec

from karat.model.trace import Message
from karat.targets.short_form import ShortCall, event_lines, tool_call
from karat.telemetry.spans.marks import Marks
from karat.traces.recorder import Recorder


class Conversation:
    """One per run of a case: setup prompts and the prompt share it, and nothing else does."""

    __slots__ = ("_marks", "_recorder", "messages", "state")

    def __init__(self, recorder: Recorder, marks: Marks) -> None:
        self.messages: list[Message] = []
        """What was said before the current prompt."""
        self.state: dict[str, object] = {}
        self._recorder = recorder
        self._marks = marks

    @property
    def id(self) -> str:
        """A name that no other conversation ever has, for agents that keep threads."""
        return self._marks.conversation_id

    def tool_call(self, name: str, **rest: object) -> None:
        """Tell of a tool call as it happens; the keys are those of the short form. It survives a time-out."""
        self._recorder.tool_call(tool_call(msgspec.convert({"name": name, **rest}, ShortCall)))

    def event(self, event: str | dict[str, object]) -> None:
        """Tell of a telemetry event as it happens: an object, or a raw line."""
        for line in event_lines(event):
            self._recorder.event(line)
