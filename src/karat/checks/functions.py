"""A check that is a function of a team's own: `polite(trace, value)`, named in karat.toml."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import ClassVar, get_type_hints

import msgspec
from msgspec import Struct, structs

from karat.checks.base import Check, CheckRequest, excerpt, quote_answer
from karat.errors import ConfigError
from karat.model.check import Example, Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Status
from karat.suites.shapes.known_keys import KnownKeys
from karat.suites.shapes.types import shape_of

GROUP = "team"
STATUSES = {True: Status.PASSED, False: Status.FAILED, None: Status.UNKNOWN}
ANSWERS = "True, False, a CheckResult, or a tuple of (True, False or None) and what was found"


class FunctionCheck(Check, Struct, frozen=True):
    """What a function of the team says of a trace and of the value that a suite gives it."""

    function: ClassVar[Callable[[Trace, object], object]]
    value: object

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        if cls.name in expected:
            yield CheckRequest({"value": expected[cls.name]}, (cls.name,))

    @property
    def description(self) -> str:
        return f"{self.name}: {excerpt(msgspec.json.encode(self.value).decode())}"

    def judge(self, trace: Trace) -> CheckResult:
        given = type(self).function(trace, deepcopy(self.value))
        if isinstance(given, CheckResult):
            expected = given.expected or self.description
            return structs.replace(given, name=self.name, group=self.group, expected=expected)
        status, found = given if isinstance(given, tuple) and len(given) == 2 else (given, quote_answer(trace))
        if not (isinstance(found, str) and (isinstance(status, bool) or (status is None and given is not None))):
            raise TypeError(f"{self.name} returned {excerpt(repr(given))}, not {ANSWERS}")
        return CheckResult(self.name, self.group, STATUSES[status], self.description, excerpt(found))


def from_function(name: str, function: Callable[..., object]) -> type[Check]:
    """The check that a function is. Raises ConfigError if it cannot be one."""
    about = (inspect.getdoc(function) or f"What {name} says about the answer.").split("\n")[0]
    own = {
        "__doc__": about,
        "name": name,
        "group": getattr(function, "group", GROUP),
        "fields": (Field(name, _value_type(function), f"{about.rstrip('.')}."),),
        "examples": tuple(_example(given) for given in getattr(function, "examples", ())),
        "function": staticmethod(function),
    }
    return types.new_class(name, (FunctionCheck,), {"frozen": True}, exec_body=lambda body: body.update(own))


def _value_type(function: Callable[..., object]) -> object:
    if inspect.iscoroutinefunction(function):
        raise ConfigError("it is async.", fix="A check must not be async: write it as a plain function.")
    try:
        signature = inspect.signature(function)
        signature.bind(None, None)
    except (TypeError, ValueError) as error:
        why = f"it cannot be called with the trace and the value: {error}."
        raise ConfigError(why, fix="Give it the parameters `trace` and `value`; others need a default.") from error
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # annotations are the user's code
        raise ConfigError(f"its types cannot be read: {type(error).__name__}: {error}.") from error
    taken = list(signature.parameters.values())[1:2]
    given = hints.get(taken[0].name, object) if taken and taken[0].kind is not taken[0].VAR_POSITIONAL else object
    shape_of(given, KnownKeys())
    return given


def _example(given: object) -> Example:
    """`(value, answer or trace, True, False or None)`, with a Status in place of those if that is clearer."""
    value, trace, status = given if isinstance(given, tuple) and len(given) == 3 else (None, None, "")
    seen = Trace(case_id="example", final_message=trace, tool_calls=()) if isinstance(trace, str) else trace
    known = STATUSES[status] if isinstance(status, bool | None) else status
    if not isinstance(seen, Trace) or known not in (*STATUSES.values(), Status.ERROR):
        fix = "Write each as (value, answer or Trace, True, False or None)."
        raise ConfigError(f"{excerpt(repr(given))} is not an example.", fix=fix)
    return Example({"value": value}, seen, Status(known))
