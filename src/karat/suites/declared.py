"""What a suite or karat.toml declares for all cases: the effects of tools, and word lists in place of the published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.model.check import Declared
from karat.suites.shapes.containers import Key, ListShape, MapShape, RecordShape, UnionShape
from karat.suites.shapes.known_keys import KnownKeys
from karat.suites.shapes.scalars import NOT_BLANK, ChoiceShape, TextShape
from karat.text.tool_names import ANY_EFFECT, OR, effect_tools
from karat.text.words import LISTS

LISTED = ("tool_calls_any", "tool_calls_none", "tool_order", "only_effects")
"""Fields that are lists of tools."""
BY_TOOL = ("max_calls", "tool_requires")
"""Fields whose keys are tools."""

_PHRASES = ListShape(TextShape(pattern=NOT_BLANK), 1)


def declared_keys(known: KnownKeys) -> dict[str, Key]:
    """The keys at the top of a suite."""
    more = RecordShape("MoreWords", "Words beside those of the published list.", {"add": Key(_PHRASES)}, known)
    names = ChoiceShape(tuple(one.name for one in LISTS.values() if one.replaceable))
    effects = "What tools change, and the words that claim it; `@effects`: any of them, `none`: what no tool can do."
    words = "Word lists in place of the published ones, or {add: [...]} to add to one: docs/words.md."
    return {
        "effects": Key(MapShape(TextShape(pattern=NOT_BLANK), _PHRASES, 1), effects),
        "words": Key(MapShape(names, UnionShape((_PHRASES, more)), 1), words),
    }


def declared_in(tree: Mapping[str, Any], project: Declared) -> Declared:
    """What holds for a suite: its own effects, or those of karat.toml; of each word list likewise."""
    effects, words = tree.get("effects"), tree.get("words")
    own = {name: _entries(name, given, project) for name, given in words.items()} if _is_sound(words) else {}
    return Declared(effects if _is_sound(effects) else project.effects, {**project.words, **own})


def _is_sound(given: object) -> bool:
    """Whether it can be used: what is wrong with it is reported by its shape."""
    return isinstance(given, dict) and all(isinstance(one, list | dict) for one in given.values())


def _entries(name: str, given: Any, project: Declared) -> list[str]:
    if isinstance(given, list):
        return given
    before = project.words.get(name) or (LISTS[name].entries if name in LISTS else ())
    return [*before, *given.get("add", ())]


def with_declared(expected: Mapping[str, Any], declared: Declared) -> dict[str, Any]:
    """What is expected, with what is declared beside it, and `@effects` as the tools that it stands for."""
    full = dict(expected)
    if declared.effects:
        full["effects"] = declared.effects
        full |= _named(full, OR.join(effect_tools(declared.effects)))
    return full | ({"words": declared.words} if declared.words else {})


def _named(expected: Mapping[str, Any], every: str) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for field in LISTED:
        if ANY_EFFECT in expected.get(field, ()):
            named[field] = [_name(tool, every) for tool in expected[field]]
    for field in BY_TOOL:
        if field in expected:
            named[field] = {_name(tool, every): _values(value, every) for tool, value in expected[field].items()}
    calls = expected.get("tool_calls", ())
    if any(call["tool"] == ANY_EFFECT for call in calls):
        named["tool_calls"] = [{**call, "tool": _name(call["tool"], every)} for call in calls]
    return named


def _values(value: Any, every: str) -> Any:
    return [_name(tool, every) for tool in value] if isinstance(value, list) else value


def _name(tool: str, every: str) -> str:
    return every if tool == ANY_EFFECT else tool
