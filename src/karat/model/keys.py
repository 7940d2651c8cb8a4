"""What identifies one run of a case: the content of the case and of the target's options, not its position."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from karat.model.suite import Case

KNOWN = 16
"""Keys that are remembered: repeats of a case come in a row, and two runs of a suite are read side by side."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class Keys:
    """Keys of cases that are run against one target."""

    def __init__(self, target: Mapping[str, object]) -> None:
        self._target = hashlib.sha256(msgspec.json.encode(target, order="sorted")).digest()

    def of(self, case: Case) -> str:
        return self.of_content(_encode(case))

    def of_content(self, case: bytes) -> str:
        """The key of a case of which only its content is at hand."""
        return _key(self._target, case)


@lru_cache(KNOWN)
def _key(target: bytes, case: bytes) -> str:
    return hashlib.sha256(target + case).hexdigest()[:32]


def content(case: Case) -> bytes:
    """What the key of a case is made of."""
    return _encode(case)


def target_identity(identity: Mapping[str, object]) -> dict[str, object]:
    """What makes a target the same one: all that identifies it but its name, which may change."""
    return {key: value for key, value in identity.items() if key != "name"}
