"""The nearest thing that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from karat.suites.findings import Path
from karat.text.wording import nearest, quoted

MOST = 500
"""Different unknown fields of one file that get a suggestion: each costs a comparison with every known one."""

_LEVELS = {
    "EvalSet": "at the top of the file",
    "Case": "in the case itself",
    "Expected": "under 'expected'",
    "ScoringModel": "under 'scoring'",
    "SoftScore": "under 'scoring.soft_score'",
}
_SYNONYMS = {"prompt": "input", "input": "prompt", "question": "input", "tests": "cases"}


class Levels:
    """The keys that each level of a format knows, as its JSON Schema tells them."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._named = {"EvalSet": schema, **schema.get("$defs", {})}
        self._keys: dict[Path, frozenset[str]] = {}
        self._told: dict[tuple[str, frozenset[str]], str] = {}

    def unknown(self, path: Path) -> str:
        """What to say of an unknown key at a path."""
        key = str(path[-1])
        here = self._here(tuple(0 if isinstance(step, int) else step for step in path[:-1]))
        told = self._told.get((key, here))
        if told is None:
            told = self._say(key, here) if len(self._told) < MOST else "unknown field."
            self._told[key, here] = told
        return told

    def _say(self, key: str, here: frozenset[str]) -> str:
        elsewhere = {
            name: level
            for title, level in _LEVELS.items()
            for name in self._named.get(title, {}).get("properties", {})
            if name not in here
        }
        if key in elsewhere:
            return f"unknown field here: it belongs {elsewhere[key]}."
        near = nearest(key, here) or (_SYNONYMS.get(key) if _SYNONYMS.get(key) in here else None)
        if near:
            return f"unknown field. Did you mean {quoted(near)}?"
        near = nearest(key, elsewhere)
        if near:
            return f"unknown field. Did you mean {quoted(near)}, which belongs {elsewhere[near]}?"
        return "unknown field. Begin its name with 'x-' if it is a note of your own."

    def _here(self, path: Path) -> frozenset[str]:
        if path not in self._keys:
            self._keys[path] = frozenset(key for node in self._at(path) for key in node.get("properties", {}))
        return self._keys[path]

    def _at(self, path: Path) -> list[dict[str, Any]]:
        nodes = self._plain(self._schema)
        for step in path:
            nodes = [plain for node in nodes for below in _below(node, step) for plain in self._plain(below)]
        return nodes

    def _plain(self, node: dict[str, Any]) -> list[dict[str, Any]]:
        """The schemas that a reference or a choice stands for."""
        if "$ref" in node:
            return self._plain(self._named[node["$ref"].rpartition("/")[2]])
        if "anyOf" in node and "properties" not in node:
            return [plain for choice in node["anyOf"] for plain in self._plain(choice)]
        return [node]


def _below(node: dict[str, Any], step: str | int) -> Iterator[dict[str, Any]]:
    if isinstance(step, int):
        below = node.get("items")
    else:
        below = node.get("properties", {}).get(step, node.get("additionalProperties"))
    if isinstance(below, dict):
        yield below
