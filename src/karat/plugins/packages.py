"""Checks, targets and reports that installed packages bring, by entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.errors import ConfigError
from karat.text.wording import said

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FIX = "Mend or uninstall its package."


def brought(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, none of them loaded."""
    from importlib.metadata import entry_points  # costs a third of all that judging has to import

    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        if found.setdefault(point.name, point).value != point.value:
            why = f"two packages bring it: {found[point.name].value} and {point.value}."
            raise ConfigError(why, where=where(point), fix="Uninstall one of them.")
    return found


def loaded(point: EntryPoint) -> Any:
    """What an entry point names."""
    try:
        return point.load()
    except Exception as error:  # another package's code may raise anything
        why = f"cannot be loaded: {type(error).__name__}: {said(error)}."
        raise ConfigError(why, where=where(point), fix=FIX) from error


def where(point: EntryPoint) -> str:
    return f"entry point {point.name!r} of {point.group}"
