"""Checks, targets and reports that installed packages bring, by entry point."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from karat.errors import ConfigError
from karat.text.wording import said

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

INSTALLED = (".dist-info", ".egg-info", "EGG-INFO")
FIX = "Mend or uninstall its package."


def brought(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, none of them loaded."""
    found: dict[str, EntryPoint] = {}
    if not _may_bring(tuple(sys.path)):
        return found
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        if found.setdefault(point.name, point).value != point.value:
            why = f"two packages bring it: {found[point.name].value} and {point.value}."
            raise ConfigError(why, where=where(point), fix="Uninstall one of them.")
    return found


@cache
def _may_bring(path: tuple[str, ...]) -> bool:
    """Whether it is worth asking: importlib.metadata costs a third of all that judging has to import."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    return any(_brings(entry or os.curdir) for entry in path)


def _brings(folder: str) -> bool:
    """Whether a package in a folder has entry points of ours. What is no folder, as a zip file, may have any."""
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True
    except OSError:
        return False
    return any(_names_us(f"{folder}/{name}/entry_points.txt") for name in names if name.endswith(INSTALLED))


def _names_us(file: str) -> bool:
    try:
        with open(file, "rb") as opened:
            return b"[karat." in opened.read()
    except OSError:
        return False


def loaded(point: EntryPoint) -> Any:
    """What an entry point names."""
    try:
        return point.load()
    except Exception as error:  # another package's code may raise anything
        why = f"cannot be loaded: {type(error).__name__}: {said(error)}."
        raise ConfigError(why, where=where(point), fix=FIX) from error


def where(point: EntryPoint) -> str:
    return f"entry point {point.name!r} of {point.group}"
