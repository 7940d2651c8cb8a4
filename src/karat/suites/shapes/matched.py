"""Where a suite may write any value, or a matcher: `{$lte: 50}`."""

from __future__ import annotations

from msgspec import Struct

from karat.matchers.reading import DOLLAR_KEYS, find_problems
from karat.suites.diagnostics import PathDiagnostic
from karat.suites.shapes.shape import Found, Schema, check_size, wrong_type

NAME = "Matcher"
_REFERENCE: Schema = {"$ref": f"#/$defs/{NAME}"}
_ABOUT = "A plain value or a list must be equal, an object must have at least these members; or a matcher."


class MatcherShape(Struct, frozen=True):
    """A value or a matcher; with `members` it must be an object."""

    members: bool = False

    @property
    def words(self) -> str:
        return "an object" if self.members else "anything"

    @property
    def types(self) -> tuple[type, ...]:
        return (dict,) if self.members else (dict, list, str, int, float, bool, type(None))

    def validate(self, value: object) -> Found:
        if self.members and not isinstance(value, dict):
            return wrong_type(self.words, value)
        found = list(check_size(value, 1, None, "keys")) if self.members and isinstance(value, dict) else []
        return [
            *found,
            *(PathDiagnostic(flaw.path, flaw.message, flaw.slug, flaw.key) for flaw in find_problems(value)),
        ]

    def schema(self, known: dict[str, Schema]) -> Schema:
        known.setdefault(NAME, _matcher_schema())
        return {**_REFERENCE, "type": "object", "minProperties": 1} if self.members else dict(_REFERENCE)


def _matcher_schema() -> Schema:
    keys: Schema = {name: {**key.schema, "description": key.about} for name, key in DOLLAR_KEYS.items()}  # type: ignore[dict-item]
    matcher: Schema = {
        "type": "object",
        "description": "Matchers, all of which must match.",
        "properties": keys,
        "minProperties": 1,
        "additionalProperties": False,
    }
    members: Schema = {
        "type": "object",
        "description": "An object that has at least these members.",
        "additionalProperties": dict(_REFERENCE),
        "propertyNames": {"pattern": "^[^$]|^$"},
    }
    plain: Schema = {"type": ["string", "number", "boolean", "null"]}
    several: Schema = {"type": "array", "items": dict(_REFERENCE)}
    return {"title": NAME, "description": _ABOUT, "anyOf": [matcher, members, several, plain]}
