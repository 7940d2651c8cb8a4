"""What a check is, to those who may not import the checks themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from karat.model.suite import CheckSpec
from karat.model.trace import Trace
from karat.model.verdict import Status

Metric = Literal["sources", "numbers", "brief"]
"""What a report says that an answer lacks, beside the checks that failed."""

Expected: TypeAlias = Mapping[str, Any]
"""What a case asks for, by field: that the values fit the fields' types was settled when the suite was read."""


class Example(NamedTuple):
    """Proof that a check can come out this way: its arguments, a trace, and the status it must give."""

    args: Mapping[str, object]
    trace: Trace
    status: Status


class Flaw(NamedTuple):
    """A reason why a check as written makes no sense, at a place below the field it came from.

    `key`: it is about the name that stands there rather than about its value.
    """

    slug: str
    message: str
    path: tuple[str | int, ...] = ()
    key: bool = False


class Field(Struct, frozen=True):
    """A key of `expected`, as suite files spell it: eval sets, and golden sets in their `expected` or beside it.

    `holds_files`: it lists text files next to the suite, and a check is given their texts by name.
    """

    name: str
    type: object
    doc: str
    since: str = "0.1"
    formats: frozenset[str] = frozenset({"eval-set", "golden-expected"})
    holds_files: bool = False


class AskedCheck(NamedTuple):
    """One check that an `expected` object asks for, its place below `expected`, and what is wrong with it."""

    spec: CheckSpec
    path: tuple[str | int, ...]
    flaws: tuple[Flaw, ...]


class Vocabulary(Protocol):
    """What suites need to know of the checks: the fields they are spelled with, and what those fields mean."""

    @property
    def fields(self) -> Sequence[Field]: ...

    @property
    def groups(self) -> Sequence[str]:
        """The groups that a check can score in."""
        ...

    def read(self, expected: Mapping[str, object]) -> Iterator[AskedCheck]:
        """The checks that an `expected` object of valid types asks for."""
        ...

    def strays(self, expected: Mapping[str, object]) -> Iterator[Flaw]:
        """Fields that have no effect because the field they refine is not there; paths below `expected`."""
        ...
