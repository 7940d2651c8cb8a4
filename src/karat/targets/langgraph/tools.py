"""The tools that a graph's tool nodes know, without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

DEEPEST = 20


def tools_of(graph: object) -> frozenset[str] | None:
    """The tools of a graph's tool nodes; None if it has no such node, because then any node may call anything."""
    names = {name for node in _nodes(graph, DEEPEST) for name in getattr(node, "tools_by_name", None) or ()}
    return frozenset(names) or None


def _nodes(graph: object, depth: int) -> Iterator[object]:
    nodes = getattr(graph, "nodes", None)
    if not isinstance(nodes, Mapping) or not depth:
        return
    for node in nodes.values():
        inner = getattr(node, "bound", node)
        yield inner
        yield from _nodes(inner, depth - 1)
