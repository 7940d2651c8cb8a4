"""When two JSON values are the same: 1 is 1.0, and neither is "1" or true."""

from __future__ import annotations


def same_value(one: object, other: object) -> bool:
    """Whether two JSON values are equal, all the way down. Python takes true for 1; a contract does not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_value(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_value, one, other))
    return one == other
