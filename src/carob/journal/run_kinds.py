"""What makes two runs the same kind of run, and which settings differ between kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from carob.model.run import MATRIX, Header, target_identity
from carob.text.wording import shorten

ABSENT = "not set"
TAPE = "tape"
"""The setting of a run that was replayed."""

_encode = msgspec.json.Encoder(order="deterministic").encode


def settings(header: Header) -> dict[str, str]:
    """The settings of the target that may change answers or verdicts, by name; secrets are digests already."""
    of_target = dict(_flat("", target_identity(header.options.get("target", {}))))
    by_name = {
        f"env.{key}": value for key, value in header.options.get(MATRIX, {}).items() if f"env.{key}" in of_target
    }
    return of_target | by_name | tape(header)


def tape(header: Header) -> dict[str, str]:
    """How a tape answered for the model; empty for a live run, which may have recorded one."""
    mode = header.options.get("tape", {}).get("mode", "record")
    return {} if mode == "record" else {TAPE: mode}


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    else:
        yield name, shorten(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def is_same_suite(path: str, other_path: str) -> bool:
    """Whether two recorded paths are of one suite: the same, or one ends as the other does."""
    a, b = (PurePath(each.replace("\\", "/")).parts for each in (path, other_path))
    shorter = min(len(a), len(b))
    return a[-shorter:] == b[-shorter:]


def _kind_key(header: Header) -> bytes:
    """Target, settings and tape: what runs of one kind have in common besides their suite."""
    return _encode((header.target, target_identity(header.options.get("target", {})), tape(header)))


def is_same_kind(header: Header, other: Header) -> bool:
    """Whether two runs are of one suite, target and settings, so that only chance and the agent's code differ."""
    return is_same_suite(header.suite, other.suite) and _kind_key(header) == _kind_key(other)


def by_kind(headers: Iterable[Header]) -> list[list[int]]:
    """The indices of runs that are of one kind, for many runs at once; in the order of the first of each kind."""
    listed = list(headers)
    kinds: dict[bytes, list[list[int]]] = {}
    for index, header in enumerate(listed):
        candidates = kinds.setdefault(_kind_key(header), [])
        for kind in candidates:
            if is_same_suite(listed[kind[0]].suite, header.suite):
                kind.append(index)
                break
        else:
            candidates.append([index])
    return sorted(kind for candidates in kinds.values() for kind in candidates)


def differing(headers: Sequence[Header]) -> list[dict[str, str]]:
    """Of several kinds of runs, what each has for the settings that are not the same in all of them."""
    tables = [settings(header) for header in headers]
    names = dict.fromkeys(name for table in tables for name in table)
    varying = [name for name in names if len({table.get(name) for table in tables}) > 1]
    return [{name: table.get(name, ABSENT) for name in varying} for table in tables]
