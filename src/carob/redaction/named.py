"""The secrets that configurations name: whatever this process writes loses them, whoever writes it.

They are values of the environment, which a process has once; so they are known once, for all projects in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from carob.redaction.key_names import NAMED
from carob.redaction.redactor import Redactor
from carob.text.encodings import SHORTEST

_values: set[str] = set()
_redactor = Redactor()
HELD_BACK = 1 << 16
"""So many bytes at the end of what is written in pieces may be the beginning of a secret."""


def name_secrets(names: object, environ: Mapping[str, str]) -> None:
    """Learn the secrets that a configuration names; what is wrong with it, whoever reads it reports."""
    global _redactor
    named = [name for name in names if isinstance(name, str)] if isinstance(names, list | tuple) else []
    NAMED.update(named)
    new = {value for name in named if len(value := environ.get(name, "")) >= SHORTEST} - _values
    if new:
        _values.update(new)
        _redactor = Redactor(_values)


def has_named() -> bool:
    return bool(_values)


def named_redactor() -> Redactor:
    """What removes the named secrets."""
    return _redactor


def without_secrets(data: bytes) -> bytes:
    """What is to be written, without the named secrets."""
    pending = bytearray(data) if _values else data
    return data if pending is data else take_clean(pending, is_end=True)  # type: ignore[arg-type]


def take_clean(pending: bytearray, *, is_end: bool) -> bytes:
    """Take what can be written now, without the named secrets; unless it is the end, what may begin one stays."""
    size = len(pending) if is_end or not _values else max(len(pending) - HELD_BACK, 0)
    data = bytes(pending)
    spans = _redactor.find_named(data) if _values else []
    size = next((start for start, end in spans if start < size < end), size)
    del pending[:size]
    pieces, offset = list[bytes](), 0
    for start, end in spans:
        if end <= size:
            pieces += (data[offset:start], _redactor.replacement(data, start, end))
            offset = end
    return b"".join((*pieces, data[offset:size]))
