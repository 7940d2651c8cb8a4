"""A JSON file of which no more is in memory than its text and the case that is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import jiter
import msgspec
from msgspec import Raw

from karat.suites.documents.numbers import may_misfit


class AmissError(Exception):
    """Something in the file is odd: it must be read as a whole to say what."""


class _Key(str):
    __slots__ = ()


class Pieces(Sequence[Any]):
    """The cases of a file, each parsed anew when it is asked for. Raises AmissError where one cannot be."""

    def __init__(self, texts: Sequence[Raw]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [_parsed(text) for text in self._texts[index]]
        return _parsed(self._texts[index])


def in_pieces(data: bytes) -> dict[str, Any] | Pieces:
    """The values of a suite, its cases in pieces. Raises AmissError if anything around them is odd."""
    try:
        head = _outline(data)
        if isinstance(head, list):
            return Pieces(head)
        cases = msgspec.json.decode(head.pop(_Key("cases")), type=list[Raw])
    except (ValueError, KeyError, RecursionError, msgspec.MsgspecError) as error:
        raise AmissError from error
    return {str(key): _parsed(value) for key, value in head.items()} | {"cases": Pieces(cases)}


def _outline(data: bytes) -> dict[_Key, Raw] | list[Raw]:
    keys: list[str] = []

    def key(kind: type[_Key], name: str) -> _Key:
        keys.append(name)
        return kind(name)

    head = msgspec.json.decode(data, type=dict[_Key, Raw] | list[Raw], dec_hook=key)
    if isinstance(head, dict) and len(head) < len(keys):
        raise ValueError("a key stands twice")
    return head


def _parsed(raw: Raw) -> Any:
    text = bytes(raw)
    if may_misfit(text):
        raise AmissError
    try:
        return jiter.from_json(text, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise AmissError from error
