"""What a service says of itself in `/openapi.json`: which requests with a prompt it takes at a path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from carob.suites.diagnostics import Json

PROMPT, MESSAGES, CONVERSATION = "{prompt}", "{messages}", "{conversation.id}"
PROMPTS = ("message", "prompt", "input", "question", "query", "text", "content", "user_input", "utterance", "msg", "q")
CONVERSATIONS = ("session", "conversation", "thread", "chat")
JSON, MULTIPART, FORM = "application/json", "multipart/form-data", "application/x-www-form-urlencoded"
DEEPEST = 8
MOST = 50


def requests_at(document: Json, path: str) -> Iterator[dict[str, object]]:
    """The options by which a prompt can be sent to a path, the likeliest first."""
    operation = _get(document, "paths", path, "post")
    content = _get(operation, "requestBody", "content")
    for kind in (JSON, FORM, MULTIPART):
        schema = _resolve(_get(content, kind, "schema"), document)
        filled = _fill(schema, document)
        if not isinstance(filled, dict) or not _holds_prompt(filled):
            continue
        request: dict[str, object] = {"body" if kind == JSON else "form": filled}
        yield request | ({"headers": {"Content-Type": MULTIPART}} if kind == MULTIPART else {})


def paths_of(document: Json) -> tuple[str, ...]:
    """The paths that take a POST."""
    paths = _get(document, "paths")
    return (
        tuple(path for path, item in list(paths.items())[:MOST] if isinstance(item, dict) and "post" in item)
        if isinstance(paths, dict)
        else ()
    )


def _fill(schema: Json, document: Json, name: str = "", depth: int = 0) -> object:
    """A value that a schema takes: the prompt where it belongs, and no more than what is required besides it."""
    schema = _resolve(schema, document)
    if not isinstance(schema, dict) or depth > DEEPEST:
        return None
    for keyword in ("const", "default", "example"):
        if schema.get(keyword) is not None and name not in PROMPTS:
            return schema[keyword]
    options = schema.get("enum")
    if isinstance(options, list) and options:
        return options[0]
    match schema.get("type"):
        case "string":
            return PROMPT if name in PROMPTS else CONVERSATION if _names_conversation(name) else ""
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "array":
            return MESSAGES if name == "messages" else []
        case "object" | None:
            return _fill_object(schema, document, depth)
    return None


def _fill_object(schema: Mapping[str, Json], document: Json, depth: int) -> dict[str, object]:
    properties, required = schema.get("properties"), schema.get("required")
    fields = list(properties.items())[:MOST] if isinstance(properties, dict) else []
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    filled: dict[str, object] = {}
    for name, inner in fields:
        value = _fill(inner, document, name, depth + 1)
        if value is not None and (name in needed or value in (PROMPT, MESSAGES, CONVERSATION)):
            filled[name] = value
    if not _holds_prompt(filled):
        texts = [
            name for name, inner in fields if name in needed and _get(_resolve(inner, document), "type") == "string"
        ]
        filled |= {texts[0]: PROMPT} if len(texts) == 1 else {}
    elif PROMPT in filled.values() and MESSAGES in filled.values():
        filled = {name: value for name, value in filled.items() if value != MESSAGES or name in needed}
    return filled


def _names_conversation(name: str) -> bool:
    return any(word in name.lower() for word in CONVERSATIONS)


def _holds_prompt(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_prompt, value.values()))
    return value in (PROMPT, MESSAGES)


def _resolve(schema: Json, document: Json) -> Json:
    """A schema itself: what a reference leads to, or the first choice that is not null."""
    for _ in range(DEEPEST):
        if not isinstance(schema, dict):
            return schema
        reference, choices = schema.get("$ref"), schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if isinstance(reference, str) and reference.startswith("#/"):
            schema = _get(document, *reference[2:].split("/"))
        elif isinstance(choices, list) and choices:
            real = [choice for choice in choices if _get(choice, "type") != "null"]
            schema = real[0] if real else None
        else:
            return schema
    return None


def _get(value: Json, *keys: str) -> Json:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
