"""Checks as formats of others ask for them: negated, or scored in a group of their own."""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import lru_cache

import msgspec
from msgspec import Struct, structs

from karat.checks.base import Check
from karat.model.check import CheckProblem, CheckSpec
from karat.model.trace import Channel, Trace
from karat.model.verdict import CheckResult, Status

NEGATED, GROUP = "$not", "$group"
"""Keys among the arguments of a check: no check has arguments that begin with a dollar sign."""
_OPPOSITE = {Status.PASSED: Status.FAILED, Status.FAILED: Status.PASSED}


class Modifiers(Struct, frozen=True, rename={"negated": NEGATED, "group": GROUP}):
    """What the arguments of a check say of it beyond its own."""

    negated: bool = False
    group: str = ""


_NONE = Modifiers()


class ModifiedCheck(Check, Struct, frozen=True):
    """Another check, which must not hold if it is `negated`."""

    inner: Check
    negated: bool

    @property
    def description(self) -> str:
        return f"not: {self.inner.description}" if self.negated else self.inner.description

    def judge(self, trace: Trace) -> CheckResult:
        result = self.inner.judge(trace)
        status = _OPPOSITE.get(result.status, result.status) if self.negated else result.status
        return structs.replace(result, group=self.group, status=status, expected=self.description)

    def validate(self) -> Iterator[CheckProblem]:
        return self.inner.validate()

    @property
    def prohibits(self) -> bool:
        return self.inner.prohibits is not self.negated

    @property
    def why_always_passes(self) -> str:
        return "" if self.negated else self.inner.why_always_passes


def modify(check: Check, raw: bytes) -> Check:
    """The check as its arguments modify it: most do not."""
    if b'"$' not in raw:
        return check
    asked = msgspec.json.decode(raw, type=Modifiers)
    if asked == _NONE:
        return check
    forbids = check.forbids and not asked.negated
    return _class(check.name, asked.group or check.group, check.channels, forbids)(check, asked.negated)


@lru_cache(maxsize=1024)
def _class(name: str, group: str, channels: frozenset[Channel], forbids: bool) -> type[ModifiedCheck]:
    own = {"name": name, "group": group, "channels": channels, "forbids": forbids, "fields": ()}
    return types.new_class(name, (ModifiedCheck,), {"frozen": True}, exec_body=lambda body: body.update(own))


def is_negated(spec: CheckSpec) -> bool:
    raw = bytes(spec.args)
    return b'"$not"' in raw and msgspec.json.decode(raw, type=Modifiers).negated
