"""Values of events: where they are, when two are the same, and a key that is equal for the same ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from carob.matchers.values import MISSING
from carob.model.trace import REMOVED
from carob.text.regexes import lazy

Steps: TypeAlias = tuple[str | int, ...]

EVERY: Final = -1
"""The step `[*]`: to every member of a list."""
_PATH = lazy.pattern(r"(?P<name>\w+)|\[(?:(?P<number>\d+)|\*)\]|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]")


class ValuePath(NamedTuple):
    """A value of an event: `each.arguments.items[0].price`."""

    root: str
    steps: Steps

    @property
    def words(self) -> str:
        """The path without the name of its event and the part that all arguments are in."""
        steps = self.steps[1:] if self.steps[:1] == ("arguments",) else self.steps
        return format_steps(steps or self.steps)


def read_path(text: str) -> ValuePath | None:
    """The path that a text spells, or None if it spells none."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        is_first, is_joined = at == 0, text[at] == "."
        if match := _PATH.match(text, at + (is_joined and not is_first)):
            if match["name"] is not None and not is_first and not is_joined:
                return None
            name = match["quoted"] if match["name"] is None else match["name"]
            number = EVERY if match["number"] is None else int(match["number"])
            steps.append(number if name is None else name)
            at = match.end()
        else:
            return None
    return ValuePath(str(steps[0]), tuple(steps[1:])) if steps and isinstance(steps[0], str) else None


def format_steps(steps: Steps) -> str:
    parts = (f".{step}" if isinstance(step, str) else "[*]" if step == EVERY else f"[{step}]" for step in steps)
    return "".join(parts).removeprefix(".")


def value_at(value: Any, steps: Steps) -> Any:
    """The value at the end of some steps, or MISSING."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return MISSING
        elif not isinstance(value, list | tuple) or step >= len(value):
            return MISSING
        value = value[step]
    return value


def values_at(value: Any, steps: Steps) -> Iterator[Any]:
    """The values at the end of some steps: more than one where a step is `[*]`, none where one is missing."""
    if EVERY not in steps:
        if (end := value_at(value, steps)) is not MISSING:
            yield end
        return
    place = steps.index(EVERY)
    members = value_at(value, steps[:place])
    for member in members if isinstance(members, list | tuple) else ():
        yield from values_at(member, steps[place + 1 :])


def freeze(value: Any) -> Hashable:
    """A key that two values share exactly if a contract takes them for the same: 1 is 1.0, and not true or "1"."""
    if value.__class__ is str or value.__class__ is int:
        return value
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, dict):
        return dict, frozenset((key, freeze(member)) for key, member in value.items())
    if isinstance(value, list | tuple):
        return list, tuple(map(freeze, value))
    return object() if value != value else value  # NaN is the same as nothing


def holds_removed(value: Any) -> bool:
    """Whether a secret was removed from a value."""
    if isinstance(value, str):
        return REMOVED in value
    return any(isinstance(scalar, str) and REMOVED in scalar for scalar in scalars_of(value))


def scalars_of(value: Any) -> Iterator[Any]:
    """Every string, number, truth value and null in a value; names of members are none."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        else:
            yield value


class Undecided(Exception):
    """A value for which the library has to be asked."""
