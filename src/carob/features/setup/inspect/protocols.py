"""Which protocol an answer was given in, by the kinds of its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from carob.features.setup.inspect.events import read_json
from carob.features.setup.inspect.openapi import PROMPT
from carob.providers.sse import ServerEvent
from carob.targets.http.data_stream import CODES, FINISH, STEP_ENDS

CHATKIT_BODY: dict[str, object] = {
    "type": "threads.create",
    "params": {
        "input": {"content": [{"type": "input_text", "text": PROMPT}], "attachments": [], "inference_options": {}}
    },
    "metadata": {},
}


class Protocol(NamedTuple):
    """A kind of target that speaks it, with its options."""

    kind: str
    title: str
    marks: frozenset[str]
    """Kinds of events of which an answer has at least two."""
    options: Mapping[str, object] = {}


PROTOCOLS = (
    Protocol(
        "chatkit", "ChatKit", frozenset({"thread.created", "thread.item.added", "thread.item.done", "stream_options"})
    ),
    Protocol(
        "ag-ui", "AG-UI", frozenset({"RUN_STARTED", "RUN_FINISHED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"})
    ),
    Protocol(
        "ai-sdk", "UI messages of the AI SDK", frozenset({"start", "start-step", "text-start", "text-delta", "finish"})
    ),
)
DATA_STREAM = Protocol("ai-sdk", "the data stream of the AI SDK before version 5", CODES, {"stream": "data"})


def hear(events: Sequence[ServerEvent]) -> Protocol | None:
    """The protocol that a stream of events is of, if Carob has a target for it."""
    names = {event.name for event in events}
    if len(events) > 1 and names <= CODES and names & {FINISH, STEP_ENDS}:
        return DATA_STREAM
    values = [read_json(event.data) for event in events]
    kinds = {str(value.get("type")) for value in values if isinstance(value, dict)}
    return next((each for each in PROTOCOLS if len(kinds & each.marks) > 1), None)
