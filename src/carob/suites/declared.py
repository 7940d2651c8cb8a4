"""What a suite or carob.toml declares for all cases: the effects of tools, and word lists in place of the published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carob.model.check import Declared
from carob.suites.shapes.containers import Key, KnownKeys, ListShape, MapShape, RecordShape, UnionShape
from carob.suites.shapes.scalars import NOT_BLANK, ChoiceShape, TextShape
from carob.text.words import published_lists

_PHRASES = ListShape(TextShape(pattern=NOT_BLANK), 1)


def declared_keys(known_keys: KnownKeys) -> dict[str, Key]:
    """The keys at the top of a suite."""
    more = RecordShape(
        "MoreWords", "Words in addition to the published list.", {"add": Key(_PHRASES, "The words to add.")}, known_keys
    )
    names = ChoiceShape(tuple(word_list.name for word_list in published_lists().values() if word_list.replaceable))
    effects = (
        "Tools that change something, with words that claim it, if any do; `@effects`: any of them, `none`: what no "
        "tool can do."
    )
    words = "Word lists in place of the published ones, or {add: [...]} to add to one: `carob help words`."
    groups = "Groups of tools: `@name` means these wherever tools are named."
    claims = "What a coding agent may claim to have done: its words, and the command that must then have succeeded."
    claim = RecordShape(
        "Claim",
        "A claim, and the command that bears it out.",
        {
            "words": Key(_PHRASES, "Words that make the claim.", required=True),
            "run": Key(
                TextShape(pattern=NOT_BLANK), "A regex that finds the command, by its line or its words.", required=True
            ),
        },
        known_keys,
    )
    return {
        "claims": Key(MapShape(TextShape(pattern=r"^\w[\w-]*$"), claim, 1), claims),
        "tools": Key(MapShape(TextShape(pattern=r"^\w[\w-]*$"), _PHRASES, 1), groups),
        "effects": Key(MapShape(TextShape(pattern=NOT_BLANK), ListShape(TextShape(pattern=NOT_BLANK)), 1), effects),
        "words": Key(MapShape(names, UnionShape((_PHRASES, more)), 1), words),
    }


def read_declared(tree: Mapping[str, Any], project: Declared) -> Declared:
    """What holds for a suite: its own effects, or those of carob.toml; of each word list likewise."""
    keys = declared_keys(KnownKeys())
    # What is wrong with a key is reported with the rest of the file, and nothing of it is used.
    sound = {name: tree[name] for name, key in keys.items() if tree.get(name) and not key.shape.validate(tree[name])}
    words = {name: _entries(name, entries, project) for name, entries in sound.get("words", {}).items()}
    return Declared(
        sound.get("effects") or project.effects,
        {**project.words, **words},
        project.evaluators,
        sound.get("tools", {}),
        sound.get("claims") or project.claims,
        project.rules,
    )


def _entries(name: str, listed: Any, project: Declared) -> list[str]:
    if isinstance(listed, list):
        return listed
    published = published_lists().get(name)
    before = project.words.get(name) or (published.entries if published else ())
    return [*before, *listed.get("add", ())]


def with_declared(expected: Mapping[str, Any], declared: Declared) -> dict[str, Any]:
    """What is expected, with what is declared next to it."""
    complete = dict(expected)
    if declared.effects:
        complete["effects"] = declared.effects
    if declared.words:
        complete["words"] = declared.words
    if declared.claims:
        complete["claim_words"] = declared.claims
    if declared.tools:
        complete["tool_groups"] = declared.tools
    return complete
