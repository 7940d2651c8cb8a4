"""`metadata` and `x-` keys: anything may carry them, they are kept, and nothing judges them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from karat.suites.findings import Path, render

Notes = dict[Path, Any]


def is_note(key: str | int) -> bool:
    return isinstance(key, str) and (key == "metadata" or key.startswith("x-"))


def by_case(notes: Notes, prefix: Path) -> Mapping[int | None, Notes]:
    """The notes of each case by its index, with paths from the case on; those of the suite itself under None."""
    sorted_out: defaultdict[int | None, Notes] = defaultdict(dict)
    depth = len(prefix)
    for path, value in notes.items():
        index = path[depth] if len(path) > depth + 1 and path[:depth] == prefix else None
        if isinstance(index, int):
            sorted_out[index][path[depth + 1 :]] = value
        else:
            sorted_out[None][path] = value
    return sorted_out


def flat(notes: Notes) -> Iterator[tuple[str, Any]]:
    """Notes by name: the entries of `metadata` as they are, notes from deeper down by their path."""
    named = {render(path): value for path, value in notes.items() if path != ("metadata",)}
    own = notes.get(("metadata",), {})
    for name, value in own.items() if isinstance(own, dict) else [("metadata", own)]:
        yield f"metadata.{name}" if name in named else name, value
    yield from named.items()
