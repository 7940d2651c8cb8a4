"""Checks, targets and reports that installed packages provide, by entry point."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from carob.errors import ConfigError
from carob.text.wording import error_text

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

INSTALLED = (".dist-info", ".egg-info", "EGG-INFO")
FIX = "Fix or uninstall the package that provides it."


def find_entry_points(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, none of them loaded."""
    points: dict[str, EntryPoint] = {}
    if not may_provide(tuple(sys.path)):
        return points
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        if points.setdefault(point.name, point).value != point.value:
            why = f"two packages provide it: {points[point.name].value} and {point.value}."
            raise ConfigError(why, where=where(point), fix="Uninstall one of them.")
    return points


@cache
def may_provide(path: tuple[str, ...], header: bytes = b"[carob.") -> bool:
    """Whether it is worth asking: importlib.metadata costs a third of all that judging has to import.

    `header`: what the entry points of a package contain that provides something.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    return any(_provides(entry or os.curdir, header) for entry in path)


def _provides(folder: str, header: bytes) -> bool:
    """Whether a package in a folder has such entry points. What is not a folder, such as a zip file, may have any."""
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True
    except OSError:
        return False
    return any(_holds(f"{folder}/{name}/entry_points.txt", header) for name in names if name.endswith(INSTALLED))


def _holds(file: str, text: bytes) -> bool:
    try:
        with open(file, "rb") as opened:
            return text in opened.read()
    except OSError:
        return False


def may_have_formats() -> bool:
    """Whether there may be suite formats other than ours here: loading them takes longer than `run --list` does."""
    headers = (b"[carob.formats]", b"[carob.features]")
    return _configures_formats(os.getcwd()) or any(may_provide(tuple(sys.path), header) for header in headers)


def _configures_formats(folder: str) -> bool:
    while True:
        if any(_holds(f"{folder}/{name}", b"formats") for name in ("carob.toml", "pyproject.toml")):
            return True
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return False


def load_entry_point(point: EntryPoint) -> Any:
    """What an entry point names."""
    try:
        return point.load()
    except Exception as error:  # another package's code may raise anything
        why = f"cannot be loaded: {type(error).__name__}: {error_text(error)}."
        raise ConfigError(why, where=where(point), fix=FIX) from error


def load_all(group: str) -> Iterator[tuple[str, str, Any]]:
    """What the entry points of a group name, each with where it is from and how to be rid of it."""
    for point in find_entry_points(group).values():
        yield where(point), FIX, load_entry_point(point)


def where(point: EntryPoint) -> str:
    return f"entry point {point.name!r} of {point.group}"
