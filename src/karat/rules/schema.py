"""The JSON Schema of a rule, for editors: what reading a rule checks, as far as a schema can say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karat.rules.reading import FLAGS, FORBIDS, KINDS, MODES, ON_UNKNOWN, PARTS

_TEXT: Final = {"type": "string", "minLength": 1}
_NAMES: Final = {"anyOf": [_TEXT, {"type": "array", "minItems": 1, "items": _TEXT}]}
_MATCHER: Final = {"$ref": "#/$defs/RuleValue"}
_PATTERN: Final = {"$ref": "#/$defs/RulePattern"}
_WHERE: Final = {
    "description": "A condition in CEL, or matchers by path.",
    "anyOf": [_TEXT, {"type": "object", "minProperties": 1, "additionalProperties": _MATCHER}],
}
_KIND_WORDS: Final = {
    "call": "A call of one of these tools.",
    "user": "What the user says: phrases, or matchers.",
    "says": "What the agent says: phrases, or matchers.",
    "asks_approval": "The agent asks a person to approve a call of one of these tools.",
    "approved": "A person approved a call of one of these tools.",
    "denied": "A person or a guard denied a call of one of these tools.",
    "handoff": "The conversation is handed to one of these agents.",
}
_TAGS: Final = {"type": "object", "properties": {"tags": _NAMES}, "additionalProperties": False}


def _object(title: str, about: str, properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "title": title,
        "description": about,
        "type": "object",
        "properties": dict(properties),
        "patternProperties": {"^x-": {}},
        "additionalProperties": False,
        **more,
    }


_NEED: Final = _object(
    "RuleNeed",
    "What must be there: before the event, the latest one before it, what the user said last, or after it.",
    {
        "before": {"description": "Some earlier event.", **_PATTERN},
        "last": {"description": "The latest earlier event, which replaces what others said.", **_PATTERN},
        "last_user": {"description": "The user said one of these last; `@yes` is a published list.", **_NAMES},
        "after": {"description": "A later event, by the end of the conversation.", **_PATTERN},
        "as": {"description": "What conditions call the event.", **_TEXT},
        "where": _WHERE,
        "once": {"description": "Each event or consent counts for one.", "type": "boolean"},
    },
)
RULE_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "RuleValue": {
        "title": "RuleValue",
        "description": "A value, a matcher, `$as` to bind a name, or `$same` to compare with one.",
    },
    "RulePattern": _object(
        "RulePattern",
        "Which events are meant: one kind, with what its parts must be.",
        {
            **{
                kind: {
                    "description": about,
                    "anyOf": [*_NAMES["anyOf"], *([{"type": "object"}] if kind in ("user", "says") else [])],
                }
                for kind, about in _KIND_WORDS.items()
            },
            **{part: {"description": f"What the {part} must be.", **_MATCHER} for part in PARTS},
            **{flag: {"type": "boolean"} for flag in FLAGS},
            "success": {"description": "Whether the call succeeded.", "type": "boolean"},
            "except": {"description": "Tools that are left out.", **_NAMES},
        },
        oneOf=[{"required": [kind]} for kind in KINDS],
    ),
    "RuleNeed": _NEED,
    "Rule": _object(
        "Rule",
        "What holds wherever something in a conversation triggers it.",
        {
            "id": {"description": "A name that is unique in the contract.", **_TEXT},
            "why": {"description": "The reason, for people and for the agent where a guard blocks.", "type": "string"},
            "each": {"description": "The events that the rule is judged at.", **_PATTERN},
            "needs": {"anyOf": [{"$ref": "#/$defs/RuleNeed"}, {"type": "array", "minItems": 1,
                                                              "items": {"$ref": "#/$defs/RuleNeed"}}]},
            "forbids": _object("RuleBan", "What must not come before or after it.",
                               {**dict.fromkeys(FORBIDS, _PATTERN), "where": _WHERE}),
            "where": _WHERE,
            "at_most": {"description": "How often, or with `total` how much, for each binding.", "type": "number",
                        "minimum": 0},
            "total": {"description": "The value that is added up, such as `each.arguments.amount`.", **_TEXT},
            "same": {"description": "The value that is the same at every event.", **_TEXT},
            "values_from": {"description": "Where values may come from: `user`, or results of these tools.",
                            "type": "object", "minProperties": 1, "additionalProperties": _NAMES},
            "within_text": {"description": "A value inside a longer text counts too.", "type": "boolean"},
            "when": {"description": "The conversations that the rule is for.", "type": "object", "minProperties": 1,
                     "properties": {"tags": _NAMES, "metadata": {"type": "object"}}, "additionalProperties": False},
            "except": {"description": "The cases that the rule is not for.", **_TAGS},
            "once": {"description": "Each event or consent counts for one.", "type": "boolean"},
            "mode": {"description": "What a guard does with a call that would break it.", "enum": [*MODES]},
            "on_unknown": {"description": "What a guard does where it is not known.", "enum": [*ON_UNKNOWN]},
            "metadata": {},
        },
        required=["id", "each"],
    ),
}  # fmt: skip
"""Definitions for a schema of suites, by name."""
