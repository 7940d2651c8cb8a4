"""`metadata` and `x-` keys: anything may carry them, they are kept, and nothing judges them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from karat.suites.findings import Path, render

Notes = dict[Path, Any]


def is_note(key: str | int) -> bool:
    return isinstance(key, str) and (key == "metadata" or key.startswith("x-"))


def flat(notes: Notes) -> Iterator[tuple[str, Any]]:
    """Notes by name: the entries of `metadata` as they are, notes from deeper down by their path."""
    named = {render(path): value for path, value in notes.items() if path != ("metadata",)}
    own = notes.get(("metadata",), {})
    for name, value in own.items() if isinstance(own, dict) else [("metadata", own)]:
        yield f"metadata.{name}" if name in named else name, value
    yield from named.items()
