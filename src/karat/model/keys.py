"""What tells one run of a case from another: the content of the case and of the target's options, not its position."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from karat.model.suite import Case

_encode = msgspec.json.Encoder(order="deterministic").encode


class Keys:
    """Keys of cases that are run against one target."""

    def __init__(self, target: Mapping[str, object]) -> None:
        options = msgspec.json.encode(target, order="sorted")
        self._target = hashlib.sha256(hashlib.sha256(options).digest())

    def of(self, case: Case) -> str:
        digest = self._target.copy()
        digest.update(_encode(case))
        return digest.hexdigest()[:32]


def same_target(identity: Mapping[str, object]) -> dict[str, object]:
    """What makes a target the same one: all that identifies it but its name, which may change."""
    return {key: value for key, value in identity.items() if key != "name"}
