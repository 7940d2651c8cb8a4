"""What is to be run: each case as often as asked, keyed by content so that a later run can tell what is done."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from karat.model.suite import Case


class Item(Struct, frozen=True):
    """One run of one case."""

    index: int
    repeat: int
    key: str
    case: Case


def plan(cases: Sequence[Case], target_options: dict[str, Any], *, repeat: int = 1) -> list[Item]:
    """Every case, `repeat` times, in suite order."""
    target = hashlib.sha256(msgspec.json.encode(target_options, order="sorted")).digest()
    keys = [key(case, target) for case in cases]
    return [Item(i, r, keys[i], case) for i, case in enumerate(cases) for r in range(repeat)]


def key(case: Case, target: bytes) -> str:
    """A hash of all that decides what a case does: its own content and the target's options, not its position."""
    digest = hashlib.sha256(target)
    digest.update(msgspec.json.encode(case, order="deterministic"))
    return digest.hexdigest()[:32]


def shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """The same items in an order that the seed decides."""
    order = list(items)
    random.Random(seed).shuffle(order)
    return order
