"""What a check is, to those who may not import the checks themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Raw, Struct

from carob.model.trace import Trace
from carob.model.verdict import CheckResult, Status

Metric = Literal["sources", "numbers", "brief"]
"""What a report lists as missing from an answer, in addition to the failed checks."""

Expected: TypeAlias = Mapping[str, Any]
"""What a case asks for, by field: that the values fit the fields' types was settled when the suite was read."""


class CheckSpec(Struct, frozen=True, array_like=True, gc=False):
    """One check as data: its name in the catalog, its arguments as JSON, and its place, such as `must_not_say[1]`."""

    name: str
    args: Raw
    path: str = ""


class Example(NamedTuple):
    """Proof that a check can come out this way: its arguments, a trace, and the status it must give."""

    args: Mapping[str, object]
    trace: Trace
    status: Status


class CheckProblem(NamedTuple):
    """A reason why a check as written makes no sense, at a place below the field it came from.

    `key`: the problem is the name of the key, not its value.
    """

    slug: str
    message: str
    path: tuple[str | int, ...] = ()
    key: bool = False


Joint = Literal["replace", "add", "add_never", "smaller"]


class Field(Struct, frozen=True):
    """A key of `expected`, as suite files spell it.

    `in_defaults`: how a value of `defaults` and that of a case are joined. `replace`: the latter holds; `add`: both do;
    `add_never`: entries with `never` are added; `smaller`: the smaller bound holds. Pairs say it for members.
    `in_case`: golden sets have it next to `expected`, not in it. `holds_files`: it lists text files next to the suite,
    and a check is given their texts by name.
    """

    name: str
    type: object
    doc: str
    since: str = "0.1"
    in_defaults: Joint | tuple[tuple[str, Joint], ...] = "replace"
    in_case: bool = False
    holds_files: bool = False


class Declared(Struct, frozen=True):
    """What holds for all cases of a suite: the effects of tools with the words that claim them, word lists, rules."""

    effects: Mapping[str, Sequence[str]] = {}
    words: Mapping[str, Sequence[str]] = {}
    evaluators: Mapping[str, Mapping[str, Any]] = {}
    """What evaluators of other tools mean, by their names: the `expected` that asks for the same."""
    tools: Mapping[str, Sequence[str]] = {}
    """Groups of tools, by the names that `@name` means."""
    claims: Mapping[str, Mapping[str, Any]] = {}
    """Claims of a coding agent: their words, and the command that bears each out."""
    rules: tuple[str, ...] = ()
    """The files of rules that hold in every suite."""


class ParsedCheck(NamedTuple):
    """One check that an `expected` object asks for, its place below `expected`, and what is wrong with it."""

    spec: CheckSpec
    path: tuple[str | int, ...]
    problems: tuple[CheckProblem, ...]


class CompiledCheck(Protocol):
    """A check that is ready to judge."""

    @property
    def name(self) -> str: ...

    @property
    def group(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def forbids(self) -> bool:
        """Whether it looks for words that must not be in the final message."""

    def judge(self, trace: Trace) -> CheckResult: ...


class CaseCatalog(Protocol):
    """What a case needs of the catalog that it was read with: whose project it is, and its checks."""

    @property
    def folder(self) -> str:
        """The folder of the project."""

    def checks(self, specs: Sequence[CheckSpec]) -> Sequence[CompiledCheck]:
        """Checks that are ready to judge."""


class Vocabulary(CaseCatalog, Protocol):
    """What suites need to know of the checks: the fields they are spelled with, and what those fields mean."""

    @property
    def fields(self) -> Mapping[str, Field]: ...

    @property
    def groups(self) -> Sequence[str]:
        """The groups that a check can score in."""

    @property
    def declared(self) -> Declared:
        """What carob.toml declares for every suite."""

    def read(self, expected: Mapping[str, object]) -> Iterator[ParsedCheck]:
        """The checks that an `expected` object of valid types asks for."""

    def ask(self, name: str, args: Mapping[str, object], path: tuple[str | int, ...]) -> ParsedCheck:
        """The check of this name with these arguments. `$not` negates it, `$group` is the group that it scores in."""

    def fields_of(self, name: str) -> Sequence[Field]:
        """The fields that ask for a check; none if there is no such check."""

    def unused_fields(self, expected: Mapping[str, object]) -> Iterator[CheckProblem]:
        """Fields that have no effect because the field they refine is not there; paths below `expected`."""
