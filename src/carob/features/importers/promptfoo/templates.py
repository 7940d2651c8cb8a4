"""Templates of prompts and values: `{{ name }}` is replaced at once, all else by a sandbox that runs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment, Template

LONGEST = 1 << 20
_PLAIN = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_MARKS = ("{{", "{%", "{#")


class BadTemplateError(Exception):
    """A template that cannot be filled in, and why."""


def is_template(text: str) -> bool:
    """Whether a text holds something to fill in."""
    return "{" in text and any(mark in text for mark in _MARKS)


def render(text: str, values: Mapping[str, Any]) -> str:
    """The text with its variables filled in; one that is not set is empty, as its tool has it."""
    if not is_template(text):
        return text
    if _has_only_names(text):
        return _PLAIN.sub(lambda variable: _as_text(values.get(variable[1])), text)
    if len(text) > LONGEST:
        raise BadTemplateError("the template is too long")
    # Late: few templates need more than names.
    from jinja2 import TemplateError

    try:
        filled = _template(text).render(values)
    except (TemplateError, ValueError, TypeError, OverflowError, RecursionError, ArithmeticError, LookupError) as error:
        raise BadTemplateError(f"the template cannot be filled in: {str(error)[:200]}") from None
    if len(filled) > LONGEST:
        raise BadTemplateError("the filled-in template is too long")
    return filled


def render_prompt(text: str, values: Mapping[str, Any]) -> str:
    """The same for a prompt: within JSON each text is filled in by itself, so that it stays JSON."""
    if text.lstrip()[:1] not in ("[", "{", '"'):
        return render(text, values)
    try:
        tree = json.loads(text, parse_float=_as_number)
    except (ValueError, RecursionError):
        return render(text, values)
    return json.dumps(render_tree(tree, values), indent=2, ensure_ascii=False)


def without_break(value: Any) -> Any:
    """A variable as it is filled in: a text without the line break that it ends in, such as that of a YAML block."""
    return value.removesuffix("\n") if isinstance(value, str) else value


def render_variable(value: Any, values: Mapping[str, Any]) -> Any:
    """A variable that may be a template of others; a text with one that is not set stays as it is."""
    if isinstance(value, str) and any(name not in values for name in _PLAIN.findall(value)):
        return value
    return render_tree(value, values)


def render_tree(value: Any, values: Mapping[str, Any]) -> Any:
    """The same for every text of a value."""
    if isinstance(value, str):
        return render(value, values)
    if isinstance(value, list):
        return [render_tree(below, values) for below in value]
    if isinstance(value, dict):
        return {key: render_tree(below, values) for key, below in value.items()}
    return value


def _as_text(value: Any) -> str:
    """A value within a text as JavaScript spells it there."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    if isinstance(value, list):
        return ",".join(map(_as_text, value))
    return "[object Object]" if isinstance(value, dict) else json.dumps(value)


def _as_number(digits: str) -> float:
    number = float(digits)
    return int(number) if number.is_integer() else number


def as_json(value: Any, indent: int | None = None) -> str:
    """A value as JavaScript writes it."""
    separators = (",", ": " if indent else ":")
    return json.dumps(value, indent=indent and min(indent, 10), separators=separators, ensure_ascii=False)


@lru_cache(maxsize=1024)
def _has_only_names(text: str) -> bool:
    other_text = _PLAIN.sub("", text)
    return not any(mark in other_text for mark in _MARKS)


@lru_cache(maxsize=1024)
def _template(text: str) -> Template:
    return _environment().from_string(text)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Undefined
    from jinja2.exceptions import SecurityError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """No products and powers, which make much out of little, and no calls."""

        intercepted_binops = frozenset({"*", "**", "%"})

        def call_binop(self, context: Any, operator: str, first: Any, second: Any) -> Any:
            raise SecurityError(f"{operator} is not allowed")

        def call(self, *args: Any, **more: Any) -> Any:
            raise SecurityError("calls are not allowed")

    def finalize(value: object) -> str:
        return value if isinstance(value, str) else "" if isinstance(value, Undefined) else _as_text(value)

    sandbox = Sandbox(finalize=finalize, keep_trailing_newline=True)
    sandbox.globals.clear()
    sandbox.filters |= {"dump": as_json, "json": as_json, "string": _as_text}
    for name in ("center", "indent", "wordwrap", "format", "pprint", "batch", "slice"):
        sandbox.filters.pop(name, None)
    return sandbox
