"""How much memory a body takes once it is read: hostile ones take forty times their length and more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

VALUE = 100
"""Bytes that a value of JSON takes besides its text, at most."""
MESSAGE = 180
"""Bytes that a message within a request of OTLP takes besides its texts, at most."""
LIGHT = 8 << 20
"""What cannot be heavier than this is not looked at closely."""
HEAVIEST = 128 << 20
"""A body that is heavier is not read."""

Shape: TypeAlias = Mapping[int, "Shape"]
"""The numbers of the fields that are messages, and what these hold."""


def json_weight(text: bytes) -> int:
    """At most so many bytes of memory a JSON text takes once it is read."""
    return len(text) + VALUE * sum(map(text.count, (b",", b"[", b"{", b":")))


def protobuf_weight(body: bytes) -> int:
    """At most so many bytes of memory a request of OTLP takes once it is read.

    Each message begins with one of few bytes, so that counting these is enough for most requests. Texts have them too:
    if they seem to be too many, the messages are counted.
    """
    quick = len(body) + MESSAGE * sum(body.count(bytes([tag])) for tag in _TAGS)
    return quick if quick <= LIGHT else len(body) + MESSAGE * _count_messages(body, HEAVIEST // MESSAGE)


def _shapes() -> Shape:
    value: dict[int, Shape] = {}
    pair: Shape = {2: value}
    value |= {5: {1: value}, 6: {1: pair}}
    event: Shape = {3: pair}
    link: Shape = {4: pair}
    scope: Shape = {3: pair}
    span: Shape = {9: pair, 11: event, 13: link, 15: {}}
    return {1: {1: {1: pair}, 2: {1: scope, 2: span}}}


_REQUEST = _shapes()
_TAGS = frozenset({0x0A, 0x12, 0x1A, 0x22, 0x2A, 0x32, 0x4A, 0x5A, 0x6A, 0x7A})


def _count_messages(body: bytes, most: int) -> int:
    """How many messages there are within a request; more than `most` are not counted."""
    count, at = 0, 0
    around: list[tuple[int, Shape]] = [(len(body), _REQUEST)]
    while around and count <= most:
        end, shape = around[-1]
        if at >= end:
            around.pop()
            continue
        tag, at = _varint(body, at)
        kind = tag & 7
        if kind == 2:
            size, at = _varint(body, at)
            inner = shape.get(tag >> 3)
            if inner is None:
                at += size
            else:
                count += 1
                around.append((min(at + size, end), inner))
        elif kind == 0:
            _, at = _varint(body, at)
        else:
            at += {1: 8, 5: 4}.get(kind, 0)
    return count


def split_fields(body: bytes) -> dict[int, list[bytes]]:
    """The fields of a message of protobuf that have a size, by their numbers, as far as it can be read."""
    fields: dict[int, list[bytes]] = {}
    at = 0
    while at < len(body):
        tag, at = _varint(body, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(body, at)
        elif kind == 2:
            size, at = _varint(body, at)
            if at + size > len(body):
                break
            fields.setdefault(tag >> 3, []).append(body[at : at + size])
            at += size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            break
    return fields


def _varint(body: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(body):
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift > 63:
            break
    return number, at
