"""A JSON file of which no more is in memory than its text and the case that is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import jiter
import msgspec
from msgspec import Raw

from karat.suites.numbers import may_misfit


class _Key(str):
    __slots__ = ()


class Pieces(Sequence[Any]):
    """The cases of a file, each parsed anew when it is asked for."""

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


def in_pieces(data: bytes) -> dict[str, Any] | Pieces | None:
    """The values of a suite. None if anything is odd, so that the file must be read as a whole to say what."""
    try:
        head = _outline(data)
        if isinstance(head, list):
            return _sound(head)
        cases = msgspec.json.decode(head.pop(_Key("cases")), type=list[Raw])
        return {str(key): _sound([value])[0] for key, value in head.items()} | {"cases": _sound(cases)}
    except (ValueError, KeyError, RecursionError, msgspec.MsgspecError):
        return None


def _outline(data: bytes) -> dict[_Key, Raw] | list[Raw]:
    keys: list[str] = []

    def key(kind: type[_Key], name: str) -> _Key:
        keys.append(name)
        return kind(name)

    head = msgspec.json.decode(data, type=dict[_Key, Raw] | list[Raw], dec_hook=key)
    if isinstance(head, dict) and len(head) < len(keys):
        raise ValueError("a key stands twice")
    return head


def _sound(texts: Sequence[Raw]) -> Pieces:
    pieces = Pieces(texts)
    for piece, text in zip(pieces, texts, strict=True):
        if may_misfit(bytes(text)):
            raise ValueError(piece)
    return pieces


def _parsed(text: Raw) -> Any:
    return jiter.from_json(bytes(text), allow_inf_nan=False, catch_duplicate_keys=True)
