"""One way through a value of any kind, for all that is removed from its texts."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

Value = TypeVar("Value")


class TextChanger:
    """Changes each text of a value, keys included; what it does to one is in `text`."""

    def text(self, value: str) -> str:
        raise NotImplementedError

    def number(self, value: float) -> object:
        """A number that no type declares, as in arguments of a call."""
        return value

    def entry(self, key: object, value: object) -> object:
        """The value of an object at this key."""
        return self._walk(value)

    def fields(self, value: Struct) -> dict[str, object]:
        """The fields of a record, changed."""
        return {name: self._field(getattr(value, name)) for name in value.__struct_fields__}

    def redact(self, value: Value) -> Value:
        """A value or record of any kind, changed."""
        return cast(Value, self._walk(value))

    def _field(self, value: Any) -> Any:
        return value if isinstance(value, int | float) else self._walk(value)

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if isinstance(value, Enum) else self.text(value)
        if isinstance(value, dict):
            return {self._walk_key(key): self.entry(key, item) for key, item in value.items()}
        if isinstance(value, tuple | list):
            changed = [self._walk(item) for item in value]
            return changed if isinstance(value, list) else _as_tuple(value, changed)
        if isinstance(value, int | float) and not isinstance(value, bool | Enum):
            return self.number(value)
        if isinstance(value, msgspec.Raw):
            content = msgspec.json.decode(value)
            cleaned = self._walk(content)
            return value if cleaned == content else msgspec.Raw(msgspec.json.encode(cleaned))
        return type(value)(**self.fields(value)) if isinstance(value, Struct) else value

    def _walk_key(self, key: Any) -> Any:
        return self.text(key) if isinstance(key, str) and not isinstance(key, Enum) else key


def _as_tuple(value: tuple[Any, ...], changed: list[Any]) -> tuple[Any, ...]:
    return type(value)(*changed) if hasattr(value, "_fields") else tuple(changed)
