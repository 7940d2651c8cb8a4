"""The environment variables of a target, set while it is open."""

from __future__ import annotations

import os
from collections.abc import Mapping


class Environment:
    """Variables for code that runs in this process; those that were there before are put back."""

    def __init__(self, wanted: Mapping[str, str]) -> None:
        self._wanted = wanted
        self._before: dict[str, str | None] = {}

    def set(self) -> None:
        self._before = {name: os.environ.get(name) for name in self._wanted}
        os.environ.update(self._wanted)

    def restore(self) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before = {}
