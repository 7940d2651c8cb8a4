"""The scripts that look at a page without a target."""

from __future__ import annotations

from importlib.resources import files

_HERE = files(__package__)


def with_names(file: str) -> str:
    """A function of JavaScript that knows how elements are named."""
    names, function = (_HERE.joinpath(name).read_text(encoding="utf-8") for name in ("names.js", file))
    return f"(given) => {{\n{names}\nreturn (\n{function}\n)(given);\n}}"
