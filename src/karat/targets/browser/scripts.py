"""The scripts that look at a page."""

from __future__ import annotations

from importlib.resources import files

_HERE = files(__package__)


def with_sight(name: str) -> str:
    """A function of JavaScript that can ask what a reader sees."""
    sight, function = (_HERE.joinpath(file).read_text(encoding="utf-8") for file in ("seen.js", name))
    return f"(...given) => {{\n{sight}\nreturn touchable(() => (\n{function}\n)(...given));\n}}"
