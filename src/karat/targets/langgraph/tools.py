"""The tools that a graph's tool nodes know, without running it, and the schemas of their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

DEEPEST = 20


def tools_of(graph: object) -> frozenset[str] | None:
    """The tools of a graph's tool nodes; None if it has no such node, because then any node may call anything."""
    names = {name for node in _nodes(graph, DEEPEST) for name in getattr(node, "tools_by_name", None) or ()}
    return frozenset(names) or None


def schemas_of(graph: object) -> dict[str, object]:
    """The JSON Schema of the arguments that a model gives to each tool of a graph's tool nodes; None if it has none."""
    tools = [tool for node in _nodes(graph, DEEPEST) for tool in (getattr(node, "tools_by_name", None) or {}).items()]
    return {name: _schema(tool) for name, tool in tools}


def _schema(tool: object) -> object:
    try:
        schema = getattr(tool, "tool_call_schema", None)
        return schema if isinstance(schema, dict) else schema.model_json_schema() if schema is not None else None
    except Exception:  # noqa: BLE001 - types of the user's that JSON Schema cannot say raise what they like
        return None


def _nodes(graph: object, depth: int) -> Iterator[object]:
    nodes = getattr(graph, "nodes", None)
    if not isinstance(nodes, Mapping) or not depth:
        return
    for node in nodes.values():
        inner = getattr(node, "bound", node)
        yield inner
        yield from _nodes(inner, depth - 1)
