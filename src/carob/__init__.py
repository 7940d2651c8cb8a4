"""Carob: contract tests for AI agents.

The public names are loaded when they are first used: importing Carob opens nothing and loads nothing. Which they are,
and where, is in `__init__.pyi` alone, which type checkers read as well.
"""

from __future__ import annotations

from importlib import import_module

from carob.version import __version__ as __version__

with open(f"{__file__}i", encoding="utf-8") as stub:
    _LINES = [line.split() for line in stub]
_HOME = {line[3]: line[1] for line in _LINES if line[:1] == ["from"]}
_TWINS = {line[0]: line[2].partition("(")[2].rstrip(")") for line in _LINES if line[1:2] == ["="]}
"""What is awaited, and of what it is the twin."""
__all__ = sorted(_HOME | _TWINS)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name in _TWINS:
        make_async = import_module("carob.system.sync_async").make_async
        return globals().setdefault(name, make_async(__getattr__(_TWINS[name])))
    if name not in _HOME:
        from difflib import get_close_matches
        from importlib.util import find_spec

        if name.startswith("_") or find_spec(f"carob.{name}"):  # Python asks before it imports a module of ours
            raise AttributeError(name)
        from carob.plugins.features import find_public_name

        if (found := find_public_name(name)) is not None:
            return found
        near = "".join(f". Did you mean {found!r}?" for found in get_close_matches(name, __all__, n=1, cutoff=0.5))
        raise AttributeError(f"module 'carob' has no attribute {name!r}{near}")
    return getattr(import_module(_HOME[name]), name)
