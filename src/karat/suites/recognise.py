"""Which format a tree is of, by what stands around its cases. Loads nothing, for `karat list`."""

from __future__ import annotations

from typing import NamedTuple


class Recognised(NamedTuple):
    """A format, where a tree of it keeps its cases, and what it calls a prompt."""

    format: str
    cases: object
    prompt: str


def recognise(tree: object) -> Recognised | None:
    if isinstance(tree, dict):
        if "karat" in tree:
            return Recognised("karat-1", tree.get("cases"), "prompt")
        return Recognised("eval-set", tree["cases"], "prompt") if "cases" in tree else None
    return None if tree is None or isinstance(tree, str | int | float) else Recognised("golden", tree, "input")
