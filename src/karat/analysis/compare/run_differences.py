"""What makes two runs the same kind of run, and what differs between them besides their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from karat.analysis.compare.model import RunSide
from karat.model.keys import target_identity
from karat.model.run import Header

VALUE = 80
ABSENT = "not set"
TAPE = "tape"
"""The setting of a run that was replayed."""

_encode = msgspec.json.Encoder(order="deterministic").encode


def settings(header: Header) -> dict[str, str]:
    """The settings of the target that may change answers or verdicts, by name; secrets are digests already."""
    return dict(_flat("", target_identity(header.options.get("target", {})))) | tape(header)


def tape(header: Header) -> dict[str, str]:
    """How a tape answered for the model; nothing for a live run, which may have recorded one."""
    mode = header.options.get("tape", {}).get("mode", "record")
    return {} if mode == "record" else {TAPE: mode}


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    else:
        written = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        yield name, written if len(written) <= VALUE else f"{written[: VALUE - 1]}…"


def is_same_suite(one: str, other: str) -> bool:
    """Whether two recorded paths are of one suite: the same, or one ends as the other does."""
    a, b = (PurePath(path).parts for path in (one.replace("\\", "/"), other.replace("\\", "/")))
    shorter = min(len(a), len(b))
    return a[-shorter:] == b[-shorter:]


def is_same_target(one: Header, other: Header) -> bool:
    """Whether two runs asked the same target, whatever its settings were."""
    return one.target == other.target


def is_same_kind(one: Header, other: Header) -> bool:
    """Whether two runs are of one suite, target and settings, so that only chance and the agent's code differ."""
    return (
        is_same_suite(one.suite, other.suite)
        and is_same_target(one, other)
        and target_identity(one.options.get("target", {})) == target_identity(other.options.get("target", {}))
        and tape(one) == tape(other)
    )


def by_kind(headers: Iterable[Header]) -> list[list[int]]:
    """The places of runs that are of one kind, for many runs at once; in the order of the first of each kind."""
    found: dict[bytes, list[list[int]]] = {}
    known: list[Header] = []
    for place, header in enumerate(headers):
        known.append(header)
        kinds = found.setdefault(
            _encode((header.target, target_identity(header.options.get("target", {})), tape(header))), []
        )
        alike = next((kind for kind in kinds if is_same_suite(known[kind[0]].suite, header.suite)), None)
        if alike is None:
            kinds.append([place])
        else:
            alike.append(place)
    return sorted(kind for kinds in found.values() for kind in kinds)


def differing(headers: Sequence[Header]) -> list[dict[str, str]]:
    """Of several kinds of runs, what each has for the settings that are not the same in all of them."""
    each = [settings(header) for header in headers]
    names = [
        name for name in dict.fromkeys(name for one in each for name in one) if len({one.get(name) for one in each}) > 1
    ]
    return [{name: one.get(name, ABSENT) for name in names} for one in each]


def differences(base: RunSide, new: RunSide) -> Iterator[str]:
    """What is not the same in both runs, the weightiest first; commits are given with each run."""
    if not is_same_suite(base.suite, new.suite):
        yield _format_change("suite", base.suite, new.suite)
    if base.target != new.target:
        yield _format_change("target", base.target, new.target)
    if base.version != new.version:
        yield _format_change("version", base.version, new.version)
    if base.settings and new.settings:
        for name in dict.fromkeys((*base.settings, *new.settings)):
            before, after = base.settings.get(name, ""), new.settings.get(name, "")
            if before != after and not (name == "use" and base.target != new.target):
                yield _format_change(name, before, after)


def _format_change(name: str, before: str, after: str) -> str:
    return f"{name}: {before or ABSENT} → {after or ABSENT}"
