"""Results as a fault changes them. The same fault, result and seed give the same change."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from carob.checks.answer.json import compile_path
from carob.model.faults import Fault
from carob.text.clean import jsonable

DAYS_BACK = 400
GARBAGE = "�█▒¤ÃƒÂ¢â‚¬Å“<<%$#@!~^{[(]})"
OTHERS = ("Maren Oduya", "Tobias Lindqvist", "Ilse Marchetti", "Deniz Aydemir", "Fenna Kowalczyk")
EMAIL = "someone.else@example.com"
_DIGIT = re.compile(r"[0-9]")
_DATE = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_ID_KEY = re.compile(
    r"(?:^|[_.-])(?:id|uuid|sku|number|no|ref|name|email|code)$|(?:Id|ID|Name|Number|Email|Code)$", re.I
)
_TIME_KEY = re.compile(r"(?:_at|At|time|timestamp|date|ts|updated|created)$", re.I)
_LAST_NAME = re.compile(r"(?P<above>\$.*)(?:\.(?P<name>\w+)|\['(?P<quoted>[^'\\]+)'\])$")
_EPOCHS = ((10**9, 4 * 10**9, 86_400), (10**12, 4 * 10**12, 86_400_000))
"""Numbers that are times, in seconds or milliseconds, and how many are in a day."""

Change = Callable[[Any], Any]


def change(fault: Fault, result: object, arguments: object, first: object, seed: str) -> object:
    """The result as the fault makes it; an equal one if there is nothing in it to change.

    `first`: what the same call gave the first time.
    """
    if fault.kind == "stale" and fault.value is True and first is not None and first != result:
        return first
    value, close = open_result(result)
    apply = _CHANGES[fault.kind](fault, arguments, random.Random(seed))
    changed = _at(fault, open_result(result)[0], apply) if fault.at else apply(value)
    return result if changed == value and type(changed) is type(value) else close(changed)


def open_result(result: object) -> tuple[Any, Callable[[Any], Any]]:
    """The value that a result holds, as a copy, and what puts another in its place.

    Tools hand over JSON as text, and MCP servers as text within blocks of content.
    """
    if isinstance(result, str):
        return _open_text(result)
    value = jsonable(result)
    if isinstance(value, dict) and isinstance(content := value.get("content"), list) and _text_block(content):
        structured = value.get("structuredContent")
        inner, close = open_result(content)

        def rebuild(changed: Any) -> dict[str, Any]:
            # A client reads either of the two, so that both must say the same.
            others = {key: item for key, item in value.items() if key != "structuredContent"}
            more = {"structuredContent": changed} if structured is not None and isinstance(changed, dict) else {}
            return {**others, "content": close(changed), **more}

        return inner, rebuild
    if isinstance(value, list) and (block := _text_block(value)):
        inner, close = _open_text(block["text"])
        return inner, lambda changed: [
            {**item, "text": _text(close(changed))} if item is block else item for item in value
        ]
    return value, lambda changed: changed


def _open_text(text: str) -> tuple[Any, Callable[[Any], Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text, lambda changed: changed
    if not isinstance(value, dict | list):
        return text, lambda changed: changed
    return value, _text


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_block(content: list[Any]) -> dict[str, Any] | None:
    """The one block of text, where content is a list of blocks with one."""
    texts = [block for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return texts[0] if len(texts) == 1 and texts[0].get("type") == "text" else None


def _at(fault: Fault, value: Any, apply: Change) -> Any:
    """The value with what the path leads to changed. A text can also be planted where there is none yet."""
    locations = [node.location for node in compile_path(fault.at).find(value)] if isinstance(value, dict | list) else []
    if not locations and fault.at == "$":
        return apply(value)
    for location in locations:
        value = _put(value, location, apply)
    if not locations and fault.kind == "inject" and (last := _LAST_NAME.match(fault.at)):
        for node in compile_path(last["above"]).find(value) if isinstance(value, dict | list) else ():
            if isinstance(node.value, dict):
                node.value[last["name"] or last["quoted"]] = str(fault.value)
    return value


def _put(value: Any, location: tuple[int | str, ...], apply: Change) -> Any:
    if not location:
        return apply(value)
    above = value
    for step in location[:-1]:
        above = above[step]
    above[location[-1]] = apply(above[location[-1]])
    return value


def _empty(fault: Fault, arguments: object, chance: random.Random) -> Change:
    return lambda value: type(value)() if isinstance(value, str | list | dict) else None


def _truncate(fault: Fault, arguments: object, chance: random.Random) -> Change:
    def cut(value: Any) -> Any:
        text = _text(value)
        room = len(text) // 2 if fault.value is True else int(fault.value)
        return text[:room] if room < len(text) else value

    return cut


def _garbage(fault: Fault, arguments: object, chance: random.Random) -> Change:
    return lambda value: "".join(chance.choices(GARBAGE, k=chance.randint(20, 80)))


def _wrong_type(fault: Fault, arguments: object, chance: random.Random) -> Change:
    def of_another(value: Any) -> Any:
        if isinstance(value, str):
            return chance.randint(1000, 9999)
        if isinstance(value, list):
            return {str(index): item for index, item in enumerate(value)}
        if isinstance(value, dict):
            return list(value.values())
        return "unknown" if value is None else str(value)

    if fault.at:
        return of_another
    return lambda value: {k: of_another(v) for k, v in value.items()} if isinstance(value, dict) else of_another(value)


def _wrong_entity(fault: Fault, arguments: object, chance: random.Random) -> Change:
    shift, mentioned = chance.randint(1, 9), set(_scalars(jsonable(arguments))) - {""}

    def other(value: Any) -> Any:
        if isinstance(value, int | float):
            return value + shift
        if "@" in value:
            return EMAIL
        if _DIGIT.search(value):
            return "".join(
                str((int(char) + shift) % 10) if char.isascii() and char.isdigit() else char for char in value
            )
        return OTHERS[shift % len(OTHERS)]

    def replace(value: Any) -> Any:
        if fault.value is not True:
            both = isinstance(value, dict) and isinstance(fault.value, dict)
            return {**value, **fault.value} if both else fault.value
        if fault.at and not isinstance(value, dict | list):
            return other(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else value
        changed = _map_leaves(value, lambda key, leaf: other(leaf) if leaf in mentioned else leaf)
        return (
            changed
            if changed != value
            else _map_leaves(value, lambda key, leaf: other(leaf) if _ID_KEY.search(key) else leaf)
        )

    return replace


def _stale(fault: Fault, arguments: object, chance: random.Random) -> Change:
    days = DAYS_BACK if fault.value is True else int(fault.value)

    def earlier(key: str, value: Any) -> Any:
        if isinstance(value, str):
            return _DATE.sub(lambda match: _back(match, days), value)
        if _TIME_KEY.search(key) or fault.at:
            for least, most, in_a_day in _EPOCHS:
                if least <= value <= most:
                    return value - days * in_a_day
        return value

    return lambda value: _map_leaves(value, earlier)


def _back(match: re.Match[str], days: int) -> str:
    try:
        return (date(*map(int, match.groups())) - timedelta(days)).isoformat()
    except (ValueError, OverflowError):
        return match[0]


def _inject(fault: Fault, arguments: object, chance: random.Random) -> Change:
    """A text where the path leads, or where most of a result is read."""
    if not fault.at:
        return lambda value: _add_text(value, str(fault.value))
    return lambda value: f"{value}\n\n{fault.value}" if isinstance(value, str) and value else str(fault.value)


def _add_text(value: Any, text: str) -> Any:
    """The value with a text added where most of it is read: to the text itself, or to its longest one."""
    if isinstance(value, str):
        return f"{value}\n\n{text}" if value else text
    longest = max((leaf for leaf in _scalars(value) if isinstance(leaf, str)), key=len, default=None)
    if longest is not None:
        todo = [longest]
        return _map_leaves(value, lambda key, leaf: f"{todo.pop()}\n\n{text}" if todo and leaf == longest else leaf)
    if isinstance(value, dict):
        return {**value, "note": text}
    return [*value, text] if isinstance(value, list) else text


_CHANGES: Mapping[str, Callable[[Fault, object, random.Random], Change]] = {
    "empty": _empty,
    "truncated": _truncate,
    "garbage": _garbage,
    "wrong_type": _wrong_type,
    "wrong_entity": _wrong_entity,
    "stale": _stale,
    "inject": _inject,
}


def _map_leaves(value: Any, leaf: Callable[[str, Any], Any], key: str = "") -> Any:
    """The value with each text and number in it replaced, given the key that it is under."""
    if isinstance(value, dict):
        return {name: _map_leaves(item, leaf, str(name)) for name, item in value.items()}
    if isinstance(value, list):
        return [_map_leaves(item, leaf, key) for item in value]
    return leaf(key, value) if isinstance(value, str | int | float) and not isinstance(value, bool) else value


def _scalars(value: Any) -> list[Any]:
    values: list[Any] = []
    _map_leaves(value, lambda key, leaf: values.append(leaf))
    return values
