"""What an export says about a conversation: whose it is, by which model and version, when, and how it is tagged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from carob.evidence.spans.otlp import SpanRecord
from carob.providers.messages import decode_value

ABOUT: Mapping[str, tuple[str, ...]] = {
    "user": (
        *("user.id", "enduser.id", "langfuse.user.id", "mlflow.trace.user", "user_id", "userId", "user"),
        *("traceloop.association.properties.user_id", "ai.telemetry.metadata.userId"),
    ),
    "model": ("model", "model_name"),
    "version": (
        *("langfuse.version", "langfuse.release", "version", "release", "app_version", "service.version"),
        *("traceloop.association.properties.version", "ai.telemetry.metadata.version"),
    ),
    "tags": ("tag.tags", "langfuse.trace.tags", "tags"),
}
"""Where the platforms have each; the first that is there counts."""
METADATA_PREFIXES = (
    *("langfuse.trace.metadata.", "langfuse.observation.metadata.", "traceloop.association.properties."),
    *("ai.telemetry.metadata.", "langsmith.metadata."),
)
SERVICE_KEYS = ("service.name", "deployment.environment", "deployment.environment.name", "langfuse.environment")
METADATA_CAP = 200
TIMES = ("started_at", "created_at", "timestamp", "created", "start_time", "date")
MILLISECONDS, LARGEST = 1e11, 1e21
"""Beyond the first a number of seconds is one of a smaller unit: it would be the year 5138. Beyond the other, none."""


def find_text(values: Mapping[str, object], keys: Iterable[str]) -> str:
    """The first of these values that is a text or a number."""
    for key in keys:
        if key not in values:
            continue
        value = values[key]
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def find_time(values: Mapping[str, object]) -> float | None:
    """When it was, in seconds since 1970."""
    for key in TIMES:
        if key in values and (time := read_time(values[key])) is not None:
            return time
    return None


def list_tags(values: Mapping[str, object]) -> tuple[str, ...]:
    """The tags, which are a list or a list as JSON."""
    for key in ABOUT["tags"]:
        if key in values and isinstance(tags := decode_value(values[key]), list):
            return tuple(tag for tag in tags if isinstance(tag, str))
    return ()


def read_time(value: object) -> float | None:
    """A time as seconds since 1970: a number of seconds or of a smaller unit, or a text of ISO 8601."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, str):
        try:
            return read_time(datetime.fromisoformat(value.strip()))
        except ValueError:
            return read_time(float(value)) if value.replace(".", "", 1).isdecimal() else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < LARGEST:
        return None
    seconds = float(value)
    while seconds > MILLISECONDS:
        seconds /= 1000
    return seconds


class AboutConversation(NamedTuple):
    """Whose a conversation is, and what else is known about it."""

    user: str
    version: str
    tags: tuple[str, ...]
    metadata: dict[str, object]


def describe_spans(records: Sequence[SpanRecord], notes: Sequence[Mapping[str, object]]) -> AboutConversation:
    """What the spans of a conversation, and the notes on its traces, say about it; the first that says it counts."""
    tables = [*notes, *(record.attributes for record in records), *(record.resource for record in records)]
    metadata: dict[str, object] = {}
    for values in tables:
        for name, value in _metadata(values):
            if len(metadata) < METADATA_CAP:
                metadata.setdefault(name, value)
    return AboutConversation(
        user=next(filter(None, (find_text(values, ABOUT["user"]) for values in tables)), ""),
        version=next(filter(None, (find_text(values, ABOUT["version"]) for values in tables)), ""),
        tags=next(filter(None, map(list_tags, tables)), ()),
        metadata=metadata,
    )


def _metadata(values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The metadata of a span: an object, or attributes with a prefix."""
    if isinstance(whole := decode_value(values.get("metadata")), Mapping):
        yield from ((str(name), value) for name, value in whole.items())
    for key, value in values.items():
        if key.startswith(METADATA_PREFIXES):
            prefix = next(prefix for prefix in METADATA_PREFIXES if key.startswith(prefix))
            yield key.removeprefix(prefix), value
        elif key in SERVICE_KEYS:
            yield key, value
