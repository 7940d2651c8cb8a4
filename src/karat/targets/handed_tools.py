"""Whether a Python agent hands its tools to Karat by `conversation.tool`, as far as its own code says."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType

METHOD = "tool"
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def hands_over_tools(function: Callable[..., object], root: Path) -> bool:
    """Whether a function of the agent's own modules names the method: those below its folder, and its own module."""
    own = sys.modules.get(getattr(function, "__module__", ""))
    folder = os.path.join(root.resolve(), "")
    modules = [one for one in list(sys.modules.values()) if one is own or _is_below(one, folder)]
    values = [function, type(function), *(value for module in modules for value in list(vars(module).values()))]
    return any(METHOD in code.co_names for value in values for code in _codes(value))


def _is_below(module: ModuleType, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(folder) and _INSTALLED.isdisjoint(Path(file).parts)


def _codes(value: object) -> Iterator[CodeType]:
    """The code of a function, or of the methods of a class, with what is defined within it."""
    for member in list(vars(value).values()) if inspect.isclass(value) else [value]:
        code = getattr(inspect.unwrap(member), "__code__", None) if inspect.isroutine(member) else None
        if isinstance(code, CodeType):
            yield from _nested_codes(code)


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested_codes(constant)
