"""What an answer of an unknown service seems to mean: guesses, for people to look at, never for a run."""

from __future__ import annotations

from collections.abc import Iterator

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
CONVERSATIONS = ("session_id", "sessionid", "conversation_id", "conversationid", "thread_id", "threadid", "chat_id")
DEEPEST = 5


def answer_path(value: Json) -> str:
    """Where the words of an answer most likely stand; empty if nowhere."""
    candidates = [(_rank(keys), path) for path, keys, text in _texts(value) if text.strip()]
    ranked = sorted((rank, len(path), path) for rank, path in candidates if rank is not None)
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


def conversation_path(value: Json) -> str:
    """Where the service names the conversation; empty if nowhere."""
    return next((path for path, keys, _ in _texts(value) if keys and keys[-1].lower() in CONVERSATIONS), "")
