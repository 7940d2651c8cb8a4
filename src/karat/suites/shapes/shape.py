"""What a value of a suite may be: validated in plain words, and described by JSON Schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from karat.suites.diagnostics import Json, PathDiagnostic
from karat.text.wording import kind

Schema = dict[str, "Schema | Json"]
Found = Sequence[PathDiagnostic]

FINE: Found = ()


class Shape(Protocol):
    """A kind of value. `types`: those of Python that such values have."""

    @property
    def words(self) -> str: ...
    @property
    def types(self) -> Collection[type]: ...
    def validate(self, value: object) -> Found:
        """What is wrong with a value, with paths below it."""
        ...

    def schema(self, known: dict[str, Schema]) -> Schema:
        """The JSON Schema of it, which may refer to those that are known."""
        ...


def wrong_type(wanted: str, value: object, fix: str = "") -> Found:
    found = f"{value}" if wanted == "a whole number" and isinstance(value, float) else kind(value)
    return [PathDiagnostic((), f"expected {wanted}, found {found}. {fix}".rstrip(), "wrong-type")]


def check_size(value: str | list[Json] | dict[str, Json], least: int, most: int | None, unit: str) -> Found:
    size = len(value)
    if size >= least and (most is None or size <= most):
        return FINE
    if not size:
        empty = "string" if isinstance(value, str) else "list" if isinstance(value, list) else "object"
        message = f"an empty {empty} expects nothing. Say what is expected, or leave the field out."
        return [PathDiagnostic((), message, "empty-expectation")]
    wanted = f"at least {least}" if size < least else f"at most {most}"
    return [PathDiagnostic((), f"must have {wanted} {unit}, found {size}.", "invalid-value")]


def given_limits(limits: Mapping[str, Json]) -> Schema:
    return {name: limit for name, limit in limits.items() if limit is not None}
