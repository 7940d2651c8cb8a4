"""What can be derived by name from the numbers of results: counts, sums, differences and shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import combinations, islice

from carob.checks.numbers.sources import HUNDRED, NumberSource, results
from carob.model.trace import Trace
from carob.text.regexes import lazy
from carob.text.words import PUBLISHED

_NAME_WORD = lazy.pattern(r"[A-Za-z][a-z]*")
MOST_ALIKE = 12
"""Numbers next to each other of which pairs are derived with: of more, any number would be the difference of two."""
MOST_COLUMNS = 12
MOST_KINDS = 50

Alike = Sequence[NumberSource]
"""Numbers of one kind, of which differences and shares make sense."""
Holder = tuple[dict[str, object] | list[object], str]
"""An object or a list of a result, and its place."""


def holders_of(trace: Trace) -> list[Holder]:
    """Every object and list of the results."""
    return [holder for name, result in results(trace) for holder in _holders(result, name)]


def _holders(value: object, path: str) -> Iterator[Holder]:
    if isinstance(value, dict | list):
        yield value, path
        below = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in below:
            if isinstance(member, dict | list):
                yield from _holders(member, f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]")


def derived_sources(trace: Trace, holders: Sequence[Holder]) -> Iterator[NumberSource]:
    """Counts and sums that can be named."""
    successes = Counter(call.name for call in trace.tool_calls if call.success is True)
    yield from (NumberSource(Decimal(count), f"the successful calls to {name}") for name, count in successes.items())
    for value, path in holders:
        if isinstance(value, list):
            yield from _counts(value, path)
            yield from _sums(value, path)
            continue
        members = _members(value, path)
        if len(members) == len(value) > 1 and not any(map(_is_whole, members)):
            yield NumberSource(sum((member.value for member in members), Decimal()), f"the sum of {path}")
        if len(value) > 1 and all(isinstance(below, dict) for below in value.values()):
            yield from _counts([*value.values()], path)  # rows by their ids


def alike_sources(holders: Sequence[Holder]) -> Iterator[Alike]:
    """Numbers of results that are next to each other: in one object, in one column, or counts of one list."""
    for value, path in holders:
        if isinstance(value, dict):
            yield _members(value, path)[:MOST_ALIKE]
            yield from _same_names(value, path)
            continue
        for key in (*_keys(value), None) if len(value) <= MOST_ALIKE else ():
            end = f".{key}" if key else ""
            column = enumerate(_column(value, key))
            yield [NumberSource(number, f"{path}[{index}]{end}") for index, number in column if number is not None]
        yield [*islice(_counts(value, path), MOST_ALIKE + 1)]


def _same_names(value: dict[str, object], path: str) -> Iterator[Alike]:
    """Numbers of one name in an object and in those right below it: this week's, and the same under `previous`."""
    below = [(member, f"{path}.{key}") for key, member in value.items() if isinstance(member, dict)]
    by_name: dict[str, list[NumberSource]] = {}
    for holder, where in ((value, path), *below) if below else ():
        for source in _members(holder, where):
            by_name.setdefault(source.name.rpartition(".")[2], []).append(source)
    yield from (group[:MOST_ALIKE] for group in by_name.values() if len(group) > 1)


def _counts(rows: list[object], path: str) -> Iterator[NumberSource]:
    yield NumberSource(Decimal(len(rows)), f"the entries of {path}", True)
    for key, kinds in _kinds(rows).items():
        for kind, count in islice(Counter(kinds).items(), MOST_KINDS):
            if kind is not None:
                yield NumberSource(Decimal(count), f"the entries of {path} with {key} {kind}", True)


def _sums(rows: list[object], path: str) -> Iterator[NumberSource]:
    kinds_of = _kinds(rows)
    for key in (None, *_keys(rows), *_keys(rows, inner=True)):
        column = _column(rows, key)
        where = f"{path}[*].{key}" if key else path
        if len(column) - column.count(None) > 1:
            yield NumberSource(sum(filter(None, column), Decimal()), f"the sum of {where}")
        for other, kinds in kinds_of.items() if key and "." not in key else ():
            by_kind: dict[str, Decimal] = {}
            for kind, number in zip(kinds, column, strict=True):
                if kind is not None and number is not None:
                    by_kind[kind] = by_kind.get(kind, Decimal()) + number
            for kind, total in islice(by_kind.items(), MOST_KINDS):
                yield NumberSource(total, f"the sum of {where} with {other} {kind}")


def _kinds(rows: list[object]) -> dict[str, list[str | None]]:
    """The columns that say of what kind the rows are."""
    columns = {key: [_kind(row, key) for row in rows] for key in _keys(rows)}
    return {key: kinds for key, kinds in columns.items() if kinds.count(None) < len(kinds)}


