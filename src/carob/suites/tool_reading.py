"""`success`, `tool_names` and `plain_text` of a file of rules: how calls are read where no target says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from carob.suites.diagnostics import Json, PathDiagnostic
from carob.suites.shapes.containers import Key, KnownKeys, ListShape, MapShape, RecordShape
from carob.suites.shapes.scalars import NOT_BLANK, AnyShape, ChoiceShape, Found, Schema, TextShape
from carob.text.tool_reading import SuccessRule

READING_KEYS = ("success", "tool_names", "plain_text")
WITH_CASES = (
    "a file with 'cases' is about an agent that is run: its table in carob.toml says this. Move it there, or move the "
    "rules into a file of their own."
)
_TEXT = TextShape(pattern=NOT_BLANK)


@dataclass(frozen=True)
class SuccessShape:
    """When a call of one tool succeeded."""

    record: RecordShape
    words: ClassVar = "an object"
    types: ClassVar = (dict,)

    def validate(self, value: object) -> Found:
        if problems := self.record.validate(value):
            return problems
        flaw = msgspec.convert(value, SuccessRule).flaw()
        return [PathDiagnostic((), flaw, "invalid-value")] if flaw else ()

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return self.record.schema(defs)


def reading_keys(known_keys: KnownKeys) -> dict[str, Key]:
    """The keys at the top of a file of rules."""
    rule = {
        "field": Key(_TEXT, "Where in the result it says so: `booking.state`."),
        "is": Key(ListShape(AnyShape(), 1), "The values of the field that are a success."),
        "text": Key(_TEXT, "A regex that is found in the result of a call that succeeded."),
    }
    record = RecordShape("Success", "When a call succeeded: `field` with `is`, or `text`.", rule, known_keys)
    return {
        "success": Key(MapShape(_TEXT, SuccessShape(record), 1), "When a call of a tool succeeded, by its name."),
        "tool_names": Key(MapShape(_TEXT, _TEXT, 1), "What the rules call a tool, by the name that was recorded."),
        "plain_text": Key(ChoiceShape(("success",)), "Results of plain text, which may be an error, are a success."),
    }


def read_tool_reading(tree: Mapping[str, Any]) -> tuple[dict[str, Json], list[PathDiagnostic]]:
    """What a file says of calls, and what is wrong with it."""
    keys = reading_keys(KnownKeys())
    given = {key: tree[key] for key in READING_KEYS if key in tree}
    problems = [problem.under(key) for key, value in given.items() for problem in keys[key].shape.validate(value)]
    return ({} if problems else given), problems


def find_reading_problems(tree: Mapping[str, Any]) -> Iterator[PathDiagnostic]:
    """Keys that say nothing where they are: a file of cases has a target."""
    if "cases" in tree:
        for key in READING_KEYS:
            if key in tree:
                yield PathDiagnostic((key,), WITH_CASES, "no-effect", key=True)
