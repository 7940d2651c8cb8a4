"""The keys that a format knows, and the nearest one that a user may have meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from karat.text.key_names import meant_keys, suggest_keys, synonyms_of
from karat.text.wording import quoted

MOST = 500
"""Different unknown keys of one file that get a suggestion: each costs a comparison with every known one."""


class KnownKeys:
    """The keys of a format by the level they belong to, so that a message can say where one belongs."""

    def __init__(self) -> None:
        self._where: dict[str, str] = {}
        self._messages: dict[tuple[str, frozenset[str]], str] = {}

    def add(self, where: str, keys: Iterable[str]) -> None:
        """Keys of a level; where it is known by several, messages name the last one that was added."""
        self._where |= dict.fromkeys(keys, where)

    def describe_unknown(self, key: str, here: Collection[str]) -> str:
        """What to say of a key that is none of those here."""
        asked = key, frozenset(here)
        if asked not in self._messages:
            if len(self._messages) >= MOST:
                return "unknown field."
            self._messages[asked] = self._say(*asked)
        return self._messages[asked]

    def _say(self, key: str, here: frozenset[str]) -> str:
        elsewhere = {name: where for name, where in self._where.items() if name not in here}
        if key in elsewhere and not synonyms_of(key, here):
            return f"unknown field here: it belongs {elsewhere[key]}."
        if hint := suggest_keys(key, here):
            return f"unknown field. {hint}"
        for near in meant_keys(key, elsewhere):
            return f"unknown field. Did you mean {quoted(near)}, which belongs {elsewhere[near]}?"
        return "unknown field. Start its name with 'x-' to keep it as a note."
