"""What an answer of an unknown service seems to mean: guesses, for people to look at, never for a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from karat.suites.diagnostics import Json

ANSWERS = (
    "answer",
    "reply",
    "response",
    "output",
    "content",
    "text",
    "message",
    "final_message",
    "result",
    "completion",
)
CALL_KEYS = {
    "name": ("tool", "name", "tool_name", "toolName"),
    "arguments": ("arguments", "args", "input", "parameters"),
    "result": ("result", "output"),
    "error": ("error",),
    "id": ("id", "call_id", "tool_call_id"),
}
CONVERSATIONS = ("session_id", "sessionid", "conversation_id", "conversationid", "thread_id", "threadid", "chat_id")
PIECES = ("text", "delta", "content", "token", "answer", "message")
DEEPEST = 5


def answer_path(value: Json) -> str:
    """Where the words of an answer most likely stand; empty if nowhere."""
    found = [(_rank(keys), path) for path, keys, text in _texts(value) if text.strip()]
    ranked = sorted((rank, len(path), path) for rank, path in found if rank is not None)
    return ranked[0][2] if ranked else ""


def _rank(keys: tuple[str, ...]) -> int | None:
    last = keys[-1].casefold() if keys else ""
    return ANSWERS.index(last) if last in ANSWERS else None


def _texts(value: Json, path: str = "$", keys: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...], str]]:
    if isinstance(value, str):
        yield path, keys, value
    elif isinstance(value, dict) and len(keys) < DEEPEST:
        for key, item in list(value.items())[:100]:
            step = f".{key}" if key.isidentifier() else f"[{key!r}]"
            yield from _texts(item, path + step, (*keys, key))
    elif isinstance(value, list) and value:
        yield from _texts(value[-1], f"{path}[-1]", keys)


def tool_call_paths(value: Json) -> dict[str, str]:
    """Where tool calls most likely stand, and what each says; empty if nowhere."""
    for path, items in _lists(value):
        item = items[0]
        if not isinstance(item, dict):
            continue
        found = {what: next((key for key in keys if key in item), "") for what, keys in CALL_KEYS.items()}
        if found["name"] and isinstance(item[found["name"]], str) and (found["arguments"] or found["result"]):
            return {"at": f"{path}[*]"} | {what: f"$.{key}" for what, key in found.items() if key}
    return {}


def conversation_path(value: Json) -> str:
    """Where the service names the conversation; empty if nowhere."""
    return next((path for path, keys, _ in _texts(value) if keys and keys[-1].lower() in CONVERSATIONS), "")


def stream_paths(events: Sequence[Json], last: str) -> dict[str, str]:
    """What the events of a stream say: the path that most of them have words at, and what ends it."""
    counts: dict[str, int] = {}
    for event in events:
        for path, keys, _ in _texts(event):
            if keys and keys[-1].lower() in PIECES:
                counts[path] = counts.get(path, 0) + 1
    text = max(counts, key=lambda path: counts[path]) if counts else ""
    return {"text": text} | ({"done": last} if last else {}) if text else {}


def _lists(value: Json, path: str = "$", depth: int = 0) -> Iterator[tuple[str, list[Json]]]:
    if isinstance(value, list) and value:
        yield path, value
    elif isinstance(value, dict) and depth < DEEPEST:
        for key, item in list(value.items())[:100]:
            yield from _lists(item, f"{path}.{key}" if key.isidentifier() else f"{path}[{key!r}]", depth + 1)
