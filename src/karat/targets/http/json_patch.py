"""JSON Patch (RFC 6902): how a protocol tells what has changed in a state."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

from karat.suites.diagnostics import Json

MOST = 10_000
"""So many operations of one patch are followed."""


def patched(document: Json, patch: Json) -> Json:
    """The document after a patch. Raises ValueError where the patch does not fit it."""
    if not isinstance(patch, list) or len(patch) > MOST:
        raise ValueError("it is no list of operations, or a very long one")
    made = deepcopy(document)
    for operation in patch:
        if not isinstance(operation, dict):
            raise ValueError("an operation is no object")
        made = _done(made, operation)
    return made


def _done(document: Json, operation: dict[str, Json]) -> Json:
    kind, path = operation.get("op"), _steps(operation.get("path"))
    if kind in ("move", "copy"):
        source = _steps(operation.get("from"))
        value = deepcopy(_found(document, source))
        document = _changed(document, source, remove=True) if kind == "move" else document
        return _changed(document, path, value)
    if kind == "remove":
        return _changed(document, path, remove=True)
    if kind not in ("add", "replace", "test") or "value" not in operation:
        raise ValueError(f"there is no such operation: {kind!r}")
    value = operation["value"]
    if kind == "test":
        if _found(document, path) != value:
            raise ValueError("a test of it fails")
        return document
    if kind == "replace":
        _found(document, path)
    return _changed(document, path, value, replace=kind == "replace")


def _steps(pointer: Json) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ValueError(f"{pointer!r} is no JSON Pointer")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _found(document: Json, steps: Iterable[str]) -> Json:
    for step in steps:
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list):
            document = document[_index(step, len(document) - 1)]
        else:
            raise ValueError(f"there is no {step!r}")
    return document


def _changed(
    document: Json, steps: list[str], value: Json = None, *, replace: bool = False, remove: bool = False
) -> Json:
    if not steps:
        return None if remove else value
    holder, last = _found(document, steps[:-1]), steps[-1]
    if isinstance(holder, dict):
        if remove and last not in holder:
            raise ValueError(f"there is no {last!r}")
        holder.pop(last) if remove else holder.__setitem__(last, value)
    elif isinstance(holder, list) and (remove or replace):
        at = _index(last, len(holder) - 1)
        holder[at : at + 1] = [] if remove else [value]
    elif isinstance(holder, list):
        holder.insert(len(holder) if last == "-" else _index(last, len(holder)), value)
    else:
        raise ValueError(f"there is nothing to put {last!r} into")
    return document


def _index(step: str, most: int) -> int:
    if not step.isdecimal() or (len(step) > 1 and step[0] == "0") or len(step) > 9 or int(step) > most:
        raise ValueError(f"there is no element {step!r}")
    return int(step)
