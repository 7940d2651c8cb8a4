"""What calls do to the database of tau-bench, found by the tools of a local clone.

Its packages are entered without their `__init__` modules: those load a client for language models, which no tool needs.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benchmarks.published.conversations import Call


class Played(NamedTuple):
    """What the tools answered, and a digest of the database after them."""

    results: tuple[str, ...]
    state: str


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """Write nothing into a clone, where bytecode of the same second would also hide a change."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


class Database:
    """The database of a domain, new for every play."""

    def __init__(self, clone: Path, domain: str) -> None:
        for name in [name for name in sys.modules if name.split(".")[0] == "tau_bench"]:
            del sys.modules[name]  # another clone may have been loaded before
        for name in ("tau_bench", "tau_bench.envs", f"tau_bench.envs.{domain}"):
            package = ModuleType(name)
            package.__path__ = [str(clone.joinpath(*name.split(".")))]
            sys.modules[name] = package
        with _no_bytecode():
            tools = import_module(f"tau_bench.envs.{domain}.tools").ALL_TOOLS
            self._load: Callable[[], Any] = import_module(f"tau_bench.envs.{domain}.data").load_data
        self._tools: dict[str, Any] = {tool.get_info()["function"]["name"]: tool for tool in tools}
        self._played: dict[str, Played] = {}

    def has(self, tool: str) -> bool:
        return tool in self._tools

    def play(self, calls: Sequence[Call]) -> Played:
        """Carry the calls out, one after the other. Equal plays are done once."""
        key = json.dumps([(call.name, call.arguments) for call in calls])
        if key not in self._played:
            data = self._load()
            results = tuple(self._answer(data, call) for call in calls)
            state = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
            self._played[key] = Played(results, state)
        return self._played[key]

    def _answer(self, data: Any, call: Call) -> str:
        if not self.has(call.name):
            return f"Unknown action {call.name}"
        try:
            return str(self._tools[call.name].invoke(data=data, **call.arguments))
        except Exception as error:  # noqa: BLE001 - tau-bench answers whatever a tool raises with these words
            return f"Error: {error}"
