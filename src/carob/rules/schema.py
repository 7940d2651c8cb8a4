"""The JSON Schema of a rule, for editors: what reading a rule checks, as far as a schema can say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from carob.rules.reading import FORBIDS, KINDS, MODES, ON_UNKNOWN, PARTS

_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"type": "array", "minItems": 1, "items": _TEXT}
_NAMES: Final = {"anyOf": [_TEXT, _TEXTS]}
_PATTERN: Final = {"$ref": "#/$defs/RulePattern"}
_NEED: Final = {"$ref": "#/$defs/RuleNeed"}
_VALUE: Final = {"$ref": "#/$defs/RuleValue"}
_WHERE: Final = {
    "description": "A condition in CEL, or matchers by path.",
    "anyOf": [_TEXT, {"type": "object", "minProperties": 1, "additionalProperties": _VALUE}],
}
_ONCE: Final = {"description": "Each event or consent counts for one.", "type": "boolean"}
_TAG_NAMES: Final = {"description": "One of these tags.", **_NAMES}
_KINDS: Final = {
    "call": "A call of one of these tools.",
    "user": "What the user says: phrases, or matchers.",
    "says": "What the agent says: phrases, or matchers.",
    "asks_approval": "The agent asks a person to approve a call of one of these tools.",
    "approved": "A person approved a call of one of these tools.",
    "denied": "A person or a guard denied a call of one of these tools.",
    "handoff": "The conversation is handed to one of these agents.",
}
_FLAGS: Final = {
    "parallel": "Whether the same message requested other calls.",
    "beside_words": "Whether the message that requested it says something too.",
}


def _build_kind(kind: str) -> dict[str, Any]:
    names: list[Any] = [_TEXT, _TEXTS, *([{"type": "object"}] if kind in ("user", "says") else [])]
    return {"description": _KINDS[kind], "anyOf": names}


def _build_object(title: str, about: str, properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "title": title,
        "description": about,
        "type": "object",
        "properties": dict(properties),
        "patternProperties": {"^x-": {}},
        "additionalProperties": False,
        **more,
    }


_RULE: Final[Mapping[str, Any]] = {
    "id": {"description": "A name that is unique in the contract.", **_TEXT},
    "why": {"description": "The reason, for people and for the agent where a guard blocks.", "type": "string"},
    "each": {"description": "The events that the rule is judged at.", **_PATTERN},
    "needs": {
        "description": "What must be there.",
        "anyOf": [_NEED, {"type": "array", "minItems": 1, "items": _NEED}],
    },
    "forbids": {"description": "What must not come before or after it.", "$ref": "#/$defs/RuleBan"},
    "where": _WHERE,
    "at_most": {
        "description": "How often, or with `total` how much, for each binding.",
        "type": "number",
        "minimum": 0,
    },
    "total": {"description": "The value that is added up, such as `each.arguments.amount`.", **_TEXT},
    "same": {"description": "The value that is the same at every event.", **_TEXT},
    "values_from": {
        "description": "Where values may come from: `user`, or results of these tools.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": _NAMES,
    },
    "within_text": {"description": "A value inside a longer text counts too.", "type": "boolean"},
    "when": {
        "description": "The conversations that the rule is for.",
        "type": "object",
        "minProperties": 1,
        "properties": {"tags": _TAG_NAMES, "metadata": {"description": "Values or matchers.", "type": "object"}},
        "additionalProperties": False,
    },
    "except": {
        "description": "The cases that the rule is not for.",
        "type": "object",
        "properties": {"tags": _TAG_NAMES},
        "additionalProperties": False,
    },
    "once": _ONCE,
    "mode": {"description": "What a guard does with a call that would break it.", "enum": [*MODES]},
    "on_unknown": {"description": "What a guard does where it is not known.", "enum": [*ON_UNKNOWN]},
    "metadata": {"description": "Kept, never judged."},
}
RULE_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "RuleValue": {
        "title": "RuleValue",
        "description": "A value, a matcher, `$as` to bind a name, or `$same` to compare with one.",
    },
    "RulePattern": _build_object(
        "RulePattern",
        "Which events are meant: one kind, with what its parts must be.",
        {
            **{kind: _build_kind(kind) for kind in KINDS},
            **{part: {"description": f"What the {part} must be.", **_VALUE} for part in PARTS},
            **{flag: {"description": about, "type": "boolean"} for flag, about in _FLAGS.items()},
            "success": {"description": "Whether the call succeeded.", "type": "boolean"},
            "except": {"description": "Tools that are left out.", **_NAMES},
        },
        oneOf=[{"required": [kind]} for kind in KINDS],
    ),
    "RuleNeed": _build_object(
        "RuleNeed",
        "What must be there: before the event, the latest one before it, what the user said last, or after it.",
        {
            "before": {"description": "Some earlier event.", **_PATTERN},
            "last": {"description": "The latest earlier event, which replaces what others said.", **_PATTERN},
            "last_user": {"description": "The user said one of these last; `@yes` is a published list.", **_NAMES},
            "after": {"description": "A later event, by the end of the conversation.", **_PATTERN},
            "as": {"description": "What conditions call the event.", **_TEXT},
            "where": _WHERE,
            "once": _ONCE,
        },
    ),
    "RuleBan": _build_object(
        "RuleBan",
        "What must not come before or after the event.",
        {**{key: {"description": f"An event {key} it.", **_PATTERN} for key in FORBIDS}, "where": _WHERE},
    ),
    "Rule": _build_object(
        "Rule", "What holds wherever something in a conversation triggers it.", _RULE, required=["id", "each"]
    ),
}
"""Definitions for a schema of suites, by name."""
