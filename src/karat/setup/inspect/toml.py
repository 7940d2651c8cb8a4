"""A target as TOML: plain values are under its header, what is long gets a header of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")
APART = frozenset({"options", "ui_vocabulary", "preconditions", "stream"})
"""Tables that are written below a header of their own."""


def target_table(name: str, table: Mapping[str, object], section: str = "") -> str:
    """`[targets.NAME]` with all that it holds."""
    path = ".".join(filter(None, (section, "targets", key(name))))
    return "\n".join(_lines(path, table))


def _lines(path: str, table: Mapping[str, object]) -> Iterator[str]:
    yield f"[{path}]"
    below = []
    for name, value in table.items():
        if name in APART and isinstance(value, dict) and value:
            below.append((name, value))
        else:
            yield f"{key(name)} = {inline(value)}"
    for name, value in below:
        yield ""
        yield from _lines(f"{path}.{key(name)}", value)


def key(name: str) -> str:
    return name if _BARE.fullmatch(name) else inline(name)


def inline(value: object) -> str:
    """A value on one line."""
    if isinstance(value, str):
        # JSON's escapes are TOML's too, apart from the characters that TOML does not allow unescaped.
        return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key(k)} = {inline(v)}' for k, v in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return json.dumps(value)
