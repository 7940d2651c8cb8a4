"""What an adapter is: it makes a judge of what a spec names, in a process of its own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from carob.errors import ConfigError
from carob.features.graders.forms import GraderInput
from carob.plugins.code import load_attribute
from carob.text.wording import did_you_mean

Judge = Callable[[GraderInput], object]
"""Gives whatever the grader returned: a bool, a score, or an object with one."""


class Loader(Struct, frozen=True):
    """Where the code of a user is looked for."""

    root: Path
    path: Sequence[Path] = ()

    def load(self, spec: str) -> Any:
        """What `module:name` or `file.py:name` names."""
        return load_attribute(spec, self.root, self.path)

    def load_or_find(self, spec: str, module: str) -> Any:
        """What a spec names; a name without a module is one of the package itself."""
        if ":" in spec:
            return self.load(spec)
        package = importlib.import_module(module)
        if not hasattr(package, spec):
            raise ConfigError(f"{module} has no {spec!r}.", fix=did_you_mean(spec, dir(package)), slug="bad-grader")
        return getattr(package, spec)


def read_mapping(values: Mapping[str, Any]) -> object:
    """Several verdicts of one evaluator: it accepts if each of them does; several scores count by the lowest."""
    if all(isinstance(value, bool) for value in values.values()):
        return all(values.values())
    numbers = [value for value in values.values() if isinstance(value, int | float) and not isinstance(value, bool)]
    flags = [value for value in values.values() if isinstance(value, bool)]
    if not numbers:
        return {str(key): value for key, value in values.items()}  # labels give no verdict: an error says so
    return {"score": min(numbers), **({"passed": False} if not all(flags) else {})}