def _kind(row: object, key: str) -> str | None:
    value = row.get(key) if isinstance(row, dict) else None
    return str(value) if isinstance(value, str | bool) else None


def _column(rows: list[object], key: str | None) -> list[Decimal | None]:
    """The numbers of a column; those among the rows themselves without a key."""
    return [_number(row if key is None else _member(row, key)) for row in rows]


def _members(value: Mapping[str, object], path: str) -> list[NumberSource]:
    numbers = ((key, _number(item)) for key, item in value.items())
    return [NumberSource(number, f"{path}.{key}") for key, number in numbers if number is not None]


def _keys(rows: list[object], inner: bool = False) -> list[str]:
    """The columns of rows, or those of objects within them: `prices.economy`."""
    row = rows[0] if rows and isinstance(rows[0], dict) else {}
    first = {key: value for key, value in row.items() if isinstance(key, str)}
    below = (f"{key}.{inner_key}" for key, value in first.items() if isinstance(value, dict) for inner_key in value)
    return [*islice(below if inner else first, MOST_COLUMNS)]


def _member(row: object, key: str) -> object:
    if not isinstance(row, dict):
        return None
    outer, point, inner = key.partition(".")
    if not point or key in row:
        return row.get(key)
    below = row.get(outer)
    return below.get(inner) if isinstance(below, dict) else None


def _number(value: object) -> Decimal | None:
    return Decimal(repr(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None


def pairs(alike: Alike, percent: bool = False, is_rounded: bool = False) -> Iterator[NumberSource]:
    """Sums and differences of two numbers of a kind; for a percentage their shares, and these of percentages alone.

    Of counts only shares. A rounded number is seldom the sum of a large one and a tiny one: it is so by chance.
    """
    for first, second in combinations(alike, 2):
        is_tiny = is_rounded and HUNDRED * min(abs(first.value), abs(second.value)) < max(
            abs(first.value), abs(second.value)
        )
        are_alike = not percent or (_may_be_percentage(first) and _may_be_percentage(second))
        if are_alike and not (is_tiny or first.counted or second.counted):
            if not (_is_whole(first) or _is_whole(second)):
                yield NumberSource(first.value + second.value, f"the sum of {first.name} and {second.name}")
            yield _difference(first, second)
        if percent:
            yield from _shares(first, second)
            yield from _shares(second, first)


def _difference(first: NumberSource, second: NumberSource) -> NumberSource:
    return NumberSource(abs(first.value - second.value), f"the difference of {first.name} and {second.name}")


def _shares(part: NumberSource, total: NumberSource) -> Iterator[NumberSource]:
    if part.counted and part.value > total.value:
        return
    try:
        share = part.value / total.value * HUNDRED
    except (InvalidOperation, ZeroDivisionError):
        return
    yield NumberSource(share, f"{part.name} as a percentage of {total.name}", percent=True)
    if not part.counted:
        yield NumberSource(abs(share - HUNDRED), f"the change from {total.name} to {part.name}", percent=True)


def _is_whole(source: NumberSource) -> bool:
    """Whether its name says that it is the whole of something, which nothing is added to."""
    return source.name.rpartition(".")[2].lower() in PUBLISHED.entries("whole_names")


def _may_be_percentage(source: NumberSource) -> bool:
    """Whether it is a percentage or a fraction."""
    return abs(source.value) <= 1 or is_percentage(source)


def is_percentage(source: NumberSource) -> bool:
    """Whether it is stated as one, or its name says so."""
    if source.percent:
        return True
    name = source.name.rpartition(".")[2]
    return not {word.lower() for word in _NAME_WORD.findall(name)}.isdisjoint(PUBLISHED.entries("percentage_names"))


def of_one_name(holders: Sequence[Holder]) -> list[Alike]:
    """The different numbers that have one name in all results."""
    by_name: dict[str, dict[Decimal, NumberSource]] = {}
    for value, path in holders:
        for source in _members(value, path) if isinstance(value, dict) else ():
            by_name.setdefault(_name_of(source), {}).setdefault(source.value, source)
    return [[*group.values()] for group in by_name.values()]


def differences(groups: Sequence[Alike], most: int) -> list[NumberSource]:
    return [_difference(*two) for group in groups if len(group) <= most for two in combinations(group, 2)]


def cross_differences(first: Alike, second: Alike) -> list[NumberSource]:
    return [_difference(one, other) for one in first for other in second]


def _name_of(source: NumberSource) -> str:
    """The name of a member, with that of an object around it which is not a row or a whole result."""
    *outer, around, name = source.name.split(".")
    return name if not outer or around.endswith("]") else f"{around}.{name}"
