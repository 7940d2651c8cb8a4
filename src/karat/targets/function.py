"""A Python function as a target, for those who use Karat as a library: no module path, no configuration."""

from __future__ import annotations

from collections.abc import Callable

from karat.targets.config import TargetConfig
from karat.targets.python import OFFERED, PythonTarget
from karat.targets.user_code import Callee


class FunctionTarget(PythonTarget):
    """An agent that is at hand as a function; it is called as `python:` calls one."""

    def __init__(self, function: Callable[..., object]) -> None:
        name = f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"
        super().__init__(TargetConfig(kind="python", spec=name))
        self._function = function

    async def open(self) -> None:
        self._callee = Callee(self._function, repr(self._config.spec), "prompt", OFFERED)
