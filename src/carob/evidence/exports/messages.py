"""Files of messages: one conversation per line, as the APIs of OpenAI and Anthropic have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from carob.evidence.conversations import trace_from_messages
from carob.evidence.exports.base import ExportFormat, ExportRow, KeySign, Table
from carob.evidence.exports.facts import ABOUT, find_text, find_time, list_tags
from carob.evidence.exports.record import RecordedConversation
from carob.providers.base import table
from carob.providers.messages import decode_value

ID_KEYS = ("id", "conversation_id", "session_id", "thread_id")


def _blocks(row: Table) -> Iterator[Mapping[str, Any]]:
    """The parts of contents that are lists."""
    messages = row.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        yield from (part for part in (content if isinstance(content, list) else ()) if isinstance(part, Mapping))


def _is_list_of_messages(row: Table) -> bool:
    messages = row["messages"]
    is_list = isinstance(messages, list) or (isinstance(messages, str) and messages.lstrip()[:1] == "[")
    return is_list and "request_properties" not in row and "info" not in row


def _is_anthropic(row: Table) -> bool:
    return _is_list_of_messages(row) and any(part.get("type") in ("tool_use", "tool_result") for part in _blocks(row))


def _is_chat(row: Table) -> bool:
    return _is_list_of_messages(row) and not _is_anthropic(row)


def _reader(name: str) -> Any:
    def read(row: ExportRow) -> RecordedConversation:
        value = row.value
        messages = decode_value(value["messages"])
        if not isinstance(messages, list):
            raise ValueError("`messages` is not a list")
        metadata = table(decode_value(value.get("metadata")))
        about = {**metadata, **value}
        system = value.get("system")
        if isinstance(system, str | list) and system:
            messages = [{"role": "system", "content": system}, *messages]
        trace_id = find_text(about, ID_KEYS) or row.place
        return RecordedConversation(
            id=trace_id,
            trace=trace_from_messages(messages, case_id=trace_id),
            format=name,
            source=row.place,
            started_at=find_time(about),
            user=find_text(about, ABOUT["user"]),
            model=find_text(about, ABOUT["model"]),
            version=find_text(about, ABOUT["version"]),
            tags=list_tags(about),
            metadata=metadata,
        )

    return read


OPENAI_CHAT = ExportFormat(
    name="openai-chat", signs=(KeySign(("messages",), _is_chat),), read_conversation=_reader("openai-chat")
)
ANTHROPIC = ExportFormat(
    name="anthropic", signs=(KeySign(("messages",), _is_anthropic),), read_conversation=_reader("anthropic")
)
