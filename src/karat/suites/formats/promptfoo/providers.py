"""Providers of promptfoo as targets: where they are plain HTTP, OpenAI-compatible, a Python file or a command."""

from __future__ import annotations

from typing import Any


def target_of(providers: Any) -> str:
    """The target that a list of one provider is; nothing where it is of another kind, or where there are several."""
    if isinstance(providers, list):
        if len(providers) != 1:
            return ""
        providers = providers[0]
    if isinstance(providers, str):
        return _spec(providers)
    if isinstance(providers, dict) and isinstance(providers.get("id"), str) and not providers.get("config"):
        return _spec(providers["id"])
    return ""


def _spec(name: str) -> str:
    """The short spec of a target; what needs more than that is set up in karat.toml."""
    kind, _, rest = name.partition(":")
    if kind == "exec":
        return f"command:{rest}"
    file = rest if kind == "python" else name.removeprefix("file://") if name.startswith("file://") else ""
    path, _, function = file.partition(":")
    if path.endswith(".py"):
        return f"python:{path}:{function or 'call_api'}"
    return ""
