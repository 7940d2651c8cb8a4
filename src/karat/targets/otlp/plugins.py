"""Tools that a framework names by plugin and function (`Desk-send_email`): a suite may name them by their function."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import structs

from karat.model.suite import Case
from karat.model.trace import ToolCall


def plugins_left_out(plugins: Iterable[str], case: Case, configured: Collection[str] = ()) -> frozenset[str]:
    """The plugins that neither the checks of a case nor these names of a configuration speak of."""
    spoken = [bytes(spec.args) for _, spec in case.all_checks] + [name.encode() for name in configured]
    return frozenset(plugin for plugin in plugins if not any(plugin.encode() in said for said in spoken))


def without_plugins(calls: Iterable[ToolCall], plugins: Iterable[str]) -> tuple[ToolCall, ...]:
    return tuple(structs.replace(call, name=without_plugin(call.name, plugins)) for call in calls)


def without_plugin(name: str, plugins: Iterable[str]) -> str:
    return next((name.removeprefix(plugin) for plugin in plugins if name.startswith(plugin)), name)
