"""What BFCL takes for a parameter: each of the possible values, by the type that the function declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ABSENT = {"$absent": True}
_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}


def argument(values: Any, about: Mapping[str, Any], *, needed: bool) -> Any:
    """One of the values; an empty text among them says that the parameter may be left out."""
    values = values if isinstance(values, list) else [values]
    answers, empty = [value for value in values if value != ""], "" in values
    declared = _TYPES.get(str(about.get("type")), str)
    options: list[Any] = [ABSENT] if empty and not needed else []
    if answers and type(answers[0]) is not declared:
        options += map(_exact, values)  # a variable: the text of the answer and no other
    elif declared is str:
        options += ({"$loosely": value} for value in values if isinstance(value, str))
    elif declared is list:
        of_objects = _TYPES.get(str(about.get("items", {}).get("type")), str) is dict
        options += ([*map(_members if of_objects else _match_loosely, value)] for value in answers)
        options += [[]] if empty else []
    elif declared is dict:
        options += map(_members, answers)
    else:
        options += map(_exact, answers)
    # Gold that lists no value at all is satisfied by none. An empty list is what it means where lists are asked for.
    return one_of(options or [[] if declared is list else {"$absent": False}])


def one_of(options: Sequence[Any]) -> Any:
    if len(options) == 1:
        return options[0]
    plain = [value for value in options if not isinstance(value, dict | list)]
    return {"$in": plain} if len(plain) == len(options) else {"$any": [*options]}


def _exact(value: Any) -> Any:
    return {"$eq": value} if isinstance(value, dict | list) else value


def _match_loosely(value: Any) -> Any:
    return {"$loosely": value} if isinstance(value, str) else _exact(value)


def _members(value: Any) -> Any:
    """An object each of whose members is one of the values that are listed for it."""
    if not isinstance(value, dict):
        return _match_loosely(value)
    return {"$only": {name: one_of([*_member(answers)]) for name, answers in value.items()}}


def _member(answers: Any) -> Iterator[Any]:
    values = answers if isinstance(answers, list) else [answers]
    if "" in values:
        yield ABSENT
    yield from map(_match_loosely, values)


def source_argument(values: Any, about: Mapping[str, Any], language: str, *, needed: bool) -> Any:
    """The same where arguments are source text of Java or JavaScript: each value as that language writes it."""
    values = values if isinstance(values, list) else [values]
    options: list[Any] = [ABSENT] if "" in values and not needed else []
    declared, items = str(about.get("type")), str(about.get("items", {}).get("type", ""))
    options += (_source(value, declared, items, language) for value in values if value != "" or needed)
    return one_of(options)


def _source(value: Any, declared: str, items: str, language: str) -> Any:
    if isinstance(value, str):
        quoted = language == "javascript" and declared == "String"
        return {"$any": [{"$loosely": value}, {"$loosely": f'"{value}"'}]} if quoted else {"$loosely": value}
    if isinstance(value, dict):
        return _source_object(value, language)
    if isinstance(value, list):
        return {"$regex": _collection(value, declared, items, language)}
    return {"$regex": f"^{_scalar(value, declared, language)}$"}


def _source_object(value: Mapping[str, Any], language: str) -> Any:
    """A text with each of the members and no other."""
    if not value:
        return {"$regex": r"\{\s*\}|\(\)"}
    names = "|".join(map(re.escape, value))
    no_other = rf"""[{{,]\s*["']?(?!(?:{names})\b)\w+["']?\s*:"""
    if language == "java":
        no_other = rf"""put\(\s*["'](?!(?:{names})["'])"""
    members = [{"$regex": _entry(name, answers, language)} for name, answers in value.items()]
    return {"$all": [*members, {"$not": {"$regex": no_other}}]}


def _scalar(value: Any, declared: str, language: str) -> str:
    """A regex for a value as source text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        quote = '"?' if language == "java" else """["']?"""
        return f"{quote}{re.escape(value)}{quote}"
    endings = {"long": "[lL]", "float": "[fF]"} if language == "java" else {"Bigint": "n"}
    ending = endings.get(declared, "")
    if isinstance(value, float) and value.is_integer():
        return rf"{int(value)}(?:\.0+)?{ending}"
    return re.escape(str(value)) + (r"0*" if isinstance(value, float) else "") + ending


def _collection(values: Sequence[Any], declared: str, items: str, language: str) -> str:
    inside = r"\s*,\s*".join(_scalar(value, items, language) for value in values)
    if language == "javascript":
        return rf"^(?:\[\s*{inside}\s*\]|new\s+Array\(\s*{inside}\s*\))$"
    if declared == "ArrayList":
        return rf"new\s+ArrayList<\w*>\((?:Arrays\.asList\(\s*{inside}\s*\))?\)"
    return rf"new\s+\w+\[\]\s*\{{\s*{inside}\s*\}}"


def _entry(name: str, answers: Any, language: str) -> str:
    """A regex for one member of an object, whichever of the listed values it has."""
    values = [
        value for value in (answers if isinstance(answers, list) else [answers]) if not isinstance(value, list | dict)
    ]
    either = "|".join(_scalar(value, "", language) for value in values) or "."
    if language == "javascript":
        return rf"""["']?{re.escape(name)}["']?\s*:\s*(?:{either})"""
    return rf"""["']{re.escape(name)}["']\s*,\s*(?:{either})"""
