"""What carob.toml says that evaluators of other tools ask for, in the fields of `expected`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Evaluators = Mapping[str, Mapping[str, Any]]
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A table of carob.toml with the values of `{{name}}`: as they are where the text is nothing else."""
    if isinstance(template, dict):
        return {key: fill(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, values) for value in template]
    if not isinstance(template, str):
        return template
    placeholder = _PLACEHOLDER.fullmatch(template)
    if placeholder and placeholder[1] in values:
        return values[placeholder[1]]
    return _PLACEHOLDER.sub(lambda braces: str(values.get(braces[1], braces[0])), template)


def add_fields(fields: dict[str, Any], more: Mapping[str, Any]) -> bool:
    """Ask for more; lists grow. False if both ask for the same field in ways that cannot be joined."""
    for key, value in more.items():
        there = fields.get(key)
        if there is None or there == value:
            fields[key] = value
        elif isinstance(there, list) and isinstance(value, list):
            fields[key] = [*there, *(entry for entry in value if entry not in there)]
        elif isinstance(there, dict) and isinstance(value, dict) and there.keys().isdisjoint(value):
            fields[key] = {**there, **value}
        else:
            return False
    return True
