"""From what a suite writes to a matcher, and what is wrong with what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from carob.matchers.matcher import (
    ABSOLUTE,
    RELATIVE,
    TYPES,
    AnyOf,
    Contains,
    Each,
    Entries,
    Equal,
    Every,
    InAnyOrder,
    Matcher,
    Members,
    Not,
    OfLength,
    Only,
    absent,
    approx,
    bound,
    is_number,
    loose_text,
    matches,
    of_type,
    one_of,
    plain_words,
    same_text,
    unequal,
)
from carob.model.check import CheckProblem
from carob.text.regexes import safe_regex
from carob.text.wording import did_you_mean, join_words, kind, quoted

Path = tuple[str | int, ...]

SIGN = "$"
KNOWN_TYPES = f"Known: {join_words(TYPES, 'and')}."
LIKELY = ("$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$regex", "$absent", "$approx")
"""Matchers whose names alone are seldom keys of values."""
NEARLY = ("value", "abs", "rel")


class DollarKey(NamedTuple):
    """What a `$` key means, what is wrong with its operand, and the matcher that it makes."""

    about: str
    problems: Callable[[object, Path], Iterator[CheckProblem]]
    make: Callable[..., Matcher]
    schema: Mapping[str, object]


def matcher(expected: object) -> Matcher:
    """The matcher that a sound value of a suite is."""
    if isinstance(expected, dict):
        if not any(map(_is_operator, expected)):
            return Members({name: matcher(value) for name, value in expected.items()})
        matchers = [DOLLAR_KEYS[key].make(operand) for key, operand in expected.items()]
        return matchers[0] if len(matchers) == 1 else Every(matchers)
    return Entries([*map(matcher, expected)]) if isinstance(expected, list | tuple) else Equal(expected)


def find_problems(expected: object, path: Path = ()) -> Iterator[CheckProblem]:
    """What is wrong with a value of a suite, all the way down."""
    if isinstance(expected, list):
        for index, entry in enumerate(expected):
            yield from find_problems(entry, (*path, index))
    elif isinstance(expected, dict):
        operators = [key for key in expected if _is_operator(key)]
        if operators and len(operators) < len(expected):
            plain = next(key for key in expected if key not in operators)
            message = f"matchers and plain keys cannot be mixed: {quoted(operators[0])} is next to {quoted(plain)}."
            yield CheckProblem("bad-matcher", message, (*path, plain), key=True)
        for key, below in expected.items():
            yield from (_operator_problems if key in operators else find_problems)(below, (*path, key))


MATCHED = frozenset({"arguments", "result", "state", "contents", "output"})
"""The keys of `expected` below which a value may be a matcher."""


def find_near_misses(expected: Mapping[str, Any] | Sequence[Any], path: Path = ()) -> Iterator[CheckProblem]:
    """Where plain keys are most likely meant as matchers: `{lte: 5}`. One written under `$eq` is meant as it is."""
    if isinstance(expected, dict):
        is_value = not MATCHED.isdisjoint(path)
        if is_value and expected and all(SIGN + str(key) in LIKELY for key in expected):
            key = next(iter(expected))
            message = f"a plain key, so the value must be an object with {quoted(key)}. Did you mean '{SIGN}{key}'?"
            yield CheckProblem("near-matcher", f"{message} If not, write it under '$eq'.", (*path, key), key=True)
    members = expected.items() if isinstance(expected, dict) else enumerate(expected)
    for key, below in members:
        if key != "$eq" and isinstance(below, dict | list):
            yield from find_near_misses(below, (*path, key))


def _is_operator(key: str) -> bool:
    return key.startswith(SIGN)


def _operator_problems(operand: object, path: Path) -> Iterator[CheckProblem]:
    key = str(path[-1])
    operator = DOLLAR_KEYS.get(key)
    if operator is None:
        hint = did_you_mean(key, DOLLAR_KEYS) or f"Known: {join_words(DOLLAR_KEYS, 'and')}."
        message = f"unknown matcher {quoted(key)}. {hint} If the value itself has this key, write it under '$eq'."
        yield CheckProblem("unknown-matcher", message, path, key=True)
        return
    yield from operator.problems(operand, path)


def _any(operand: object, path: Path) -> Iterator[CheckProblem]:
    return iter(())


def _wrong(expected: str, operand: object, path: Path) -> CheckProblem:
    return CheckProblem("wrong-type", f"{path[-1]} takes {expected}, found {kind(operand)}.", path)


def _needs(words: str, is_right: Callable[[object], bool]) -> Callable[[object, Path], Iterator[CheckProblem]]:
    return lambda operand, path: iter(() if is_right(operand) else (_wrong(words, operand, path),))


_limit = _needs("a number or a string", lambda operand: is_number(operand) or isinstance(operand, str))
_flag = _needs("true or false", lambda operand: isinstance(operand, bool))
_string = _needs("a text", lambda operand: isinstance(operand, str))


def _values(operand: object, path: Path) -> Iterator[CheckProblem]:
    if not isinstance(operand, list):
        yield _wrong("a list", operand, path)
    elif not operand:
        yield CheckProblem("empty-expectation", f"{path[-1]} takes a list that is not empty.", path)


def _matchers(operand: object, path: Path) -> Iterator[CheckProblem]:
    yield from _values(operand, path)
    yield from find_problems(operand, path) if isinstance(operand, list) else ()


def _regex(operand: object, path: Path) -> Iterator[CheckProblem]:
    if not isinstance(operand, str):
        yield _wrong("a regex", operand, path)
        return
    try:
        if safe_regex.is_found_in_value(operand, ""):
            yield CheckProblem(
                "empty-expectation", "this regex matches the empty string, so it is found in every text.", path
            )
    except safe_regex.BadPattern as error:
        yield CheckProblem("bad-regex", f"{error}", path)


def _part(operand: object, path: Path) -> Iterator[CheckProblem]:
    if operand == "":
        yield CheckProblem("empty-expectation", "every text contains the empty text. Say what it must contain.", path)
    yield from find_problems(operand, path)


def _types(operand: object, path: Path) -> Iterator[CheckProblem]:
    names = operand if isinstance(operand, list) else [operand]
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            hint = did_you_mean(name, TYPES) if isinstance(name, str) else ""
            shown = quoted(name) if isinstance(name, str) else kind(name)
            message = f"{shown} is not a type. {hint or KNOWN_TYPES}"
            yield CheckProblem("unknown-value", message, path)
    if not names:
        yield from _values(operand, path)


def _length(operand: object, path: Path) -> Iterator[CheckProblem]:
    if isinstance(operand, dict):
        yield from find_problems(operand, path)
    elif not isinstance(operand, int) or isinstance(operand, bool) or operand < 0:
        yield _wrong("a whole number that is not negative, or a matcher", operand, path)


def _nearly(operand: object, path: Path) -> Iterator[CheckProblem]:
    if is_number(operand):
        return
    if not isinstance(operand, dict) or not is_number(operand.get("value")):
        yield _wrong("a number, or an object of value and abs or rel", operand, path)
        return
    for key, limit in operand.items():
        if key not in NEARLY:
            yield CheckProblem(
                "unknown-field", f"unknown field. {did_you_mean(key, NEARLY)}".strip(), (*path, key), key=True
            )
        elif key != "value" and not (is_number(limit) and limit > 0):
            yield CheckProblem("out-of-range", f"{key} is a number over 0, found {kind(limit)}.", (*path, key))
    if len(operand) == 1:
        yield CheckProblem("wrong-type", "set how close it must be: give 'abs' or 'rel' next to 'value'.", path)


def _members(operand: object, path: Path) -> Iterator[CheckProblem]:
    if not isinstance(operand, dict):
        yield _wrong("an object", operand, path)
    elif dollar := next(filter(_is_operator, operand), None):
        message = f"{path[-1]} takes an object with plain keys, and {quoted(dollar)} is a matcher."
        yield CheckProblem("bad-matcher", message, (*path, dollar), key=True)
    else:
        yield from find_problems(operand, path)


def _words(operand: object, path: Path) -> Iterator[CheckProblem]:
    if not isinstance(operand, str):
        yield _wrong("a text", operand, path)
    elif not plain_words(operand):
        yield CheckProblem("empty-expectation", f"{path[-1]} takes a text with a letter or digit in it.", path)


def _entries(operand: object, path: Path) -> Iterator[CheckProblem]:
    if not isinstance(operand, list):
        yield _wrong("a list", operand, path)
    else:
        yield from find_problems(operand, path)


def _approx(operand: float | dict[str, float]) -> Matcher:
    if not isinstance(operand, dict):
        return approx(operand, RELATIVE, ABSOLUTE)
    return approx(operand["value"], operand.get("rel", 0.0), operand.get("abs", 0.0))


def _contains(operand: object) -> Matcher:
    return Contains(matcher(operand), operand if isinstance(operand, str) else None)


_LIMIT = {"type": ["number", "string"]}
_MATCHER: Mapping[str, object] = {"$ref": "#/$defs/Matcher"}
_MATCHERS = {"type": "array", "minItems": 1, "items": _MATCHER}
_TYPE_NAME = {"enum": [*TYPES]}

DOLLAR_KEYS: Mapping[str, DollarKey] = {
    "$eq": DollarKey("Exactly this value; objects have no other members.", _any, Equal, {}),
    "$ne": DollarKey("There is a value, but not this one.", _any, unequal, {}),
    "$gt": DollarKey("Greater than this number, or sorts after this string.", _limit, partial(bound, "$gt"), _LIMIT),
    "$gte": DollarKey("At least this.", _limit, partial(bound, "$gte"), _LIMIT),
    "$lt": DollarKey("Less than this number, or sorts before this string.", _limit, partial(bound, "$lt"), _LIMIT),
    "$lte": DollarKey("At most this.", _limit, partial(bound, "$lte"), _LIMIT),
    "$in": DollarKey("One of these values.", _values, one_of, {"type": "array", "minItems": 1}),
    "$regex": DollarKey(
        "A string in which this regex is found; case-sensitive.",
        _regex,
        matches,
        {"type": "string", "minLength": 1},
    ),
    "$contains": DollarKey(
        "A string that contains this text, or a list with such an entry.", _part, _contains, _MATCHER
    ),
    "$absent": DollarKey(
        "true: there is no such member; false: there is one, null or not.",
        _flag,
        absent,
        {"type": "boolean"},
    ),
    "$any": DollarKey(
        "At least one of these matches.",
        _matchers,
        lambda operand: AnyOf([*map(matcher, operand)]),
        _MATCHERS,
    ),
    "$all": DollarKey("All of these match.", _matchers, lambda operand: Every([*map(matcher, operand)]), _MATCHERS),
    "$type": DollarKey(
        "This type, or one of these.",
        _types,
        lambda operand: of_type([operand] if isinstance(operand, str) else operand),
        {"anyOf": [_TYPE_NAME, {"type": "array", "minItems": 1, "items": _TYPE_NAME}]},
    ),
    "$length": DollarKey(
        "This number of characters, entries or members, or a number that this matcher accepts.",
        _length,
        lambda operand: OfLength(matcher(operand)),
        {"anyOf": [{"type": "integer", "minimum": 0}, _MATCHER]},
    ),
    "$approx": DollarKey(
        "Close to this number: within a millionth, or within `abs` or `rel` given next to `value`.",
        _nearly,
        _approx,
        {
            "anyOf": [
                {"type": "number"},
                {
                    "type": "object",
                    "required": ["value"],
                    "properties": {
                        "value": {"type": "number", "description": "The number to be close to."},
                        "abs": {"type": "number", "exclusiveMinimum": 0, "description": "How far off it may be."},
                        "rel": {"type": "number", "exclusiveMinimum": 0, "description": "The same as a share of it."},
                    },
                    "minProperties": 2,
                    "additionalProperties": False,
                },
            ]
        },
    ),
    "$not": DollarKey(
        "There is a value, and it does not match this.",
        find_problems,
        lambda operand: Not(matcher(operand)),
        _MATCHER,
    ),
    "$each": DollarKey(
        "A list that is not empty, and every entry matches this.",
        find_problems,
        lambda operand: Each(matcher(operand)),
        _MATCHER,
    ),
    "$only": DollarKey(
        "An object with these members and no others.",
        _members,
        lambda operand: Only(Members({name: matcher(value) for name, value in operand.items()})),
        {"type": "object", "additionalProperties": _MATCHER},
    ),
    "$text": DollarKey(
        "A string of the same words; case, spacing, punctuation and Unicode form are ignored.",
        _words,
        same_text,
        {"type": "string", "minLength": 1},
    ),
    "$loosely": DollarKey(
        "A string of the same letters; case, spaces, `, . / - _ * ^` and the kind of quote are ignored.",
        _string,
        loose_text,
        {"type": "string"},
    ),
    "$set": DollarKey(
        "A list of exactly these entries, in any order.",
        _entries,
        lambda operand: InAnyOrder([*map(matcher, operand)]),
        {"type": "array", "items": _MATCHER},
    ),
}


class MatchedValue:
    """The type of a check's field that takes a value or a matcher."""


class MatchedMembers(MatchedValue):
    """The same where it is an object: members with a matcher each, or a matcher of the whole."""
